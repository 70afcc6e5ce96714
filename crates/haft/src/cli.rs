//! The command line: one struct a command, whose doc comments are the help.

// Long because every command and flag is listed here, one after the other.

mod mcp;
mod secret;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, FromArgMatches, Parser, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use haft_policy::Autonomy;
use haft_runtime::{PromptStyle, Shape};

use crate::completing::{agents, levels, profiles, providers, tool_names};

pub(crate) use mcp::{Mcp, McpAction, McpAdd};
pub(crate) use secret::{Secret, SecretAction};

/// The handle between a model and its tools.
///
/// haft lists and finds tools, decides who may call what, asks a person where it must, runs calls
/// under deadlines and budgets, and keeps results small and safe.
#[derive(Debug, Parser)]
#[command(name = "haft", version = version(), arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// What was typed. The one command that is typed most is looked for alone: to put all others
    /// together first takes longer than to find a word in ten thousand files. What is not understood
    /// that way is told, as help is, by all of them.
    pub(crate) fn typed() -> Cli {
        match Call::alone(std::env::args_os()) {
            Some(call) => Cli {
                command: Command::Call(call),
            },
            None => Cli::parse(),
        }
    }
}

fn version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("HAFT_COMMIT"), ")")
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List tools, or look at one
    Tools(Tools),
    /// List skills, or trust one of the project
    Skills(Skills),
    /// Call a tool
    Call(Call),
    /// Make many calls at once
    Batch(Batch),
    /// Serve haft's tools to an MCP client
    Mcp(Mcp),
    /// Keep values that MCP servers need and nobody should read
    Secret(Secret),
    /// Put back what a call changed in files
    Undo(Undo),
    /// See what policy says, and what it remembers
    Policy(Policy),
    /// See and check the config
    Config(Config),
    /// Trust this workspace's haft.yaml and .mcp.json
    Trust(Trust),
    /// Print a script that completes commands and tool names
    Completions(Completions),
    /// Say what works here and which rules are in force
    Doctor(Doctor),
    /// See what was called, and prove that the record is whole
    Journal(Journal),
    /// Make the reading calls of a session again, and see what differs
    Replay(Replay),
    /// Read, export, import and edit notes
    Memory(Memory),
    /// Figures of what was called
    Stats(Stats),
    /// Remove what is kept beyond the limits of the config
    Gc(Gc),
    /// Copy what lasts to a file
    ///
    /// The copy holds the database: the journal, notes, rules answered with "always". Whole results
    /// and what undo puts back (`blobs`), `journal.key`, the config and secrets are not in it.
    Backup(Backup),
    /// Put a copy back
    ///
    /// Where haft's home has no `journal.key`, a new one is made, and what the copy says is taken
    /// over unproven.
    Restore(Restore),
}

/// Who calls, and from where.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct Seat {
    /// Policy profile: minimal, messaging, coding, full, or your own
    #[arg(long, value_name = "P", help_heading = "Caller", add = ArgValueCompleter::new(profiles))]
    pub(crate) profile: Option<String>,
    /// Agent in whose name the call is made
    #[arg(long, value_name = "A", help_heading = "Caller", add = ArgValueCompleter::new(agents))]
    pub(crate) agent: Option<String>,
    /// Provider whose model makes the call
    #[arg(long, value_name = "P", help_heading = "Caller", add = ArgValueCompleter::new(providers))]
    pub(crate) provider: Option<String>,
    /// How much is asked: supervised, standard, autonomous
    #[arg(long, value_name = "L", help_heading = "Caller", add = ArgValueCompleter::new(levels))]
    pub(crate) autonomy: Option<Autonomy>,
    /// Folder that tools work in [default: the current one]
    #[arg(long, value_name = "DIR", help_heading = "Caller")]
    pub(crate) workspace: Option<PathBuf>,
    /// Session the call belongs to [default: one for each workspace]
    #[arg(long, value_name = "S", help_heading = "Caller")]
    pub(crate) session: Option<String>,
}

