//! What a sandboxed command sees of people's homes: nothing but what programs need to run. Names
//! of keys cannot be listed to the end, so the list is of what may be seen, all of it read-only:
//! toolchains, packages that are already here, settings without secrets, the folders of `PATH`,
//! the repository around the workspace, and what the owner names. `~/.cache` is a temporary
//! folder of the command's own.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::Level;
use super::guarded::TEMPORARY;
use super::spec::Spec;

/// Where systems put homes. The one of this user is out of sight wherever it lies.
const HOMES: &[&str] = &["/home", "/root"];

/// Folders of the system. A home that holds one of them is no home to hide.
const SYSTEM: &[&str] = &["/usr", "/etc", "/opt", "/var/lib", "/nix", "/proc", "/dev"];

/// Besides homes, programs that everybody shares.
const SHARED: &[&str] = &["/home/linuxbrew/.linuxbrew"];

/// Where programs keep what they can make again.
const CACHE: &str = ".cache";

/// Toolchains that can be told where they live: the variable, the usual place, and the parts that
/// programs need. The rest may hold keys.
const TOOLCHAINS: &[(&str, &str, &[&str])] = &[
    ("RUSTUP_HOME", ".rustup", WHOLE),
    (
        "CARGO_HOME",
        ".cargo",
        &["bin", "env", "config", "config.toml", "registry", "git"],
    ),
    ("NVM_DIR", ".nvm", WHOLE),
    ("PNPM_HOME", ".local/share/pnpm", WHOLE),
    ("BUN_INSTALL", ".bun", WHOLE),
    ("PYENV_ROOT", ".pyenv", WHOLE),
    ("VIRTUAL_ENV", ".virtualenvs", WHOLE),
    ("CONDA_PREFIX", "miniconda3", WHOLE),
    ("GOROOT", "sdk", WHOLE),
    ("GOPATH", "go", &["bin", "pkg"]),
    ("JAVA_HOME", ".jdks", WHOLE),
    ("SDKMAN_DIR", ".sdkman", WHOLE),
    ("ANDROID_HOME", "Android/Sdk", WHOLE),
    ("RBENV_ROOT", ".rbenv", WHOLE),
    ("GEM_HOME", ".gem/ruby", WHOLE),
    ("DOTNET_ROOT", ".dotnet", WHOLE),
    ("ASDF_DATA_DIR", ".asdf", WHOLE),
];
const WHOLE: &[&str] = &[""];

/// What else programs need of the home they run in.
const NEEDED: &[&str] = &[
    // Programs of the user
    "bin",
    ".local/bin",
    ".local/lib",
    ".nix-profile",
    ".guix-profile",
    ".local/state/nix",
    ".linuxbrew",
    ".tool-versions",
    ".local/share/mise",
    ".terminfo",
    // Git, without what it remembers of passwords
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
    // JavaScript
    ".fnm",
    ".local/share/fnm",
    ".nodenv",
    ".volta",
    ".n",
    ".npm/_cacache",
    ".npm/_npx",
    ".npm-global",
    ".npm-packages",
    ".yarn",
    ".pnpm-store",
    ".deno",
    ".cache/node",
    ".cache/deno",
    ".cache/ms-playwright",
    ".cache/puppeteer",
    ".cache/Cypress",
    // Python
    ".local/share/virtualenvs",
    ".local/share/uv",
    ".local/share/pipx",
    ".local/pipx",
    ".cache/pypoetry",
    ".cache/pre-commit",
    "miniforge3",
    "mambaforge",
    "anaconda3",
    // Go, Java and its kin
    ".goenv",
    ".jenv",
    ".m2/repository",
    ".m2/wrapper",
    ".gradle/caches",
    ".gradle/wrapper",
    ".gradle/jdks",
    ".ivy2/cache",
    ".cache/coursier",
    // Ruby, PHP, Perl, Lua
    ".rvm",
    ".rubies",
    ".composer/vendor",
    ".config/composer/vendor",
    "perl5",
    ".luarocks/lib",
    ".luarocks/share",
    // .NET, Dart, Swift, Zig, Nim
    ".nuget/packages",
    ".pub-cache/bin",
    ".pub-cache/hosted",
    "flutter",
    ".swiftly",
    ".zvm",
    ".choosenim",
    ".nimble/bin",
    ".nimble/pkgs2",
    // Haskell, OCaml, Lean, Elixir, Julia, R
    ".ghcup",
    ".cabal/bin",
    ".cabal/packages",
    ".cabal/store",
    ".stack/programs",
    ".stack/snapshots",
    ".opam",
    ".elan",
    ".mix",
    ".hex/packages",
    ".julia",
    ".juliaup",
    "R",
    // Builds
    ".cache/bazel",
    ".cache/bazelisk",
    ".bazelisk",
];

