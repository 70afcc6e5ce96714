use super::*;
use crate::lines::is_error;

fn reduced(command: &str, text: &str) -> Option<String> {
    shorter(text, recognise(command), false)
}

#[test]
fn commands_are_known_only_when_they_are_the_whole_line() {
    let check =
        |line: &str, expected: Option<Known>| assert_eq!(recognise(line), expected, "{line}");
    check("git status", Some(Known::GitStatus));
    check("  git status -sb ", Some(Known::GitStatus));
    check("git status --porcelain=v2", None);
    check("git status src", None);
    check("git status && ls", None);
    check("git -C x status", None);
    check("cargo test -p haft 2>&1", Some(Known::Tests));
    check("RUST_BACKTRACE=1 cargo +nightly test", Some(Known::Tests));
    check("cargo test | tail", None);
    check("python3 -m pytest -q", Some(Known::Tests));
    check("npx vitest run", Some(Known::Tests));
    check("pnpm run test:unit", Some(Known::Tests));
    check("go test ./...", Some(Known::Tests));
    check("cargo build", None);
    check("npm ci", Some(Known::Install));
    check("pip install -r requirements.txt", Some(Known::Install));
    check("cargo add serde", Some(Known::Install));
    check("yarn", Some(Known::Install));
    check("npm run install-things", None);
}

#[test]
fn test_runs_keep_their_failures() {
    let cargo: String = (0..60)
        .map(|n| format!("test a::t{n} ... ok\n"))
        .chain((0..20).map(|n| format!("   Compiling dep{n} v1.0.0\n")))
        .collect();
    let text = format!(
        "running 61 tests\n{cargo}test a::bad ... FAILED\n\nfailures:\n\n---- a::bad stdout ----\nthread 'a::bad' panicked at src/a.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\n\nfailures:\n    a::bad\n\ntest result: FAILED. 60 passed; 1 failed\n"
    );
    let short = reduced("cargo test", &text).unwrap();
    assert!(
        short.starts_with(
            "[test run; left out: 60 lines of what passed, 20 of progress]\nrunning 61 tests\n"
        ),
        "{short}"
    );
    for part in [
        "a::bad ... FAILED",
        "  left: 1\n right: 2",
        "60 passed; 1 failed",
    ] {
        assert!(short.contains(part), "{part}: {short}");
    }
    assert!(!short.contains("a::t5 "), "{short}");
    let check = |command: &str, passing: &str, kept: &str| {
        let text = format!("{}{kept}", format!("{passing}\n").repeat(40));
        let short = reduced(command, &text).unwrap();
        assert!(short.ends_with(kept), "{command}: {short}");
        assert!(!short.contains(passing), "{command}: {short}");
    };
    check(
        "pytest -v",
        "tests/test_a.py::test_x PASSED [ 10%]",
        "FAILED tests/test_a.py::test_y - assert 1 == 2\n== 1 failed, 40 passed in 0.1s ==\n",
    );
    check(
        "pytest",
        "tests/test_a.py ......s. [ 50%]",
        "tests/test_b.py ..F. [100%]\nE  assert 0\n",
    );
    check(
        "npx jest",
        "  ✓ adds numbers (2 ms)",
        "  ✕ subtracts\nTests: 1 failed, 40 passed\n",
    );
    check(
        "npx vitest run",
        " ✓ src/a.test.ts (3 tests) 5ms",
        " Test Files  1 failed | 40 passed\n",
    );
    check(
        "go test ./...",
        "ok  \texample.com/a\t0.01s",
        "--- FAIL: TestX (0.00s)\n    x_test.go:5: no\nFAIL\n",
    );
    check(
        "go test -v ./...",
        "--- PASS: TestA (0.00s)",
        "FAIL\texample.com/b\t0.1s\n",
    );
    check(
        "node --test",
        "ok 1 - adds",
        "not ok 2 - subtracts\n# fail 1\n",
    );
    assert_eq!(
        reduced("cargo test", "running 1 test\ntest a ... ok\n"),
        None
    );
}

