//! Programs that run other programs, and how to find the other program among their arguments.
//! A pure list: a new wrapper is one line.

/// How a program names what it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// Options, some words of its own, then the command
    Rest { skip: usize },
    /// As above, but all words from there on are one line for a shell
    Line { skip: usize },
    /// The value of `-c` is a line; without it, the rest as a command after some words
    DashC { skip: usize },
}

pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Options whose value is the next word
    pub(super) valued: &'static [&'static str],
    pub(super) runs: Runs,
}

const fn rest(name: &'static str, valued: &'static [&'static str], skip: usize) -> Wrapper {
    Wrapper {
        name,
        valued,
        runs: Runs::Rest { skip },
    }
}

const fn line(name: &'static str, valued: &'static [&'static str], skip: usize) -> Wrapper {
    Wrapper {
        name,
        valued,
        runs: Runs::Line { skip },
    }
}

const fn dash_c(name: &'static str, valued: &'static [&'static str], skip: usize) -> Wrapper {
    Wrapper {
        name,
        valued,
        runs: Runs::DashC { skip },
    }
}

pub(super) const WRAPPERS: &[Wrapper] = &[
    rest("builtin", &[], 0),
    rest("busybox", &[], 0),
    rest("caffeinate", &["-t", "-w"], 0),
    rest("catchsegv", &[], 0),
    rest(
        "chpst",
        &[
            "-u", "-U", "-e", "-n", "-l", "-L", "-m", "-d", "-o", "-p", "-f", "-c",
        ],
        0,
    ),
    rest("chroot", &["--userspec", "--groups"], 1),
    rest("chrt", &["-T", "-P", "-D", "-p"], 1),
    rest("chronic", &[], 0),
    rest("command", &[], 0),
    rest("cpulimit", &["-l", "-p", "-e", "-c"], 0),
    rest("daemonize", &["-c", "-e", "-o", "-p", "-l", "-u", "-E"], 0),
    rest("dbus-launch", &[], 0),
    rest("dbus-run-session", &["--config-file"], 0),
    rest("doas", &["-u", "-C", "-a"], 0),
    rest("dumb-init", &["-r"], 0),
    rest(
        "env",
        &["-u", "--unset", "-C", "--chdir", "-a", "--argv0"],
        0,
    ),
    rest("exec", &["-a"], 0),
    rest("fakechroot", &[], 0),
    rest("fakeroot", &["-l", "-f", "-i", "-s", "-b"], 0),
    rest("faketime", &["-f"], 1),
    rest("firejail", &[], 0),
    rest("bwrap", &["--chdir", "--uid", "--gid", "--hostname"], 0),
    dash_c("flock", &["-w", "--timeout", "-E"], 1),
    rest("gosu", &[], 1),
    rest("su-exec", &[], 1),
    rest("ionice", &["-c", "-n", "-p", "--class", "--classdata"], 0),
    rest("linux32", &[], 0),
    rest("linux64", &[], 0),
    rest("ltrace", &["-e", "-o", "-p", "-s", "-u", "-n", "-a"], 0),
    rest("nice", &["-n", "--adjustment"], 0),
    rest("nocache", &[], 0),
    rest("noglob", &[], 0),
    rest("nohup", &[], 0),
    rest("nsenter", &["-t", "-S", "-G", "--target"], 0),
    rest("numactl", &["-N", "-m", "-C", "-p", "-i", "-l"], 0),
    rest("perf", &["-e", "-o", "-p", "-C"], 1),
    rest("pkexec", &["--user"], 0),
    rest("prlimit", &[], 0),
    rest("proot", &["-r", "-b", "-w", "-R", "-S", "-q"], 0),
    rest("proxychains", &["-f"], 0),
    rest("proxychains4", &["-f"], 0),
    rest("rlwrap", &["-f", "-H", "-b", "-C", "-p", "-S"], 0),
    dash_c("runuser", &["-u", "-g", "-G", "-s", "--user"], 0),
    dash_c(
        "script",
        &["-o", "-I", "-O", "-B", "-T", "-E", "-m"],
        usize::MAX,
    ),
    rest("sem", &["-j", "--id"], 0),
    rest("setarch", &[], 1),
    rest(
        "setpriv",
        &["--reuid", "--regid", "--groups", "--securebits"],
        0,
    ),
    rest("setsid", &[], 0),
    line(
        "ssh",
        &[
            "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o",
            "-p", "-Q", "-R", "-S", "-W", "-w",
        ],
        1,
    ),
    rest(
        "stdbuf",
        &["-i", "-o", "-e", "--input", "--output", "--error"],
        0,
    ),
    rest(
        "strace",
        &[
            "-e", "-o", "-p", "-s", "-u", "-E", "-a", "-b", "-I", "-O", "-P", "-S", "-X",
        ],
        0,
    ),
    dash_c("su", &["-s", "-g", "-G", "-w", "--shell"], usize::MAX),
    rest(
        "sudo",
        &[
            "-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "--user",
        ],
        0,
    ),
    rest(
        "systemd-inhibit",
        &["--what", "--who", "--why", "--mode"],
        0,
    ),
    rest(
        "systemd-run",
        &[
            "-p",
            "-u",
            "-M",
            "-H",
            "-E",
            "--unit",
            "--property",
            "--slice",
        ],
        0,
    ),
    rest("taskset", &["-p"], 1),
    rest("time", &["-f", "-o", "--format", "--output"], 0),
    rest("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    rest("tini", &["-p", "-e"], 0),
    rest("torify", &[], 0),
    rest("torsocks", &["-u", "-p", "-a", "-P"], 0),
    rest("toybox", &[], 0),
    rest("trickle", &["-d", "-u", "-w", "-t", "-l", "-n"], 0),
    rest("tsp", &["-L", "-N", "-D", "-W"], 0),
    rest("unbuffer", &[], 0),
    rest(
        "unshare",
        &[
            "-S", "-G", "-R", "-w", "--setuid", "--setgid", "--root", "--wd",
        ],
        0,
    ),
    rest("valgrind", &[], 0),
    line("watch", &["-n", "--interval", "-q", "--equexit"], 0),
    rest(
        "xargs",
        &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-E",
            "-s",
            "-a",
            "--replace",
            "--max-args",
            "--max-procs",
            "--max-lines",
            "--delimiter",
            "--max-chars",
            "--arg-file",
        ],
        0,
    ),
    rest("xvfb-run", &["-n", "-f", "-e", "-s", "-p", "-w"], 0),
    line("eval", &[], 0),
];

/// Shells: `-c` takes a line, otherwise a file or standard input.
const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ash", "ksh", "ksh93", "mksh", "lksh", "oksh", "yash", "fish",
    "rbash", "rzsh", "csh", "tcsh", "posh", "elvish", "nu", "xonsh", "pwsh",
];

/// Programs that run what their arguments or files say, in a language that policy does not read.
/// None of them may be remembered with "always".
const INTERPRETERS: &[&str] = &[
    ".",
    "R",
    "Rscript",
    "alias",
    "ansible",
    "at",
    "awk",
    "batch",
    "bun",
    "bunx",
    "bwrap",
    "cmake",
    "coproc",
    "cron",
    "crontab",
    "deno",
    "direnv",
    "docker",
    "ed",
    "emacs",
    "entr",
    "ex",
    "expect",
    "fd",
    "fdfind",
    "find",
    "gawk",
    "gdb",
    "ghci",
    "gmake",
    "guile",
    "haft",
    "helm",
    "irb",
    "java",
    "jjs",
    "jshell",
    "julia",
    "just",
    "kubectl",
    "ld-linux",
    "ld-linux-x86-64.so",
    "ld-musl-x86_64.so",
    "ld.so",
    "less",
    "lldb",
    "lua",
    "luajit",
    "m4",
    "make",
    "man",
    "mawk",
    "minikube",
    "more",
    "mysql",
    "nawk",
    "nc",
    "ncat",
    "netcat",
    "ninja",
    "nix",
    "nix-shell",
    "node",
    "nodejs",
    "npx",
    "nvim",
    "octave",
    "openssl",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pipx",
    "pnpx",
    "podman",
    "poetry",
    "psql",
    "pypy",
    "pypy3",
    "python",
    "r",
    "racket",
    "rake",
    "rscript",
    "rsh",
    "rsync",
    "ruby",
    "runghc",
    "scala",
    "scp",
    "screen",
    "sed",
    "sftp",
    "socat",
    "source",
    "sqlite3",
    "swift",
    "tar",
    "task",
    "tclsh",
    "telnet",
    "tmux",
    "trap",
    "ts-node",
    "tsx",
    "uv",
    "uvx",
    "vi",
    "view",
    "vim",
    "wish",
    "xterm",
    "zip",
];

pub(super) fn wrapper(program: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == program)
}

pub(crate) fn is_wrapper(program: &str) -> bool {
    wrapper(program).is_some()
}

pub(crate) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// Programs whose first word says what they do.
const COMMANDERS: &[&str] = &[
    "apt",
    "apt-get",
    "aws",
    "az",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "deno",
    "dnf",
    "docker",
    "docker-compose",
    "gcloud",
    "gem",
    "gh",
    "git",
    "glab",
    "go",
    "helm",
    "hg",
    "ip",
    "jj",
    "kubectl",
    "launchctl",
    "nix",
    "npm",
    "openssl",
    "pacman",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "service",
    "snap",
    "svn",
    "systemctl",
    "terraform",
    "tofu",
    "uv",
    "yarn",
    "yum",
    "zypper",
];

/// Whether the first word after a program says what it does.
pub(crate) fn takes_commands(program: &str) -> bool {
    COMMANDERS.contains(&program)
}

/// Versions in a name (`python3.12`, `lua5.4`, `perl5`) are looked through.
pub(crate) fn is_interpreter(program: &str) -> bool {
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    INTERPRETERS.contains(&program) || (!bare.is_empty() && INTERPRETERS.contains(&bare))
}