/// How calls are made.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Manner {
    /// Print outcomes as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Say what would happen, run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Answer every question with yes; what is denied stays denied
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Characters that results may take together
    #[arg(long, value_name = "CHARS")]
    pub(crate) budget: Option<usize>,
    /// Milliseconds after which a call is ended
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: Option<u64>,
    #[command(flatten)]
    pub(crate) seat: Seat,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Tools {
    #[command(subcommand)]
    pub(crate) action: Option<ToolsAction>,
    /// Print an array of tools as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) seat: Seat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsAction {
    /// Show everything about one tool
    Show {
        /// Any name the tool answers to
        #[arg(add = ArgValueCompleter::new(tool_names))]
        name: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        seat: Seat,
    },
    /// Find tools by a sentence in any language
    Search {
        /// What you want to do, or a name
        query: String,
        /// How many tools to show
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
        limit: u16,
        /// Print {results, nothing_fits, categories} as JSON
        #[arg(long)]
        json: bool,
        /// Show what each score is made of, and the nearest tools even where none fits
        #[arg(long)]
        explain: bool,
        /// Say why this tool is not among them: denied, unavailable, or its rank
        #[arg(long, value_name = "TOOL", add = ArgValueCompleter::new(tool_names))]
        why: Option<String>,
        #[command(flatten)]
        seat: Seat,
    },
    /// Say how much of the tools a model with this context window is shown
    Inject {
        /// Tokens of the model's context [default: as the config says, or 8000]
        #[arg(long, value_name = "N")]
        context_window: Option<u64>,
        /// Print {mode, budget, tool_tokens, compact_tokens, tools} as JSON
        #[arg(long)]
        json: bool,
        /// Print the definitions themselves, as this provider takes them
        #[arg(long, value_name = "SHAPE", conflicts_with = "json")]
        definitions: Option<ShapeName>,
        #[command(flatten)]
        seat: Seat,
    },
    /// Print what a model's system prompt says about its tools
    Prompt {
        /// native: the provider takes definitions; text: they stand in the prompt
        #[arg(long, value_name = "native|text", default_value = "native")]
        mode: PromptMode,
        /// Tokens of the model's context [default: as the config says, or 8000]
        #[arg(long, value_name = "N")]
        context_window: Option<u64>,
        #[command(flatten)]
        seat: Seat,
    },
    /// List the groups that tools come in
    Categories {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        seat: Seat,
    },
    /// Print the schemas of a module's tools as JSON
    Schema {
        /// Module, as in `haft tools`
        module: String,
        #[command(flatten)]
        seat: Seat,
    },
}

/// How a provider takes tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PromptMode {
    Native,
    Text,
}

impl From<PromptMode> for PromptStyle {
    fn from(mode: PromptMode) -> PromptStyle {
        match mode {
            PromptMode::Native => PromptStyle::Native,
            PromptMode::Text => PromptStyle::Text,
        }
    }
}

/// The shapes that definitions come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ShapeName {
    Anthropic,
    Openai,
    Mcp,
}

