//! A regex made ready for whole buffers. A search is told line by line, but run over a whole file
//! at once: the pattern is changed so that it cannot reach over a line end, or only a text that
//! every match must hold is looked for and the regex asked about those lines alone. Where neither
//! is exact, the regex as given has the last word on each line.

use haft_core::ToolError;
use memchr::memmem;
use regex_automata::meta;
use regex_automata::util::syntax;
use regex_syntax::ast::{self, Ast, Visitor};
use regex_syntax::hir::{self, Hir, HirKind, Look};

use super::hint::Required;

/// How upper and lower case are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Case {
    #[default]
    Sensitive,
    Insensitive,
    /// Sensitive if the pattern holds an upper case letter
    Smart,
}

/// A pattern, compiled once and shared by all threads of a search.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) way: Way,
    /// The regex as given, for one line without its end, or for a whole file across lines
    pub(super) plain: Option<meta::Regex>,
}

/// How lines worth telling are found in a buffer.
#[derive(Debug)]
pub(super) enum Way {
    /// The pattern is a plain text
    Literal(Box<memmem::Finder<'static>>),
    /// Every match holds this text; `plain` judges the line
    Holding(Required),
    /// The regex, kept from reaching over line ends
    Scan {
        regex: meta::Regex,
        /// It may match the `\r` of a line end, so `plain` judges the line
        judged: bool,
        /// It asks for the end of a line, which lies before `\r\n`: files with `\r` go line by line
        ends: bool,
        /// It asks where words end, which the quick engines cannot tell beyond ASCII: files with
        /// other letters go line by line
        words: bool,
    },
    /// `plain` judges each line
    EachLine,
    /// Matches may span lines
    Across,
}

impl Pattern {
    pub(super) fn new(pattern: &str, case: Case, multiline: bool) -> Result<Self, ToolError> {
        let insensitive = match case {
            Case::Sensitive => false,
            Case::Insensitive => true,
            Case::Smart => !has_upper_case(pattern),
        };
        let config = syntax::Config::new()
            .case_insensitive(insensitive)
            .multi_line(multiline);
        let hir = syntax::parse_with(pattern, &config)
            .map_err(|error| invalid(pattern, &error.to_string()))?;
        if multiline {
            return Ok(Pattern {
                way: Way::Across,
                plain: Some(compile(&hir, pattern)?),
            });
        }
        let mut lined = Lined::default();
        let within = lined.keep_within(&hir);
        if lined.line_feed {
            return Err(ToolError::input_invalid(format!(
                "pattern asks for a line end, which no line holds: `{pattern}`"
            ))
            .hint("set `multiline: true` to match across lines"));
        }
        if let HirKind::Literal(literal) = within.kind()
            && !lined.carriage_return
        {
            return Ok(Pattern {
                way: Way::Literal(Box::new(memmem::Finder::new(&literal.0).into_owned())),
                plain: None,
            });
        }
        if let Some(required) = Required::of(&within) {
            return Ok(Pattern {
                way: Way::Holding(required),
                plain: Some(compile(&hir, pattern)?),
            });
        }
        let way = if lined.crlf_anchor {
            Way::EachLine
        } else {
            Way::Scan {
                regex: compile(&within, pattern)?,
                judged: lined.carriage_return,
                ends: lined.end,
                words: lined.words,
            }
        };
        let exact = matches!(
            way,
            Way::Scan {
                judged: false,
                ends: false,
                words: false,
                ..
            }
        );
        let plain = match exact {
            true => None,
            false => Some(compile(&hir, pattern)?),
        };
        Ok(Pattern { way, plain })
    }
}

fn compile(hir: &Hir, pattern: &str) -> Result<meta::Regex, ToolError> {
    let config = meta::Config::new()
        .utf8_empty(false)
        .which_captures(regex_automata::nfa::thompson::WhichCaptures::Implicit)
        .nfa_size_limit(Some(10 << 20));
    meta::Regex::builder()
        .configure(config)
        .build_from_hir(hir)
        .map_err(|error| invalid(pattern, &error.to_string()))
}

/// The parser draws the place into several lines; the last one names the fault.
fn invalid(pattern: &str, error: &str) -> ToolError {
    let fault = error.lines().last().unwrap_or_default();
    let fault = fault.strip_prefix("error: ").unwrap_or(fault);
    ToolError::input_invalid(format!("invalid regex: `{pattern}`: {fault}")).hint(
        "the syntax is that of Rust's regex crate; put `\\` before a sign that is meant as itself",
    )
}

/// What was met while a pattern was kept within lines.
#[derive(Default)]
struct Lined {
    line_feed: bool,
    carriage_return: bool,
    end: bool,
    crlf_anchor: bool,
    words: bool,
}

impl Lined {
    /// The same pattern for a buffer of many lines: no class matches a line feed, and the ends of
    /// the text become the ends of a line.
    fn keep_within(&mut self, hir: &Hir) -> Hir {
        match hir.kind() {
            HirKind::Empty => Hir::empty(),
            HirKind::Literal(hir::Literal(bytes)) => {
                self.line_feed |= bytes.contains(&b'\n');
                self.carriage_return |= bytes.contains(&b'\r');
                Hir::literal(bytes.clone())
            }
            HirKind::Class(class) => Hir::class(self.class(class)),
            HirKind::Look(look) => Hir::look(self.look(*look)),
            HirKind::Repetition(repetition) => Hir::repetition(hir::Repetition {
                min: repetition.min,
                max: repetition.max,
                greedy: repetition.greedy,
                sub: Box::new(self.keep_within(&repetition.sub)),
            }),
            // Only whether a line matches counts, not what a group holds.
            HirKind::Capture(capture) => self.keep_within(&capture.sub),
            HirKind::Concat(parts) => {
                Hir::concat(parts.iter().map(|part| self.keep_within(part)).collect())
            }
            HirKind::Alternation(parts) => {
                Hir::alternation(parts.iter().map(|part| self.keep_within(part)).collect())
            }
        }
    }