/// What is done about homes for one command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Homes {
    /// Folders that are put out of sight, none in another
    pub(super) buried: Vec<PathBuf>,
    /// A temporary folder in a buried home
    pub(super) cache: Option<PathBuf>,
    /// What is seen there all the same: the place, and what lies there. None in another
    pub(super) shown: Vec<(PathBuf, PathBuf)>,
}

/// Look what there is. `variable` gives the environment, as the command has it.
pub(super) fn homes(spec: &Spec, variable: impl Fn(&str) -> Option<OsString>) -> Homes {
    if spec.level != Level::Sandboxed {
        return Homes::default();
    }
    let temporary = |place: &Path| TEMPORARY.iter().any(|folder| place.starts_with(folder));
    let open: Vec<&PathBuf> = std::iter::once(&spec.workspace)
        .chain(&spec.roots)
        .chain(&spec.readable)
        .collect();
    let mut buried: Vec<PathBuf> = HOMES
        .iter()
        .filter_map(|home| fs::canonicalize(home).ok())
        .chain(spec.home.iter().filter(|home| home.is_dir()).cloned())
        .filter(|home| !SYSTEM.iter().any(|part| Path::new(part).starts_with(home)))
        // Whoever works in a whole home sees it, but for what is hidden by its name.
        .filter(|home| !open.iter().any(|place| home.starts_with(place)))
        .collect();
    outermost(&mut buried, |home| home);
    // Temporary folders are private, so what lies there is out of sight too.
    let hides =
        |place: &Path| temporary(place) || buried.iter().any(|home| place.starts_with(home));
    let mut shown = Vec::new();
    for place in wanted(spec, variable) {
        let Some(real) = fs::canonicalize(&place).ok().filter(|_| hides(&place)) else {
            continue;
        };
        // By both names: programs know themselves by the real one.
        if real != place && hides(&real) {
            shown.push((real.clone(), real.clone()));
        }
        shown.push((place, real));
    }
    outermost(&mut shown, |(place, _)| place);
    let cache = spec.home.as_ref().map(|home| home.join(CACHE));
    Homes {
        cache: cache.filter(|cache| hides(cache)),
        buried,
        shown,
    }
}

/// Drop whatever lies in another one.
fn outermost<T>(all: &mut Vec<T>, place: impl Fn(&T) -> &PathBuf) {
    all.sort_by(|a, b| place(a).cmp(place(b)));
    all.dedup_by(|later, earlier| place(later).starts_with(place(earlier)));
}

/// Places to be seen, whether they are there or not.
fn wanted(spec: &Spec, variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = SHARED.iter().map(PathBuf::from).collect();
    all.extend(spec.readable.iter().cloned());
    // Writable or not: on an overlay only the workspace is.
    all.extend(spec.roots.iter().cloned());
    let Some(home) = &spec.home else {
        return all;
    };
    all.extend(NEEDED.iter().map(|name| home.join(name)));
    for (name, usual, parts) in TOOLCHAINS {
        let told = variable(name).map(PathBuf::from);
        for place in told.into_iter().chain([home.join(usual)]) {
            all.extend(parts.iter().map(|part| place.join(part)));
        }
    }
    let programs = variable("PATH").unwrap_or_default();
    all.extend(std::env::split_paths(&programs));
    all.extend(repository_around(&spec.workspace));
    all.extend(main_repository(&spec.workspace));
    // Not a whole home, whatever asks for it.
    all.retain(|place| !home.starts_with(place));
    all
}

