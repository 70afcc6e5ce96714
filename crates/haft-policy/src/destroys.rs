//! Whether a call takes something away that was there. Nobody is refused because of it: it tells
//! which calls no rule should come to allow unseen.

use haft_core::{Effects, Mode, Resource};

use crate::shell::{self, Command, base};

/// Programs that remove, overwrite or end things.
const PROGRAMS: &[&str] = &[
    "rm",
    "rmdir",
    "unlink",
    "shred",
    "srm",
    "wipe",
    "dd",
    "truncate",
    "kill",
    "pkill",
    "killall",
    "wipefs",
    "blkdiscard",
    "fdisk",
    "parted",
    "userdel",
    "groupdel",
    "dropdb",
    "dropuser",
];

/// Words of other programs that do the same.
const WORDS: &[(&str, &[&str])] = &[
    (
        "git",
        &["clean", "reset", "restore", "rm", "push", "rebase", "gc"],
    ),
    ("docker", &["rm", "rmi", "kill", "prune"]),
    ("podman", &["rm", "rmi", "kill", "prune"]),
    ("kubectl", &["delete", "drain"]),
    ("terraform", &["destroy", "apply"]),
    ("systemctl", &["stop", "disable", "mask"]),
    ("find", &["-delete"]),
    ("rsync", &["--delete"]),
    ("npm", &["uninstall", "unpublish", "publish"]),
    ("cargo", &["clean", "publish", "yank"]),
    ("apt", &["remove", "purge", "autoremove"]),
    ("apt-get", &["remove", "purge", "autoremove"]),
    ("pip", &["uninstall"]),
];

/// Whether a call with these effects removes or overwrites, as far as can be told: a folder with
/// all that is in it, or something by a command that is known for it.
pub fn destroys(effects: &Effects) -> bool {
    if effects.removes {
        return true;
    }
    if effects.commands.is_empty() {
        return effects.accesses.iter().any(|access| {
            access.mode == Mode::Write && matches!(access.resource, Resource::Tree(_))
        });
    }
    // A command could write anywhere in the workspace; what it is tells more than that.
    effects.commands.iter().any(|command| {
        let script = shell::script(command);
        let mut commands = script.commands.iter().flat_map(Command::all);
        script.over.is_some() || commands.any(removes)
    })
}

fn removes(command: &Command) -> bool {
    let Some((program, words)) = command.words.split_first() else {
        return false;
    };
    let program = base(&program.text);
    let known = WORDS.iter().find(|(name, _)| *name == program);
    PROGRAMS.contains(&program)
        || program.starts_with("mkfs")
        || known.is_some_and(|(_, known)| words.iter().any(|word| known.contains(&&*word.text)))
        || command
            .redirects
            .iter()
            .any(|redirect| redirect.write && redirect.target.text != "/dev/null")
}

#[cfg(test)]
mod tests {
    use haft_core::CommandLine;

    use super::*;

    #[test]
    fn what_takes_away_is_known() {
        let check = |line: &str, expected: bool| {
            let anywhere = Effects::none().writes(Resource::Tree("/w".into()));
            let effects = anywhere.runs(CommandLine::Shell {
                line: line.to_owned(),
                cwd: "/w".into(),
            });
            assert_eq!(destroys(&effects), expected, "{line}");
        };
        check("rm -rf build", true);
        check("ls && sudo /bin/rm x", true);
        check("bash -c 'rm x'", true);
        check("git reset --hard", true);
        check("git status", false);
        check("find . -name x -delete", true);
        check("find . -name x", false);
        check("echo hi > file", true);
        check("echo hi > /dev/null", false);
        check("npm test", false);
        let tree = Effects::none().writes(Resource::Tree("/w".into()));
        let file = Effects::none().writes(Resource::File("/w/a".into()));
        assert!(destroys(&tree) && !destroys(&file));
        assert!(destroys(&file.removing_if(true)));
    }
}
