//! The only crate that touches the machine. Each power here is a handle that a tool may hold;
//! what is not behind a power cannot be reached by a tool at all.

mod blocking;
mod browser;
mod editor;
mod env;
mod files;
mod git;
mod listen;
mod own_environment;
mod place;
mod process;
mod results;
mod retention;
mod sandbox;
mod search;
mod skills;
mod stdio;
mod system;
mod trial;
mod undo;
mod watch;
mod web;
mod workers;

pub use browser::open_page;
pub use editor::edit_text;
pub use env::{EnvPolicy, filter_env, loads_code, looks_secret};
pub use files::{
    Before, ChangeFiles, EditFiles, Entry, EntryKind, FileChange, FilesConfig, Large, Like,
    LineRange, ListFiles, ListRequest, Listing, NewMode, OpenPaths, ReadFiles, Reading, RealPaths,
    Resolved, Snapshot, SnapshotStamp, UndoFiles, Workspace, WriteFiles, holds_secrets,
    is_protected,
};
pub use git::{DiffRequest, GIT_OUTPUT, GitDiff, GitStatus, ReadGit};
pub use listen::{Listener, listen};
pub use own_environment::hide_environment;
pub use place::{Change, Kind, State, Verb};
pub use process::{
    CALL_VARIABLE, CUT_NOTE, Finished, LONGEST_TIMEOUT, Log, LoginConfig, OUTPUT_CHARS,
    ProcessConfig, Program, RunProcesses, Session, SessionEnd, SessionRequest, ShellRequest,
    TAIL_CHARS, TerminalSize, Wanted, Watch, count_chars, guardian_main, session_main, settle,
    signal_name,
};
pub use process::{Complaints, Partner, PartnerProgram};
pub use results::{Attachments, FileResults, KeptResults, ResultWriter};
pub use retention::{Amount, Retention, tidy_is_due};
pub use sandbox::{
    ClosedPlaces, Enclosed, Feature, Input, Isolation, Level, Limits, Report, Sandbox, Weaker,
    lacking, launcher_main, probe,
};
pub use search::{
    Case, FileMatches, FilesFound, FindFiles, GlobPlan, Kept, Match, Notes, Outlet, SearchText,
    Telling, TextFound, TextQuery,
};
pub use skills::{SkillFolder, find_skills, has_program, read_skill_file, skill_digest};
pub use stdio::{Reader, Writer, read_silently, standard_streams};
pub use system::{ReadSystem, SystemInfo};
pub use trial::Trial;
pub use undo::{Back, Checkpoints, Lost, Mark, Summary, UndoConfig, UndoPlan, Which};
pub use watch::watched_main;
pub use web::{Callback, Follow, Reach, Web, WebBody, WebError, WebRequest};
pub use workers::{Workers, WorkersConfig, worker_main};
/// The types that the HTTP client speaks in.
pub use {bytes, http};
