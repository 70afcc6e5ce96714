//! Values in the config of a server: `${NAME}` and `${NAME:-default}` from haft's environment,
//! `secret:NAME` as a whole value or `${secret:NAME}` inside one from the owner's secrets. What is
//! secret is noted, so that it can be hidden wherever it appears later.

use anyhow::{Result, bail};
use haft_host::looks_secret;

/// Where values come from.
pub(super) trait Values {
    fn variable(&self, name: &str) -> Option<String>;

    fn secret(&self, name: &str) -> Result<Option<String>>;
}

const SECRET: &str = "secret:";

/// The text with its places filled in. `key` is the name that the value goes by.
pub(super) fn filled(
    text: &str,
    key: &str,
    values: &dyn Values,
    hidden: &mut Vec<String>,
) -> Result<String> {
    if let Some(name) = text.strip_prefix(SECRET) {
        let value = secret(name, values)?;
        hidden.push(value.clone());
        return Ok(value);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            bail!("`${{` is not closed");
        };
        let (value, is_secret) = one(inside, values)?;
        if is_secret {
            hidden.push(value.clone());
        }
        out.push_str(&value);
        rest = behind;
    }
    out.push_str(rest);
    if looks_secret(key) {
        hidden.push(out.clone());
        // `Authorization: Bearer TOKEN`: the token is the secret, whoever says it again.
        let (scheme, token) = out.split_once(' ').unwrap_or_default();
        if ["bearer", "basic", "token"].contains(&&*scheme.to_ascii_lowercase()) {
            hidden.push(token.trim().to_owned());
        }
    }
    Ok(out)
}

/// Whether a value that nobody called a secret could well be one: long, of letters and digits, and
/// neither a path nor a URL. What is hidden is hidden everywhere, so `production` must not be.
fn may_be_secret(value: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| value.as_bytes().iter().any(kind);
    value.len() >= 12
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !value.starts_with(['/', '~', '.'])
        && !value.contains("://")
}

/// What stands for `${inside}`, and whether it is secret.
fn one(inside: &str, values: &dyn Values) -> Result<(String, bool)> {
    if let Some(name) = inside.strip_prefix(SECRET) {
        return Ok((secret(name, values)?, true));
    }
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let value = values.variable(name).filter(|value| !value.is_empty());
    match (value, default) {
        (Some(value), _) => {
            let is_secret = looks_secret(name) || may_be_secret(&value);
            Ok((value, is_secret))
        }
        (None, Some(default)) => Ok((default.to_owned(), false)),
        (None, None) => bail!("`{name}` is not set"),
    }
}

fn secret(name: &str, values: &dyn Values) -> Result<String> {
    match values.secret(name)? {
        Some(value) => Ok(value),
        None => bail!("there is no secret `{name}`: set it with `haft secret set {name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture;

    impl Values for Fixture {
        fn variable(&self, name: &str) -> Option<String> {
            match name {
                "PASS" => Some("hunter2-hunter2".to_owned()),
                "URL" => Some("http://localhost:8080/v1".to_owned()),
                _ => matches!(name, "TOKEN" | "PLACE").then(|| name.to_lowercase()),
            }
        }

        fn secret(&self, name: &str) -> Result<Option<String>> {
            Ok((name == "S").then(|| "sesame".to_owned()))
        }
    }

    fn check(text: &str, key: &str, expected: Option<&str>, hides: &[&str]) {
        let mut hidden = Vec::new();
        let filled = filled(text, key, &Fixture, &mut hidden);
        assert_eq!(filled.ok().as_deref(), expected, "{text}");
        assert_eq!(hidden, hides, "{text}");
    }

    #[test]
    fn variables_and_secrets_are_filled_in() {
        check("plain $TOKEN", "A", Some("plain $TOKEN"), &[]);
        check("${PLACE}", "A", Some("place"), &[]);
        check(
            "a${TOKEN}b${TOKEN:-x}",
            "A",
            Some("atokenbtoken"),
            &["token", "token"],
        );
        check("${NONE:-x}", "A", Some("x"), &[]);
        check("${NONE:-}", "A", Some(""), &[]);
        check("${NONE}", "A", None, &[]);
        check("${TOKEN", "A", None, &[]);
        check("secret:S", "A", Some("sesame"), &["sesame"]);
        check("secret:T", "A", None, &[]);
        check(
            "Bearer ${secret:S}",
            "A",
            Some("Bearer sesame"),
            &["sesame"],
        );
        check("${secret:T:-x}", "A", None, &[]);
        check("as it is", "API_KEY", Some("as it is"), &["as it is"]);
        let bearer = "Bearer sesame";
        check(bearer, "Authorization", Some(bearer), &[bearer, "sesame"]);
        check(
            "${PASS}",
            "A",
            Some("hunter2-hunter2"),
            &["hunter2-hunter2"],
        );
        check("${URL}", "A", Some("http://localhost:8080/v1"), &[]);
    }
}