impl From<ShapeName> for Shape {
    fn from(name: ShapeName) -> Shape {
        match name {
            ShapeName::Anthropic => Shape::Anthropic,
            ShapeName::Openai => Shape::OpenAi,
            ShapeName::Mcp => Shape::Mcp,
        }
    }
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Skills {
    #[command(subcommand)]
    pub(crate) action: Option<SkillsAction>,
    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) seat: Seat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsAction {
    /// Look at a skill of the project and vouch for exactly what its folder holds
    Trust {
        /// Its name, as listed
        name: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        seat: Seat,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    /// Any name the tool answers to
    #[arg(add = ArgValueCompleter::new(tool_names))]
    pub(crate) name: String,
    /// Arguments as JSON, `@file` to read them from a file, `-` from standard input
    #[arg(value_name = "JSON | @FILE | -")]
    pub(crate) args: Option<String>,
    /// Set one argument; a value that is JSON is taken as such, unless the tool wants text
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Name of this piece of work: under the same key it is done once, also after a crash; one that failed may be tried again
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

impl Call {
    fn alone(words: impl IntoIterator<Item = OsString>) -> Option<Call> {
        const NAME: &str = "call";
        let mut words = words.into_iter().skip(1);
        let name = words.next().filter(|word| word == NAME)?;
        let known = Call::augment_args(clap::Command::new(NAME));
        let found = known.try_get_matches_from(std::iter::once(name).chain(words));
        Call::from_arg_matches(&found.ok()?).ok()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Batch {
    /// File with an array of {id, name, args, key}; `-` or nothing for standard input
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// Call to undo, by its id [default: the last one that changed files in the workspace]
    #[arg(conflicts_with_all = ["whole_session", "list"])]
    pub(crate) call: Option<String>,
    /// Undo everything that the session has changed
    #[arg(long, conflicts_with = "list")]
    pub(crate) whole_session: bool,
    /// Undo nothing, list the last calls that changed files
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

#[derive(Debug, Args)]
pub(crate) struct Policy {
    #[command(subcommand)]
    pub(crate) action: PolicyAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyAction {
    /// Say whether a call would be allowed, asked about or denied, and by which rules
    Explain {
        /// Any name the tool answers to
        #[arg(add = ArgValueCompleter::new(tool_names))]
        tool: String,
        /// Arguments as JSON, `@file` or `-`
        #[arg(value_name = "JSON | @FILE | -")]
        args: Option<String>,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        seat: Seat,
    },
    /// Judge recorded calls again by a draft: what would change, and which rules would spare
    /// questions
    Backtest {
        /// The draft: a config file that would take the place of yours
        #[arg(long, value_name = "FILE")]
        policy: PathBuf,
        /// Calls since then: `30m`, `2h`, `7d`, a date, or RFC 3339
        #[arg(long, value_name = "T")]
        since: Option<String>,
        /// Print it as JSON, with every change
        #[arg(long)]
        json: bool,
    },
    /// Allow a rule for good in this workspace, as answering "always" does
    Allow {
        /// The rule as a question shows it: `shell.exec(npm test)`
        rule: String,
        /// Folder whose rule is meant [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// List the rules that "always" has stored, or revoke one
    Rules {
        #[command(subcommand)]
        action: Option<RulesAction>,
        /// Print them as JSON
        #[arg(long)]
        json: bool,
        /// Folder whose rules are meant [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesAction {
    /// Forget a rule
    Revoke {
        /// Its id or its text, as listed
        rule: String,
        /// Folder whose rule is meant [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) action: ConfigAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Print the config in force
    Show {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
        /// Folder whose haft.yaml counts [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Say whether the config files are good
    Check {
        /// Folder whose haft.yaml counts [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Print where config files are looked for
    Path {
        /// Folder whose haft.yaml counts [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Print the JSON Schema of the config, for editors
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Stop trusting them
    #[arg(long)]
    pub(crate) revoke: bool,
    /// Folder whose files are meant [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// bash, elvish, fish, powershell or zsh
    pub(crate) shell: String,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) seat: Seat,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Journal {
    #[command(subcommand)]
    pub(crate) action: Option<JournalAction>,
    /// Calls of this tool only; `*` stands for anything
    #[arg(long, value_name = "P")]
    pub(crate) tool: Option<String>,
    /// Calls of this session only
    #[arg(long, value_name = "S")]
    pub(crate) session: Option<String>,
    /// Calls since then: `30m`, `2h`, `7d`, a date, or RFC 3339
    #[arg(long, value_name = "T")]
    pub(crate) since: Option<String>,
    /// The newest so many [default: 50]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Go on as calls are made
    #[arg(long)]
    pub(crate) follow: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JournalAction {
    /// Show everything about one call, as JSON
    Show {
        /// Its id, or the number of its record
        call: String,
    },
    /// Prove that no record was changed, dropped, moved or cut off
    Verify {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Go on from a journal that is not what was signed; what came before stays unproven
    Accept {
        /// Why, for the record
        #[arg(long, default_value = "the owner looked at it")]
        reason: String,
    },
    /// List calls of which nobody knows whether they happened, or say what became of one
    Settle {
        /// Its id, or the number of its record
        call: Option<String>,
        /// It happened
        #[arg(long, requires = "call")]
        happened: bool,
        /// It did not happen
        #[arg(long, requires = "call", conflicts_with = "happened")]
        did_not: bool,
        /// Let tools tell, and make again what may be made again
        #[arg(long, conflicts_with_all = ["happened", "did_not"])]
        retry: bool,
        /// Answer every question of a retry with yes
        #[arg(long, short, requires = "retry")]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The session, as `haft journal` tells it
    pub(crate) session: String,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Memory {
    #[command(subcommand)]
    pub(crate) action: MemoryAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryAction {
    /// List every note
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write every note as Markdown
    Export {
        /// File to write [default: standard output]
        file: Option<PathBuf>,
    },
    /// Add the notes of a Markdown file; what is there already is left as it is
    Import {
        /// As `haft memory export` writes it, or any text of your own
        file: PathBuf,
    },
    /// Change the notes of a namespace in your editor
    Edit {
        /// Which namespace
        #[arg(default_value = "knowledge")]
        namespace: String,
        /// Whose: user or project
        #[arg(long, default_value = "project")]
        scope: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Calls since then: `30m`, `2h`, `7d`, a date, or RFC 3339
    #[arg(long, value_name = "T")]
    pub(crate) since: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Say what would go, remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// File to make; it must not be there yet
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// Copy to put back; what is there now is kept beside it
    pub(crate) file: PathBuf,
    /// Take over a copy that this home has not signed; what it says stays unproven
    #[arg(long)]
    pub(crate) unproven: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call means the same to whoever knows no other command, and what it does not understand is
    /// left to those who do.
    #[test]
    fn a_call_is_understood_alone_as_among_all_commands() {
        let words = |line: &str| -> Vec<OsString> {
            let line = std::iter::once("haft").chain(line.split(' '));
            line.map(OsString::from).collect()
        };
        for line in [
            "call file.read",
            "call file.read {\"path\":\"x\"} --json --yes",
            "call -y -- file.read -",
            "call file.read --set path=x --set limit=3 --key k --budget 9 --timeout 5",
            "call --profile=p --agent a --provider b --autonomy standard --workspace / --session s x",
            "call help",
        ] {
            let alone = Call::alone(words(line)).map(Command::Call);
            let among_all = Cli::try_parse_from(words(line)).map(|cli| cli.command);
            assert_eq!(
                format!("{:?}", alone.unwrap()),
                format!("{:?}", among_all.unwrap()),
                "{line}"
            );
        }
        for line in [
            "call",
            "call --help",
            "call -h",
            "call x --nonsense",
            "call x {} y",
            "call x --timeout 0",
            "call x --autonomy much",
            "help call",
            "calls x",
            "tools",
            "",
        ] {
            assert!(Call::alone(words(line)).is_none(), "{line}");
            let help = line.contains("-h") || line.starts_with("help") || line == "tools";
            assert!(help || Cli::try_parse_from(words(line)).is_err(), "{line}");
        }
    }
}
