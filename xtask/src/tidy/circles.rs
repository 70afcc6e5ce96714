//! No circles between the modules of the spine. An arrow is any path outside tests that leads to
//! another module. What `lib.rs` or `mod.rs` only declares or passes on with `pub use` is no
//! arrow: a name taken from there counts as taken from where it is defined.
//!
//! Circles are looked for folder by folder, between neighbours. Seen from outside a folder is one
//! module, whatever is in it; inside, its `mod.rs` is the common ground of its files and may both
//! hold what they share and call them, while the files among themselves may not go in a circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::source::{NamedPath, Place, Source};
use crate::workspace::{Crate, Workspace};

const SPINE: &[&str] = &["haft-core", "haft-policy", "haft-runtime"];

/// How many re-exports a name may pass through.
const HOPS: usize = 8;

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    workspace
        .crates
        .iter()
        .filter(|one| SPINE.contains(&one.name.as_str()))
        .flat_map(circles)
        .collect()
}

fn circles(one: &Crate) -> Vec<Finding> {
    let files = Files::of(one);
    let folders: BTreeSet<&[String]> = files
        .paths
        .keys()
        .filter_map(|module| module.split_last())
        .map(|(_, folder)| folder)
        .collect();
    folders
        .into_iter()
        .flat_map(|folder| files.neighbours_in(folder).knots())
        .map(|(circle, arrow)| {
            Finding::new(
                arrow.file,
                arrow.line,
                format!(
                    "modules of `{}` in a circle: {}",
                    one.name,
                    circle.join(" -> ")
                ),
                "move what both sides need into a module of its own",
            )
        })
        .collect()
}

type ModulePath = Vec<String>;

/// All files of a crate and the arrows between them.
struct Files {
    paths: BTreeMap<ModulePath, String>,
    /// From, to, and the first line that makes the arrow
    arrows: BTreeMap<(ModulePath, ModulePath), usize>,
}

/// What one module shows to others under another address.
#[derive(Default)]
struct Module {
    children: BTreeSet<String>,
    /// Name to the whole path it stands for
    passed_on: BTreeMap<String, ModulePath>,
    globs: Vec<ModulePath>,
}

impl Files {
    fn of(one: &Crate) -> Self {
        let mut modules: BTreeMap<ModulePath, Module> = BTreeMap::new();
        let mut files = Files {
            paths: BTreeMap::new(),
            arrows: BTreeMap::new(),
        };
        for source in one.shipped() {
            let Some(module) = module_path(one, source) else {
                continue;
            };
            files.paths.insert(module.clone(), source.path.clone());
            modules.insert(module.clone(), Module::of(&module, source));
        }
        for source in one.shipped() {
            if let Some(module) = module_path(one, source) {
                files.add_arrows(&module, source, &modules);
            }
        }
        files
    }

    fn add_arrows(
        &mut self,
        from: &ModulePath,
        source: &Source,
        modules: &BTreeMap<ModulePath, Module>,
    ) {
        let children = &modules[from].children;
        for path in source.paths() {
            if matches!(path.place, Place::Use { public: true, .. }) {
                continue;
            }
            let Some(target) = absolute(from, children, &path) else {
                continue;
            };
            for to in resolve(&target, modules, HOPS) {
                let arrow = (from.clone(), to);
                self.arrows.entry(arrow).or_insert(path.line);
            }
        }
    }

    /// The modules that stand side by side in one folder, with what is under each taken as part
    /// of it. The root of the crate is a neighbour of its modules, any other folder is not.
    fn neighbours_in(&self, folder: &[String]) -> Graph {
        let name = |module: &ModulePath| match module.strip_prefix(folder)? {
            [] if folder.is_empty() => Some("lib.rs".to_owned()),
            [] => None,
            [first, ..] => Some([folder, std::slice::from_ref(first)].concat().join("::")),
        };
        let mut graph = Graph::default();
        for ((from, to), &line) in &self.arrows {
            if let (Some(from_name), Some(to_name)) = (name(from), name(to))
                && from_name != to_name
                && let Some(file) = self.paths.get(from)
            {
                let arrows = graph.arrows.entry(from_name).or_default();
                arrows.entry(to_name).or_insert_with(|| Arrow {
                    file: file.clone(),
                    line,
                });
            }
        }
        graph
    }
}

