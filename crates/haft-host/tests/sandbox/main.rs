//! Sandboxed commands against real attacks, as root and as a normal user. The same program plays
//! all the parts: with `launch …` it is the launcher, with `attack NAME` it is the attacker
//! inside, with `own` a haft that is to be killed, with `suite` the test, else it starts the suite for each kind of user.

#![allow(clippy::unwrap_used)]

mod calls;
mod closed;
mod fixture;
mod lifetimes;
mod lines;
mod terminals;
mod trials;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The user nobody, of whom every system has one.
const NOBODY: u32 = 65_534;

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|word| word.to_str()) {
        Some("launch") => haft_host::launcher_main(arguments.into_iter().skip(1)),
        Some("attack") => calls::attack(arguments[1].to_str().unwrap()),
        Some("own") => lifetimes::own(),
        Some("suite") => suite(),
        // The flags that `cargo test` passes on choose among tests; here all run or none.
        _ if arguments.iter().any(|word| word == "--list") => {}
        _ => everyone(),
    }
}

fn everyone() {
    let exe = std::env::current_exe().unwrap();
    let run = |command: &mut Command, who: &str| {
        let status = command.arg("suite").status().unwrap();
        assert!(status.success(), "the suite as {who}: {status}");
    };
    run(&mut Command::new(&exe), "this user");
    if rustix::process::geteuid().is_root() {
        // A copy that nobody can reach, wherever the build is.
        let dir = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .tempdir_in(fixture::open_place())
            .unwrap();
        let copy = dir.path().join("sandbox-test");
        std::fs::copy(&exe, &copy).unwrap();
        std::os::unix::fs::chown(&copy, Some(NOBODY), Some(NOBODY)).unwrap();
        run(
            Command::new(&copy)
                .uid(NOBODY)
                .gid(NOBODY)
                .env("HAFT_TEST_PLACE", fixture::place_for(NOBODY, dir.path())),
            "nobody",
        );
    }
}

fn suite() {
    let who = rustix::process::geteuid().as_raw();
    lines::ordinary_work_is_possible();
    lifetimes::a_command_is_asked_to_end_before_it_is_made_to();
    lifetimes::a_signal_while_the_sandbox_starts_reaches_the_command();
    lifetimes::a_command_that_has_ended_is_not_stopped();
    lifetimes::nothing_outlives_haft();
    let shell = lines::attacks_fail();
    let calls = calls::attacks_fail();
    let rules = closed::attacks_fail();
    calls::limits_hold();
    lines::placeholders_come_and_go();
    lines::git_works();
    lines::a_clone_fills_the_workspace();
    lines::a_new_repository_runs_nothing();
    lines::a_home_is_out_of_sight();
    lines::a_home_as_workspace_keeps_its_start_up_files();
    lines::an_air_gapped_command_sees_no_data();
    lines::what_is_missing_refuses();
    terminals::a_session_can_be_typed_to();
    trials::a_commit_is_what_the_line_would_have_done();
    trials::deleting_everything_names_every_file();
    trials::ids_are_bound_and_good_once();
    trials::a_repository_can_be_tried_out();
    trials::a_trial_is_no_way_out();
    trials::a_commit_follows_no_link();
    trials::a_change_while_it_ran_is_a_conflict();
    trials::where_it_cannot_be_done_it_is_said();
    println!(
        "sandbox as user {who}: {} attacks, 0 succeeded",
        shell + calls + rules
    );
}