/// The repository that a workspace is only a part of.
fn repository_around(workspace: &Path) -> Option<PathBuf> {
    let is_repository = |folder: &&Path| folder.join(".git/HEAD").is_file();
    let around = workspace.ancestors().find(is_repository)?;
    (around != workspace).then(|| around.to_owned())
}

/// The folder `.git` that a second work tree points to. Believed only when it points back: who
/// brings a file into the workspace cannot have written there too.
fn main_repository(workspace: &Path) -> Option<PathBuf> {
    let pointer = workspace.join(".git");
    let text = fs::read_to_string(&pointer).ok()?;
    let own = workspace.join(text.strip_prefix("gitdir:")?.trim());
    let back = fs::read_to_string(own.join("gitdir")).ok()?;
    let points_back = own.join(back.trim()).canonicalize().ok()? == pointer;
    let common = fs::read_to_string(own.join("commondir")).ok()?;
    let common = own.join(common.trim()).canonicalize().ok()?;
    (points_back && common.join("HEAD").is_file()).then_some(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a command sees of a home with these files, working in `workspace` there.
    fn check(files: &[(&str, &str)], workspace: &str, path: &str, expected: &[&str]) {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let home = dir.path().canonicalize().unwrap();
        let told = |text: &str| text.replace("@HOME", home.to_str().unwrap());
        for (name, content) in files {
            let file = home.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, told(content)).unwrap();
        }
        fs::create_dir_all(home.join(workspace)).unwrap();
        let mut spec = Spec::example(home.join(workspace));
        spec.home = Some(home.clone());
        spec.readable = vec![home.join("notes")];
        let path = told(path);
        let variable = |name: &str| (name == "PATH").then(|| OsString::from(&path));
        let homes = homes(&spec, variable);
        let shown: Vec<&str> = homes
            .shown
            .iter()
            .filter_map(|(place, _)| place.strip_prefix(&home).ok()?.to_str())
            .collect();
        assert_eq!(shown, expected, "{workspace}");
        assert_eq!(homes.cache, Some(home.join(".cache")));
        spec.level = Level::AirGapped;
        assert_eq!(super::homes(&spec, |_| None), Homes::default());
    }

    #[test]
    fn programs_are_seen_and_data_is_not() {
        let files = [
            (".cargo/registry/index", ""),
            (".cargo/credentials.toml", ""),
            (".gitconfig", ""),
            (".config/git/credentials", ""),
            (".mozilla/cookies", ""),
            ("tools/app/run", ""),
            ("notes/today", ""),
        ];
        check(
            &files,
            "work",
            "/usr/bin:@HOME:/:@HOME/tools/app",
            &[".cargo/registry", ".gitconfig", "notes", "tools/app"],
        );
    }

    #[test]
    fn a_repository_is_seen_from_within() {
        let files = [("src/.git/HEAD", ""), ("src/Cargo.toml", "")];
        check(&files, "src/part/deep", "", &["src"]);
        check(&files, "elsewhere", "", &[]);
        // A home that is one is still a home.
        check(&[(".git/HEAD", "")], "part", "", &[]);
    }

    #[test]
    fn a_second_work_tree_sees_the_first_ones_repository() {
        let tree = [
            ("main/.git/HEAD", ""),
            ("main/.git/worktrees/two/gitdir", "@HOME/two/.git\n"),
            ("main/.git/worktrees/two/commondir", "../..\n"),
            ("two/.git", "gitdir: @HOME/main/.git/worktrees/two\n"),
        ];
        check(&tree, "two", "", &["main/.git"]);
        // One that nobody in the repository knows of.
        let mut forged = tree;
        forged[1].1 = "@HOME/three/.git\n";
        check(&forged, "two", "", &[]);
        check(&[("two/.git", "gitdir: @HOME/letters\n")], "two", "", &[]);
    }
}