#[test]
fn installs_keep_what_came_of_them() {
    let check = |command: &str, noise: &str, kept: &str| {
        let text = format!("{}{kept}", format!("{noise}\n").repeat(40));
        let short = reduced(command, &text).unwrap();
        assert!(short.ends_with(kept), "{command}: {short}");
        assert!(
            short.lines().filter(|line| *line == noise).count() <= 3,
            "{command}: {short}"
        );
    };
    check(
        "npm install",
        "npm http fetch GET 200 https://x",
        "npm warn deprecated a@1\n\nadded 12 packages, and audited 13 packages in 1s\n3 vulnerabilities\n",
    );
    check(
        "pnpm add left",
        "Progress: resolved 1, reused 1",
        "Packages: +2 -1\n+ left 1.0.0\n- right 2.0.0\nDone in 1s\n",
    );
    check(
        "pip install x",
        "  Downloading x-1.0.whl (1 kB)",
        "ERROR: no matching distribution\nSuccessfully installed x-1.0\n",
    );
    check(
        "cargo add serde",
        "    Features:",
        "      Adding serde v1 to dependencies\nwarning: unused\n",
    );
    check(
        "yarn install",
        "[2/4] Fetching packages...",
        "warning a > b: deprecated\nsuccess Saved lockfile.\nDone in 2.1s.\n",
    );
}

#[test]
fn long_output_keeps_head_tail_and_errors() {
    let text: String = (0..2_000)
        .map(|n| match n {
            900 => "error: in the middle\n".to_owned(),
            n => format!("plain line number {n}\n"),
        })
        .collect();
    let short = reduced("make", &text).unwrap();
    assert!(short.len() < 3_000, "{}", short.len());
    for part in [
        "number 0\n",
        "number 39\n[… 860 lines left out …]\nerror: in the middle\n[… 1079 lines",
        "number 1980\n",
        "number 1999\n",
    ] {
        assert!(short.contains(part), "{part}: {short}");
    }
    assert_eq!(reduced("make", &text[..8_000]), None);
    let one_line = "x".repeat(1 << 20);
    assert!(reduced("make", &one_line).unwrap().len() < 3_000);
}

/// No line that tells of an error is lost: it is there, or counted.
#[test]
fn error_lines_survive_every_reducer() {
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let pieces = [
        "test a ... ok",
        "test b ... FAILED",
        "   Compiling x v1",
        "error[E0308]: mismatched",
        "?? new.txt",
        " M src/error.rs",
        "\tmodified:   a.rs",
        "Changes not staged for commit:",
        "added 3 packages",
        "npm ERR! code 1",
        "--- PASS: TestA (0.0s)",
        "=== RUN TestError",
        "thread 'x' panicked at",
        "plain",
        "",
        "\u{1b}[31mfatal\u{1b}[0m: no",
        "✓ ok",
        "✗ not ok",
    ];
    let commands = [
        "git status",
        "cargo test",
        "npm install",
        "make",
        "pytest",
        "git status -s",
    ];
    let mut shortened = 0;
    for round in 0..600 {
        let count = 5 + random(600) as usize;
        let lines: Vec<String> = (0..count)
            .map(|n| format!("{} {n}", pieces[random(pieces.len() as u64) as usize]))
            .collect();
        let text = lines.join("\n");
        let command = commands[round % commands.len()];
        let Some(short) = reduced(command, &text) else {
            continue;
        };
        shortened += 1;
        assert!(short.len() < text.len(), "{command}");
        let kept: std::collections::HashSet<&str> = short.lines().collect();
        let lost = lines
            .iter()
            .filter(|line| is_error(line) && !kept.contains(line.as_str()))
            .count();
        let counted: usize = short
            .lines()
            .filter_map(|line| {
                line.strip_prefix('[')?.strip_suffix(
                    " more lines with errors are left out; the whole result holds them]",
                )
            })
            .map(|count| count.parse::<usize>().unwrap())
            .sum();
        assert!(
            lost <= counted,
            "{command}: {lost} lost, {counted} counted\n{short}"
        );
    }
    assert!(shortened > 200, "only {shortened} were shortened");
}
