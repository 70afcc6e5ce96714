//! Completion scripts, and what they ask haft.

use crate::place::{HAFT, Place, finish};

#[test]
fn every_shell_gets_a_script() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = place.run(["completions", shell]);
        ran.exits(0).says("haft").says("COMPLETE");
    }
    place
        .run(["completions", "tcsh"])
        .exits(2)
        .says("bash")
        .says("zsh");
}

/// What bash would be offered for the last of these words, asked the way its script asks.
fn offered(place: &Place, words: &[&str]) -> Vec<String> {
    let mut command = place.haft();
    command
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .env("_CLAP_IFS", "\n")
        .arg("--")
        .args(words);
    let ran = finish(&mut command);
    ran.exits(0);
    ran.out.lines().map(str::to_owned).collect()
}

#[test]
fn tool_names_complete() {
    let place = Place::new();
    for command in [
        &["haft", "call"][..],
        &["haft", "tools", "show"],
        &["haft", "policy", "explain"],
    ] {
        let all = offered(&place, &[command, &[""]].concat());
        for name in [
            "file.read",
            "file.write",
            "shell.exec",
            "system.info",
            "result.read",
        ] {
            assert!(
                all.iter().any(|one| one == name),
                "{command:?} {name}: {all:?}"
            );
        }
        let some = offered(&place, &[command, &["file.r"]].concat());
        assert!(some.contains(&"file.read".to_owned()), "{some:?}");
        assert!(some.iter().all(|one| one.starts_with("file.r")), "{some:?}");
    }
    assert!(offered(&place, &["haft", "call", "read_"]).contains(&"read_file".to_owned()));
    place.config("tools: {profiles: {mine: {allow: [file.*]}}}\nagents: {scout: {}}\n");
    let check = |flag: &str, typed: &str, expected: &[&str]| {
        let found = offered(&place, &["haft", "call", "file.read", flag, typed]);
        assert_eq!(found, expected, "{flag} {typed}");
    };
    check("--profile", "m", &["minimal", "messaging", "mine"]);
    check("--autonomy", "s", &["supervised", "standard"]);
    check("--agent", "", &["scout"]);
    assert!(offered(&place, &["haft", "bat"]).contains(&"batch".to_owned()));
    assert!(
        offered(&place, &["haft", "call", "file.read", "--dr"]).contains(&"--dry-run".to_owned())
    );
}

/// The script itself, in a real bash.
#[test]
fn the_bash_script_works_in_bash() {
    let place = Place::new();
    let script = place.file(
        "haft.bash",
        place.run(["completions", "bash"]).exits(0).out.clone(),
    );
    let ask = format!(
        "PATH={}:$PATH; source {}; COMP_WORDS=(haft call shell.e); COMP_CWORD=2; COMP_TYPE=9; \
         _clap_complete_haft haft shell.e call; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        std::path::Path::new(HAFT).parent().unwrap().display(),
        script.display()
    );
    let mut command = std::process::Command::new("bash");
    place.settle(&mut command);
    command.args(["--norc", "-c", &ask]);
    let ran = finish(&mut command);
    ran.exits(0);
    assert_eq!(ran.out.trim(), "shell.exec", "{ran:?}");
}
