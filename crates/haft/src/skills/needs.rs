//! What a skill needs, and whether one host has all of it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::front::Requires;

/// What is known of a host.
pub(crate) struct Host {
    pub(crate) os: String,
    pub(crate) capabilities: BTreeSet<String>,
    pub(crate) config: Value,
    pub(crate) has_program: fn(&str) -> bool,
    pub(crate) has_variable: fn(&str) -> bool,
}

/// What no host has; none where one host has everything.
pub(super) fn lacking(needs: &Requires, hosts: &[Host]) -> Option<String> {
    let mut shortest: Option<Vec<String>> = None;
    for host in hosts {
        let missing = missing(needs, host);
        if missing.is_empty() {
            return None;
        }
        if shortest
            .as_ref()
            .is_none_or(|least| missing.len() < least.len())
        {
            shortest = Some(missing);
        }
    }
    Some(match shortest {
        Some(missing) => format!("needs {}", missing.join(", ")),
        None => "there is no host".to_owned(),
    })
}

fn missing(needs: &Requires, host: &Host) -> Vec<String> {
    let mut missing: Vec<String> = needs
        .unknown
        .keys()
        .map(|key| format!("what haft cannot check: `{}`", key.escape_debug()))
        .collect();
    let mut all = |kind: &str, names: &[String], has: &dyn Fn(&str) -> bool| {
        for name in names.iter().filter(|name| !has(name)) {
            missing.push(format!("{kind} `{name}`"));
        }
    };
    let has_capability = |name: &str| host.capabilities.contains(name);
    all("the program", &needs.bins, &host.has_program);
    all("the variable", &needs.env, &host.has_variable);
    all("the setting", &needs.config, &|path| {
        is_set(&host.config, path)
    });
    all("the capability", &needs.capabilities, &has_capability);
    let mut any = |kind: &str, names: &[String], has: &dyn Fn(&str) -> bool| {
        if !names.is_empty() && !names.iter().any(|name| has(name)) {
            missing.push(format!("{kind} `{}`", names.join("` or `")));
        }
    };
    any("the program", &needs.any_bins, &host.has_program);
    any("the capability", &needs.any_capabilities, &has_capability);
    any("the system", &needs.os, &|name| {
        let name = name.to_lowercase();
        name == host.os || (name == "darwin" && host.os == "macos")
    });
    missing
}

/// Whether a dotted path leads to something that is not empty, zero or false.
fn is_set(config: &Value, path: &str) -> bool {
    let found = path
        .split('.')
        .try_fold(config, |value, key| value.get(key));
    match found {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(map)) => !map.is_empty(),
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::Bool(true)) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_host_must_have_everything() {
        let host = |os: &str, has_program: fn(&str) -> bool| Host {
            os: os.to_owned(),
            capabilities: BTreeSet::from(["shell.exec".to_owned()]),
            config: json!({"a": {"b": 1, "c": ""}}),
            has_program,
            has_variable: |name| name == "HOME",
        };
        let linux = || host("linux", |name| name == "git");
        let mac = || host("macos", |name| name == "swift");
        let needs = |bins: &[&str], os: &[&str]| Requires {
            bins: bins.iter().map(|&name| name.to_owned()).collect(),
            os: os.iter().map(|&name| name.to_owned()).collect(),
            ..Requires::default()
        };
        let both = [linux(), mac()];
        assert_eq!(lacking(&needs(&["git"], &["linux"]), &both), None);
        assert_eq!(lacking(&needs(&["swift"], &["darwin"]), &both), None);
        assert!(
            lacking(&needs(&["git"], &["darwin"]), &both).is_some(),
            "split over two hosts"
        );
        assert!(lacking(&needs(&["git", "swift"], &[]), &both).is_some());
        let more = Requires {
            env: vec!["HOME".into()],
            config: vec!["a.b".into()],
            capabilities: vec!["shell.exec".into()],
            any_bins: vec!["hg".into(), "git".into()],
            ..Requires::default()
        };
        assert_eq!(lacking(&more, &[linux()]), None);
        let unset = Requires {
            config: vec!["a.c".into()],
            ..Requires::default()
        };
        assert_eq!(
            lacking(&unset, &[linux()]).as_deref(),
            Some("needs the setting `a.c`")
        );
        assert!(lacking(&Requires::default(), &[]).is_some());
    }
}