    fn class(&mut self, class: &hir::Class) -> hir::Class {
        match class {
            hir::Class::Unicode(class) => {
                let mut class = class.clone();
                let only = |c| hir::ClassUnicode::new([hir::ClassUnicodeRange::new(c, c)]);
                let holds = class.ranges().len();
                class.difference(&only('\n'));
                // A class of nothing but a line feed is one asked for by name.
                self.line_feed |= holds > 0 && class.ranges().is_empty();
                let has_return = |r: &hir::ClassUnicodeRange| r.start() <= '\r' && '\r' <= r.end();
                self.carriage_return |= class.ranges().iter().any(has_return);
                hir::Class::Unicode(class)
            }
            hir::Class::Bytes(class) => {
                let mut class = class.clone();
                let only = |b| hir::ClassBytes::new([hir::ClassBytesRange::new(b, b)]);
                let holds = class.ranges().len();
                class.difference(&only(b'\n'));
                self.line_feed |= holds > 0 && class.ranges().is_empty();
                let has_return = |r: &hir::ClassBytesRange| r.start() <= b'\r' && b'\r' <= r.end();
                self.carriage_return |= class.ranges().iter().any(has_return);
                hir::Class::Bytes(class)
            }
        }
    }

    fn look(&mut self, look: Look) -> Look {
        match look {
            Look::Start | Look::StartLF => Look::StartLF,
            Look::End | Look::EndLF => {
                self.end = true;
                Look::EndLF
            }
            Look::StartCRLF | Look::EndCRLF => {
                self.crlf_anchor = true;
                look
            }
            // They hold between the two signs of a line end as well, which is in no line.
            Look::WordAsciiNegate
            | Look::WordUnicodeNegate
            | Look::WordStartHalfAscii
            | Look::WordEndHalfAscii
            | Look::WordStartHalfUnicode
            | Look::WordEndHalfUnicode => {
                self.carriage_return = true;
                self.words |= look.as_repr() >= Look::WordUnicode.as_repr();
                look
            }
            other => {
                self.words |= other.as_repr() >= Look::WordUnicode.as_repr();
                other
            }
        }
    }
}

/// Whether a person wrote an upper case letter, escapes such as `\S` aside.
fn has_upper_case(pattern: &str) -> bool {
    struct Upper(bool);
    impl Visitor for Upper {
        type Output = bool;
        type Err = ();

        fn finish(self) -> Result<bool, ()> {
            Ok(self.0)
        }

        fn visit_pre(&mut self, ast: &Ast) -> Result<(), ()> {
            if let Ast::Literal(literal) = ast {
                self.0 |= literal.c.is_uppercase();
            }
            Ok(())
        }

        fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), ()> {
            match item {
                ast::ClassSetItem::Literal(literal) => self.0 |= literal.c.is_uppercase(),
                ast::ClassSetItem::Range(range) => {
                    self.0 |= range.start.c.is_uppercase() || range.end.c.is_uppercase();
                }
                _ => {}
            }
            Ok(())
        }
    }
    ast::parse::Parser::new()
        .parse(pattern)
        .is_ok_and(|ast| ast::visit(&ast, Upper(false)) == Ok(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_run_the_quickest_way_that_is_exact() {
        let check = |pattern: &str, expected: &str| {
            let shown = match Pattern::new(pattern, Case::Sensitive, false) {
                Ok(pattern) => match pattern.way {
                    Way::Literal(_) => "literal".to_owned(),
                    Way::Holding(required) => format!("holding {}", required.shown()),
                    Way::Scan { judged, ends, .. } => format!("scan {judged} {ends}"),
                    Way::EachLine => "each line".to_owned(),
                    Way::Across => "across".to_owned(),
                },
                Err(error) => error.into_body().message,
            };
            assert_eq!(shown, expected, "{pattern}");
        };
        check("fn main", "literal");
        check("(fn) (main)", "literal");
        check(r"\w+Error\b", "holding Error");
        check(r"(?:ab)+c[xyz]", "holding ab");
        check("[A-Z]{3,}_[0-9]{4,}", "holding _ Some(26) Some(10)");
        check(r"(\w|x)::(?:a|b)", "holding ::");
        check(r"\w*_[0-9]+", "holding _ None Some(10)");
        check(r"\d*_\w*", "scan false false");
        check("a|b", "scan false false");
        check("(?:|ab)", "scan false false");
        check(".", "scan true false");
        check("^$", "scan false true");
        check("(?Rm)^$", "each line");
        check(r"a\sb", "scan true false");
        check(
            r"a\nb",
            r"pattern asks for a line end, which no line holds: `a\nb`",
        );
        check(
            r"[\n]",
            r"pattern asks for a line end, which no line holds: `[\n]`",
        );
        check("a(", "invalid regex: `a(`: unclosed group");
    }

    #[test]
    fn smart_case_looks_at_letters_a_person_wrote() {
        let check = |pattern: &str, expected: bool| {
            assert_eq!(has_upper_case(pattern), expected, "{pattern}");
        };
        check("abc", false);
        check("aBc", true);
        check(r"\S\W\pL", false);
        check("[a-z]", false);
        check("[A-Z]", true);
        check("Ä", true);
    }
}
