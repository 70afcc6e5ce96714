//! What a command line runs, as far as policy must know: strict for allowing, generous for
//! denying. Only plain words can be allowed by rule, so everything else is marked not plain; but
//! every command that can be seen anywhere in the line, however wrapped, is listed, so that a
//! denied program is found.

mod expand;
mod opened;
mod options;
mod scan;
mod unwrap;
mod wrappers;

use haft_core::CommandLine;

pub(crate) use options::{flags, has_letter, has_long, is_long, letters};
pub(crate) use unwrap::base;
pub(crate) use wrappers::{is_interpreter, is_shell, is_wrapper, takes_commands};

/// Longest line that is looked at, in bytes.
pub const MAX_LINE: usize = 64 * 1024;
/// Most commands in one line, those inside wrappers counted.
pub const MAX_COMMANDS: usize = 256;
/// Deepest nesting of substitutions, subshells and wrappers.
pub const MAX_DEPTH: usize = 32;

/// A command line as policy sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// Every simple command seen, in order of their end
    pub commands: Vec<Command>,
    /// Why it is more than plain words, if so
    pub not_plain: Option<NotPlain>,
    /// Which limit of the analysis it is over, if any
    pub over: Option<&'static str>,
    /// A function of it starts itself twice
    pub(crate) bomb: bool,
    /// Texts fed to standard input: here-documents and here-strings
    pub(crate) stdin: Vec<String>,
}

/// The first thing in a line that plain words do not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotPlain {
    /// Byte offset in the line
    pub offset: usize,
    pub why: &'static str,
}

/// One program with its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// Its input is the output of the command before
    pub piped: bool,
    /// What it runs in turn, if it is a wrapper
    pub inner: Vec<Command>,
}

/// One word, quotes removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// What it says; expansions stand as written
    pub text: String,
    /// What it says without its expansions
    pub stripped: String,
    /// Nothing in it is expanded: the program gets exactly `text`, unless it is a glob
    pub exact: bool,
    /// Holds an unquoted `*`, `?` or `[`
    pub glob: bool,
    /// Some of it was quoted or escaped
    pub quoted: bool,
    /// Holds braces that the shell opens into several words
    pub(crate) braces: bool,
}

/// A file that the shell opens for a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    pub write: bool,
    pub target: Word,
}

impl Word {
    pub fn literal(text: &str) -> Self {
        Word {
            text: text.to_owned(),
            stripped: text.to_owned(),
            exact: true,
            glob: false,
            quoted: false,
            braces: false,
        }
    }
}

impl Command {
    pub fn of_argv(argv: &[String]) -> Self {
        Command {
            words: argv.iter().map(|word| Word::literal(word)).collect(),
            ..Command::default()
        }
    }

    /// The command for a message: its words, cut short, with nothing invisible in them.
    pub fn shown(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        let line = words.join(" ");
        let mut shown: String = line
            .chars()
            .take(80)
            .map(|c| if is_invisible(c) { '\u{fffd}' } else { c })
            .collect();
        if line.chars().count() > 80 {
            shown.push('…');
        }
        shown
    }

    /// This command and everything it wraps.
    pub fn all(&self) -> Vec<&Command> {
        let mut all = vec![self];
        all.extend(self.inner.iter().flat_map(Command::all));
        all
    }
}

/// Look at a line for a shell.
pub fn parse(line: &str) -> Script {
    if line.len() > MAX_LINE {
        return Script {
            over: Some("the line is longer than 64 KB"),
            ..Script::default()
        };
    }
    let mut script = scan::scan(line, 0);
    unwrap::unwrap_all(&mut script, 0);
    script
}

/// Look at a command as an effect states it.
pub(crate) fn script(command: &CommandLine) -> Script {
    match command {
        CommandLine::Shell { line, .. } => parse(line),
        CommandLine::Argv { argv, .. } => parse_argv(argv),
    }
}

/// Look at a program and its arguments, with no shell between.
pub fn parse_argv(argv: &[String]) -> Script {
    if argv.iter().map(String::len).sum::<usize>() > MAX_LINE {
        return Script {
            over: Some("the arguments are longer than 64 KB"),
            ..Script::default()
        };
    }
    let mut script = Script {
        commands: vec![Command::of_argv(argv)],
        ..Script::default()
    };
    unwrap::unwrap_all(&mut script, 0);
    script
}

/// Characters that a person would not see, or see in another place than they stand.
pub(crate) fn is_invisible(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || (c.is_whitespace() && !c.is_ascii())
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}
