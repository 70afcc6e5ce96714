//! Tool names. Canonical names are dotted (`file.read`); providers accept only
//! `^[a-zA-Z0-9_-]{1,64}$`, so this module makes the API form. The way back is a map the registry
//! keeps: nothing is ever un-mangled by guessing.

/// Longest function name that every provider accepts.
const API_NAME_LIMIT: usize = 64;

/// Other words for a module, as the documents behind haft call it: (theirs, ours).
const MODULE_ALIASES: &[(&str, &str)] = &[("filesystem", "file"), ("bash", "shell")];

/// The module part of a canonical name: everything before the last dot. A name without a dot is
/// its own module.
pub fn module_of(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(module, _)| module)
}

/// The module that a config or a document means by this word.
pub fn canonical_module(word: &str) -> &str {
    MODULE_ALIASES
        .iter()
        .find(|(theirs, _)| *theirs == word)
        .map_or(word, |(_, ours)| ours)
}

/// The other words for a module.
pub fn module_aliases(module: &str) -> impl Iterator<Item = &'static str> + use<'_> {
    MODULE_ALIASES
        .iter()
        .filter(move |(_, ours)| *ours == module)
        .map(|(theirs, _)| *theirs)
}

/// The API form of a canonical name: dots become `__`. A name that is too long, or that holds
/// characters which no provider takes, ends in a short hash of the whole, so that two names
/// never meet by accident. `salt` above 0 asks for another hash, for a name already taken.
pub fn api_name(name: &str, salt: u32) -> String {
    let mut clean = salt == 0;
    let mut api = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        match c {
            '.' => api.push_str("__"),
            c if c.is_ascii_alphanumeric() || c == '_' || c == '-' => api.push(c),
            _ => {
                clean = false;
                api.push('_');
            }
        }
    }
    if clean && !api.is_empty() && api.len() <= API_NAME_LIMIT {
        return api;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(name.as_bytes());
    if salt > 0 {
        hasher.update(&salt.to_le_bytes());
    }
    let hash = hasher.finalize().to_hex();
    api.truncate(API_NAME_LIMIT - 9);
    format!("{api}_{}", &hash.as_str()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_names_fit_every_provider() {
        let check = |name: &str| {
            let api = api_name(name, 0);
            assert!(
                !api.is_empty() && api.len() <= API_NAME_LIMIT,
                "{name} -> {api}"
            );
            assert!(
                api.chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'),
                "{name} -> {api}"
            );
            api
        };
        assert_eq!(check("file.read"), "file__read");
        assert_eq!(
            check("mcp.git-hub.create_issue"),
            "mcp__git-hub__create_issue"
        );
        assert_ne!(check("mcp.a.b c"), check("mcp.a.b_c"));
        assert_ne!(check(&"x".repeat(80)), check(&"x".repeat(81)));
        assert_ne!(check("ファイル"), check("フォルダ"));
        check("");
        assert_ne!(api_name("file.read", 1), api_name("file.read", 0));
    }
}
