//! `haft doctor`: what works here, and which rules are in force.

use anyhow::Result;
use haft_core::Backend;
use haft_host::{Isolation, lacking, probe};
use serde::Serialize;

use crate::cli;
use crate::remembered::Rules;
use crate::terminal::{ask, fail, print, show, table};
use crate::wiring::{self, House, Wants};

#[derive(Serialize)]
struct Report {
    version: String,
    home: String,
    workspace: String,
    session: String,
    config: Vec<File>,
    backends: Vec<Found>,
    isolation: Confined,
    login: String,
    /// None where haft does everything itself
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<Pool>,
    tools: usize,
    quarantined: Vec<haft_runtime::Quarantined>,
    /// Someone can be asked
    person: bool,
    rules: Vec<haft_policy::RuleHit>,
    remembered: usize,
    notices: Vec<String>,
}

#[derive(Serialize)]
struct File {
    path: String,
    trusted: bool,
}

#[derive(Serialize)]
struct Found {
    backend: &'static str,
    there: bool,
}

/// How far commands are shut in, and whether this machine can.
#[derive(Serialize)]
struct Confined {
    level: &'static str,
    /// Weaker modes that the owner chose
    without: Vec<haft_host::Weaker>,
    /// Commands can run at this level
    possible: bool,
    kernel: Vec<Offered>,
}

/// The workers that commands and files are left to.
#[derive(Serialize)]
struct Pool {
    count: usize,
    memory_mb: u64,
    /// Why none can be started, if so
    trouble: Option<String>,
}

#[derive(Serialize)]
struct Offered {
    name: String,
    there: bool,
    why: String,
    /// Commands are refused while it is missing
    needed: bool,
}

pub(crate) fn run(command: cli::Doctor) -> Result<u8> {
    let house = House::open(&command.seat, Wants::default())?;
    let report = report(&house, login(&house)?, pool(&house)?);
    if command.json {
        show::json(&report)?;
    } else {
        print(&report);
    }
    Ok(0)
}

fn report(house: &House, login: String, workers: Option<Pool>) -> Report {
    let caller = house.session.caller();
    let snapshot = house.runtime.registry().snapshot();
    let loaded = &house.loaded;
    Report {
        version: format!("{} ({})", env!("CARGO_PKG_VERSION"), env!("HAFT_COMMIT")),
        home: house.home.path().display().to_string(),
        workspace: loaded.workspace.display().to_string(),
        session: caller.session.to_string(),
        config: loaded
            .files
            .iter()
            .map(|file| File {
                path: file.path.display().to_string(),
                trusted: file.trusted,
            })
            .collect(),
        backends: Backend::ALL
            .iter()
            .map(|&backend| Found {
                backend: backend.id(),
                there: caller.powers.has(backend),
            })
            .collect(),
        login,
        workers,
        isolation: confined(&loaded.effective.isolation.holds()),
        tools: snapshot.entries().len(),
        quarantined: snapshot.quarantined().to_vec(),
        person: ask::someone_is_there(),
        rules: house.runtime.policy().rules_in_force(&house.who),
        remembered: Rules::read(&house.home).of(&loaded.workspace).len(),
        notices: loaded.notices.clone(),
    }
}

/// Where the environment of commands comes from.
fn login(house: &House) -> Result<String> {
    if house.processes.config().login.is_none() {
        return Ok("no: commands have the environment of haft (shell.login)".to_owned());
    }
    let trouble = engine()?.block_on(house.processes.login_trouble());
    let shell = house.processes.shell().display();
    Ok(match trouble {
        None => format!("commands have the environment of `{shell} -l`"),
        Some(trouble) => format!("the environment of `{shell} -l` cannot be read: {trouble}"),
    })
}

/// The workers, if there are to be any; one is started to see whether that works.
fn pool(house: &House) -> Result<Option<Pool>> {
    let Some(workers) = house.processes.workers() else {
        return Ok(None);
    };
    Ok(Some(Pool {
        count: workers.config().count,
        memory_mb: workers.config().memory >> 20,
        trouble: engine()?.block_on(workers.trouble()),
    }))
}