impl Module {
    fn of(path: &ModulePath, source: &Source) -> Self {
        let mut module = Module {
            children: source.declared_modules().into_iter().collect(),
            ..Module::default()
        };
        for named in source.paths() {
            let Place::Use { name, public: true } = &named.place else {
                continue;
            };
            let Some(target) = absolute(path, &module.children, &named) else {
                continue;
            };
            if name == "*" {
                module.globs.push(target);
            } else {
                module.passed_on.insert(name.clone(), target);
            }
        }
        module
    }
}

/// Where an arrow is made.
#[derive(Debug, Clone)]
struct Arrow {
    file: String,
    line: usize,
}

#[derive(Default)]
struct Graph {
    arrows: BTreeMap<String, BTreeMap<String, Arrow>>,
}

impl Graph {
    /// One circle a knot, however many run through it.
    fn knots(&self) -> Vec<(Vec<String>, Arrow)> {
        let mut seen = BTreeSet::new();
        let mut knots = Vec::new();
        for start in self.arrows.keys() {
            if seen.contains(start) {
                continue;
            }
            if let Some(circle) = self.shortest_circle(start) {
                let back = |module: &String| self.reachable(module).contains(start);
                seen.extend(self.reachable(start).into_iter().filter(back));
                let arrow = self.arrows[start][&circle[1]].clone();
                knots.push((circle, arrow));
            }
        }
        knots
    }

    fn next(&self, module: &str) -> impl Iterator<Item = &String> {
        self.arrows.get(module).into_iter().flat_map(BTreeMap::keys)
    }

    fn reachable(&self, start: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(module) = open.pop() {
            for next in self.next(module) {
                if reached.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        reached
    }

    /// The shortest way from a module back to itself.
    fn shortest_circle(&self, start: &str) -> Option<Vec<String>> {
        let mut ways = vec![vec![start.to_owned()]];
        let mut seen = BTreeSet::new();
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                for next in self.next(way.last()?) {
                    let mut on = way.clone();
                    on.push(next.clone());
                    if next == start {
                        return Some(on);
                    }
                    if seen.insert(next.clone()) {
                        longer.push(on);
                    }
                }
            }
            ways = longer;
        }
        None
    }
}

/// The module a file is: `src/a/b.rs` and `src/a/b/mod.rs` are `a::b`, `lib.rs` is the root.
fn module_path(one: &Crate, source: &Source) -> Option<ModulePath> {
    let inside = source
        .path
        .strip_prefix(&format!("{}/src/", one.folder))?
        .strip_suffix(".rs")?;
    let mut segments: ModulePath = inside.split('/').map(str::to_owned).collect();
    let last = segments.last().map(String::as_str);
    if last == Some("mod") || (segments.len() == 1 && matches!(last, Some("lib" | "main"))) {
        segments.pop();
    }
    Some(segments)
}

/// The path from the root of the crate, if it stays inside the crate.
fn absolute(
    module: &ModulePath,
    children: &BTreeSet<String>,
    path: &NamedPath,
) -> Option<ModulePath> {
    let mut segments = path.segments.iter();
    let mut base = match path.segments.first()?.as_str() {
        "crate" => {
            segments.next();
            Vec::new()
        }
        "self" => {
            segments.next();
            module.clone()
        }
        "super" => {
            let supers = path.segments.iter().take_while(|s| *s == "super").count();
            let up = supers.saturating_sub(path.inline_depth);
            segments.nth(supers - 1);
            module[..module.len().saturating_sub(up)].to_vec()
        }
        first if path.segments.len() > 1 && children.contains(first) => module.clone(),
        _ => return None,
    };
    base.extend(segments.cloned());
    Some(base)
}

