//! Programs that change the files they are given. A path rule that closes sees their arguments,
//! so that `cp a /etc/x` is as denied as `> /etc/x`. What is not listed here is asked about
//! unless a rule allows it.

use crate::shell::{Command, Word};

/// Which arguments of a program it changes.
enum Changes {
    Every,
    /// The last one, or the one that `-t` names
    Last,
    /// Those written `of=FILE`
    Of,
    /// Every one, but only with `-i`
    InPlace,
}

fn changes(program: &str) -> Option<Changes> {
    Some(match program {
        "rm" | "rmdir" | "unlink" | "shred" | "touch" | "mkdir" | "truncate" | "tee" | "sponge"
        | "chmod" | "chown" | "chgrp" | "mv" | "mkfifo" | "mknod" | "setfacl" | "fallocate" => {
            Changes::Every
        }
        "cp" | "install" | "ln" | "link" | "rsync" | "scp" => Changes::Last,
        "dd" => Changes::Of,
        "sed" | "perl" => Changes::InPlace,
        _ => return None,
    })
}

/// The paths, as written, that a command changes. Words that are expanded or matched by the
/// shell are not followed.
pub(crate) fn written(command: &Command) -> Vec<&str> {
    let Some((program, arguments)) = command.words.split_first() else {
        return Vec::new();
    };
    let name = program.text.rsplit('/').next().unwrap_or_default();
    let known = |word: &&Word| word.exact && !word.glob;
    let plain = || {
        arguments
            .iter()
            .filter(known)
            .map(|word| word.text.as_str())
            .filter(|word| !word.starts_with('-'))
    };
    let option = |short: char| {
        move |word: &&Word| {
            let text = word.text.as_str();
            text.starts_with('-') && !text.starts_with("--") && text.contains(short)
        }
    };
    match changes(name) {
        None => Vec::new(),
        Some(Changes::Every) => plain().collect(),
        Some(Changes::Last) => {
            let target = arguments.iter().find_map(|word| {
                word.text
                    .strip_prefix("--target-directory=")
                    .or_else(|| word.text.strip_prefix("-t"))
            });
            let named = match target {
                Some("") => arguments
                    .iter()
                    .skip_while(|word| word.text != "-t")
                    .nth(1)
                    .map(|word| word.text.as_str()),
                other => other,
            };
            named.or_else(|| plain().next_back()).into_iter().collect()
        }
        Some(Changes::Of) => plain()
            .filter_map(|word| word.strip_prefix("of="))
            .collect(),
        Some(Changes::InPlace) => {
            let in_place = arguments
                .iter()
                .any(|word| option('i')(&word) || word.text.starts_with("--in-place"));
            if in_place {
                plain().collect()
            } else {
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    #[test]
    fn changed_arguments() {
        let check = |line: &str, expected: &[&str]| {
            let script = shell::parse(line);
            let found: Vec<&str> = script
                .commands
                .iter()
                .flat_map(Command::all)
                .flat_map(written)
                .collect();
            assert_eq!(found, expected, "{line}");
        };
        check("cp a /etc/x", &["/etc/x"]);
        check("cp -t /etc a b", &["/etc"]);
        check("cp --target-directory=/etc a", &["/etc"]);
        check("mv a b", &["a", "b"]);
        check("tee -a /etc/x", &["/etc/x"]);
        check("/bin/rm -rf 'a b' c", &["a b", "c"]);
        check("dd if=a of=/etc/x", &["/etc/x"]);
        check("sed s/a/b/ f", &[]);
        check("sed -i s/a/b/ f", &["s/a/b/", "f"]);
        check("sudo rm x && cat y", &["x"]);
        check("cat /etc/x", &[]);
        check("rm *", &[]);
        check("rm $x", &[]);
    }
}