fn engine() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

fn confined(isolation: &Isolation) -> Confined {
    let features = probe(&wiring::ourselves(wiring::LAUNCHER).unwrap_or_default());
    let lacking = lacking(isolation, &features);
    let needed = |name: &str| lacking.iter().any(|one| one.name == name);
    Confined {
        level: isolation.level.as_str(),
        without: isolation.without.clone(),
        possible: lacking.is_empty(),
        kernel: features
            .iter()
            .map(|feature| Offered {
                needed: needed(&feature.name),
                name: feature.name.clone(),
                there: feature.there,
                why: feature.why.clone(),
            })
            .collect(),
    }
}

/// The rows on what commands are kept to.
fn confinement(confined: &Confined) -> Vec<(&'static str, String)> {
    let meaning = match confined.level {
        "shared" => "commands run with your rights (isolation.level)",
        "scoped" => "commands run with your rights, and see only their own runs",
        "air-gapped" => "commands see no data and no network",
        _ => "commands write the workspace only, and have no network",
    };
    let mut level = format!("{}: {meaning}", confined.level);
    for mode in &confined.without {
        let name = serde_json::to_value(mode).unwrap_or_default();
        level.push_str(&format!(", {}", name.as_str().unwrap_or_default()));
    }
    let mut rows = vec![("isolation", level)];
    if !confined.possible {
        let refused = "not possible on this machine, so every command is refused: choose a \
                       weaker `isolation.level`, or `isolation.without`";
        rows.push(("isolation", refused.to_owned()));
    }
    for offered in &confined.kernel {
        let there = if offered.there { "yes" } else { "no" };
        let why = match offered.why.as_str() {
            "" => String::new(),
            why => format!(" ({why})"),
        };
        let needed = if offered.needed { ", and needed" } else { "" };
        rows.push(("kernel", format!("{} {there}{why}{needed}", offered.name)));
    }
    rows
}

fn print(report: &Report) {
    fail::notices(&report.notices);
    let mut facts = vec![
        ("version", report.version.clone()),
        ("home", report.home.clone()),
        ("workspace", report.workspace.clone()),
        ("session", report.session.clone()),
    ];
    for file in &report.config {
        let standing = if file.trusted {
            ""
        } else {
            " (not trusted: can only narrow)"
        };
        facts.push(("config", format!("{}{standing}", file.path)));
    }
    if report.config.is_empty() {
        let none = "none: defaults are in force (haft config path)";
        facts.push(("config", none.to_owned()));
    }
    let backends: Vec<String> = report
        .backends
        .iter()
        .map(|found| {
            format!(
                "{} {}",
                found.backend,
                if found.there { "yes" } else { "no" }
            )
        })
        .collect();
    facts.push(("backends", backends.join(", ")));
    facts.push(("tools", report.tools.to_string()));
    if report.quarantined.is_empty() {
        facts.push(("quarantined", "none".to_owned()));
    }
    for bad in &report.quarantined {
        facts.push(("quarantined", format!("{}: {}", bad.name, bad.reason)));
    }
    let person = if report.person {
        "asked on this terminal"
    } else {
        "nobody: what asks is refused"
    };
    facts.push(("questions", person.to_owned()));
    facts.push(("login", report.login.clone()));
    if let Some(pool) = &report.workers {
        let mut told = format!("{} at most, {} MB each", pool.count, pool.memory_mb);
        if let Some(trouble) = &pool.trouble {
            told = format!("{told}: none can be started: {trouble}");
        }
        facts.push(("workers", told));
    }
    facts.extend(confinement(&report.isolation));
    facts.push((
        "remembered",
        format!("rules: {} (haft policy rules)", report.remembered),
    ));
    table::print(
        &["", ""],
        facts
            .into_iter()
            .map(|(key, value)| vec![key.to_owned(), value]),
    );
    print::line(&format!("\n{}", print::bold("rules in force")));
    let rows = report
        .rules
        .iter()
        .map(|hit| vec![hit.effect.clone(), hit.rule.clone(), hit.from.clone()]);
    table::print(&["effect", "rule", "from"], rows);
}