/// The modules in which the thing at this path is defined.
fn resolve(
    target: &ModulePath,
    modules: &BTreeMap<ModulePath, Module>,
    hops: usize,
) -> Vec<ModulePath> {
    let mut at = Vec::new();
    for (i, segment) in target.iter().enumerate() {
        let Some(module) = modules.get(&at) else {
            break;
        };
        let mut deeper = at.clone();
        deeper.push(segment.clone());
        if modules.contains_key(&deeper) {
            at = deeper;
            continue;
        }
        if hops == 0 {
            break;
        }
        if segment == "*" {
            let passed = module.passed_on.values().chain(&module.globs);
            let mut all: Vec<ModulePath> = passed
                .flat_map(|path| resolve(path, modules, hops - 1))
                .collect();
            all.push(at);
            return all;
        }
        if let Some(stands_for) = module.passed_on.get(segment) {
            let mut path = stands_for.clone();
            path.extend_from_slice(&target[i + 1..]);
            return resolve(&path, modules, hops - 1);
        }
        break;
    }
    vec![at]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fixture::{a_crate, of};

    fn check_circles(files: &[(&str, &str)], expected: &[&str]) {
        let findings = check(&of(vec![a_crate("haft-core", &[], files)]));
        let found: Vec<String> = findings
            .iter()
            .map(|finding| format!("{}:{} {}", finding.file, finding.line, finding.what))
            .collect();
        assert_eq!(found, expected, "{files:?}");
    }

    const LIB: (&str, &str) = (
        "lib.rs",
        "mod a; mod b; mod c; pub use a::A; pub use b::{B, Other as Seen}; pub type Root = u8;",
    );

    #[test]
    fn a_circle_through_the_root_is_found() {
        check_circles(
            &[
                LIB,
                ("a.rs", "\nuse crate::{B, Root};"),
                ("b.rs", "use crate::A;"),
            ],
            &["crates/haft-core/src/a.rs:2 modules of `haft-core` in a circle: a -> b -> a"],
        );
        check_circles(
            &[
                LIB,
                ("a.rs", "fn f(_: crate::Seen) {}"),
                ("b.rs", "use super::a::A;"),
            ],
            &["crates/haft-core/src/a.rs:1 modules of `haft-core` in a circle: a -> b -> a"],
        );
    }

    #[test]
    fn a_circle_of_three_is_one_finding() {
        check_circles(
            &[
                LIB,
                ("a.rs", "use crate::b::B;"),
                ("b.rs", "use crate::c::C;"),
                ("c.rs", "use crate::*;"),
            ],
            &["crates/haft-core/src/a.rs:1 modules of `haft-core` in a circle: a -> b -> c -> a"],
        );
    }

    #[test]
    fn a_folder_is_one_module_from_outside() {
        check_circles(
            &[
                ("lib.rs", "mod f; mod g;"),
                ("f/mod.rs", "mod x; mod y;"),
                ("f/x.rs", "use crate::g::G;"),
                ("f/y.rs", ""),
                ("g.rs", "use crate::f::y::Y;"),
            ],
            &["crates/haft-core/src/f/x.rs:1 modules of `haft-core` in a circle: f -> g -> f"],
        );
    }

    #[test]
    fn inside_a_folder_the_files_may_not_go_in_a_circle() {
        let folder = |x| {
            [
                ("lib.rs", "mod f;"),
                (
                    "f/mod.rs",
                    "mod x; mod y; pub struct F; fn g() { x::run() }",
                ),
                ("f/x.rs", x),
                ("f/y.rs", "use super::{F, x::X};"),
            ]
        };
        check_circles(&folder("use super::F;"), &[]);
        check_circles(
            &folder("use super::y::Y;"),
            &[
                "crates/haft-core/src/f/x.rs:1 modules of `haft-core` in a circle: f::x -> f::y -> f::x",
            ],
        );
    }

    #[test]
    fn the_root_is_no_common_ground() {
        check_circles(
            &[
                ("lib.rs", "mod a; pub struct R; fn g() { a::run() }"),
                ("a.rs", "use crate::R;"),
            ],
            &["crates/haft-core/src/a.rs:1 modules of `haft-core` in a circle: a -> lib.rs -> a"],
        );
    }

    #[test]
    fn passing_on_and_tests_make_no_circle() {
        check_circles(
            &[
                LIB,
                ("a.rs", "use crate::{B, Root}; mod inner { use super::A; }"),
                ("b.rs", "#[cfg(test)] mod tests { use crate::A; }"),
                ("c.rs", "use crate::{A, B};"),
            ],
            &[],
        );
        check_circles(
            &[
                ("lib.rs", "mod f;"),
                ("f/mod.rs", "mod x; pub use x::X; pub struct F;"),
                ("f/x.rs", "use super::F; pub struct X;"),
            ],
            &[],
        );
    }
}
