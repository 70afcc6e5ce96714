//! Module constraints: what agents may not do with a module. Set-up steps, hooks and channels
//! act for the owner and are not bound.

use haft_core::{ConstraintKind, Module, ToolSpec, canonical_module};
use serde_json::Value;

use crate::command::CommandPattern;
use crate::config::Constraints;
use crate::error::{PolicyError, did_you_mean};
use crate::path::{PathPattern, Places};
use crate::pattern::wild;

/// Keys that every module takes.
const UNIVERSAL: [&str; 2] = ["allowed_actions", "blocked_actions"];

/// The constraints of one module, compiled.
#[derive(Debug, Clone)]
pub(crate) struct ModuleRules {
    /// As the config spells it
    key: String,
    module: String,
    allowed_actions: Option<Vec<String>>,
    blocked_actions: Vec<String>,
    pub(crate) allowed_paths: Option<Vec<PathPattern>>,
    pub(crate) allowed_commands: Option<Vec<CommandPattern>>,
    pub(crate) blocked_commands: Vec<CommandPattern>,
}

impl ModuleRules {
    pub(crate) fn compile(
        key: &str,
        given: &Constraints,
        places: &Places,
        from: &str,
    ) -> Result<Self, PolicyError> {
        let bad = |name: &str, why: &str| {
            let place = format!("tools.modules.{key}.constraints.{name}");
            PolicyError::new(from, format!("{place}: {why}")).about(name)
        };
        let list = |name: &str| -> Result<Option<Vec<String>>, PolicyError> {
            given
                .0
                .get(name)
                .map(|value| strings(value).ok_or_else(|| bad(name, "must be a list of strings")))
                .transpose()
        };
        let commands = |name: &str| -> Result<Option<Vec<CommandPattern>>, PolicyError> {
            list(name)?
                .map(|texts| {
                    texts
                        .iter()
                        .map(|text| CommandPattern::parse(text).map_err(|why| bad(name, &why)))
                        .collect()
                })
                .transpose()
        };
        let paths = list("allowed_paths")?
            .map(|texts| {
                texts
                    .iter()
                    .map(|text| {
                        PathPattern::parse(text, places)
                            .map(PathPattern::with_below)
                            .map_err(|why| bad("allowed_paths", &why))
                    })
                    .collect::<Result<Vec<_>, _>>()
            })
            .transpose()?;
        Ok(ModuleRules {
            key: key.to_owned(),
            module: canonical_module(key).to_owned(),
            allowed_actions: list("allowed_actions")?,
            blocked_actions: list("blocked_actions")?.unwrap_or_default(),
            allowed_paths: paths,
            allowed_commands: commands("allowed_commands")?,
            blocked_commands: commands("blocked_commands")?.unwrap_or_default(),
        })
    }

    /// The constraints it sets.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> {
        [
            (self.allowed_actions.is_some(), "allowed_actions"),
            (!self.blocked_actions.is_empty(), "blocked_actions"),
            (self.allowed_paths.is_some(), "allowed_paths"),
            (self.allowed_commands.is_some(), "allowed_commands"),
            (!self.blocked_commands.is_empty(), "blocked_commands"),
        ]
        .into_iter()
        .filter_map(|(set, key)| set.then_some(key))
    }

    pub(crate) fn rule(&self, name: &str) -> String {
        format!("tools.modules.{}.constraints.{name}", self.key)
    }

    pub(crate) fn bind(&self, spec: &ToolSpec) -> bool {
        spec.module == self.module
            || spec
                .module
                .strip_prefix(self.module.as_str())
                .is_some_and(|rest| rest.starts_with('.'))
    }

    /// The constraint that takes this action away, if one does.
    pub(crate) fn refuses(&self, spec: &ToolSpec) -> Option<&'static str> {
        let actions = self.actions(spec);
        let exact = |text: &String| actions.iter().any(|action| wild(text, action));
        let loose = |text: &String| {
            actions
                .iter()
                .any(|action| text.eq_ignore_ascii_case(action))
        };
        if self
            .blocked_actions
            .iter()
            .any(|text| exact(text) || loose(text))
        {
            return Some("blocked_actions");
        }
        match &self.allowed_actions {
            Some(allowed) if !allowed.iter().any(exact) => Some("allowed_actions"),
            _ => None,
        }
    }

    /// What the config may call this action: its name in the module, or any name of the tool.
    fn actions<'a>(&self, spec: &'a ToolSpec) -> Vec<&'a str> {
        let within = spec
            .name
            .strip_prefix(self.module.as_str())
            .and_then(|rest| rest.strip_prefix('.'));
        let mut actions: Vec<&str> = within.into_iter().collect();
        actions.push(&spec.name);
        for alias in &spec.aliases {
            actions.push(alias);
            actions.extend(alias.rsplit_once('.').map(|(_, action)| action));
        }
        actions
    }
}

/// Check constraints against what the module declares.
pub fn check_constraints(module: &Module, given: &Constraints) -> Result<(), PolicyError> {
    let place = format!("tools.modules.{}.constraints", module.name);
    for (key, value) in &given.0 {
        let declared = module.constraints.iter().find(|spec| spec.name == key);
        let kind = match declared {
            Some(spec) => spec.kind,
            None if UNIVERSAL.contains(&key.as_str()) => ConstraintKind::StringList,
            None => {
                let names = module.constraints.iter().map(|spec| spec.name);
                return Err(PolicyError::new(
                    &place,
                    format!("module `{}` has no such constraint: `{key}`", module.name),
                )
                .about(key)
                .hint(did_you_mean(key, names.chain(UNIVERSAL))));
            }
        };
        let (fits, expected) = match kind {
            ConstraintKind::String => (value.is_string(), "a string"),
            ConstraintKind::StringList => (strings(value).is_some(), "a list of strings"),
            ConstraintKind::Integer => (value.is_i64() || value.is_u64(), "an integer"),
            ConstraintKind::Boolean => (value.is_boolean(), "true or false"),
        };
        if !fits {
            return Err(PolicyError::new(
                &place,
                format!("`{key}` must be {expected}: `{value}`"),
            ));
        }
    }
    Ok(())
}

fn strings(value: &Value) -> Option<Vec<String>> {
    value
        .as_array()?
        .iter()
        .map(|one| one.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::ConstraintSpec;
    use serde_json::json;

    #[test]
    fn constraints_are_checked_against_the_module() {
        let module = Module {
            name: "file",
            summary: "",
            constraints: &[ConstraintSpec {
                name: "allowed_paths",
                kind: ConstraintKind::StringList,
                description: "",
            }],
        };
        let check = |given: Value, expected: &str| {
            let given: Constraints = serde_json::from_value(given).unwrap();
            let got = match check_constraints(&module, &given) {
                Ok(()) => String::new(),
                Err(error) => format!("{error}; {}", error.hint.clone().unwrap_or_default()),
            };
            assert_eq!(got, expected);
        };
        check(
            json!({"allowed_actions": ["read"], "allowed_paths": ["/w/**"]}),
            "",
        );
        check(
            json!({"allowed_path": ["/w"]}),
            "tools.modules.file.constraints: module `file` has no such constraint: \
             `allowed_path`; did you mean `allowed_paths`?",
        );
        check(
            json!({"blocked_actions": "write"}),
            "tools.modules.file.constraints: `blocked_actions` must be a list of strings: \
             `\"write\"`; ",
        );
        check(
            json!({"colour": 1}),
            "tools.modules.file.constraints: module `file` has no such constraint: `colour`; ",
        );
    }
}
