//! Patterns on commands, word by word: `git status *`. A final `*` stands for any words or none,
//! a `*` inside a word for anything within it, quotes take the meaning away.

use crate::shell::{Command, Word, base, is_long};
use crate::traps;

/// A character, or `*`.
type Glyph = Option<char>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    words: Vec<Vec<Glyph>>,
    /// Any words may follow
    rest: bool,
}

impl CommandPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut words = split(text)?;
        if words.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        let rest = words.last().is_some_and(|word| word[..] == [None]);
        if rest {
            words.pop();
        }
        Ok(CommandPattern { words, rest })
    }

    /// Nothing is left open: exactly these words.
    pub(crate) fn is_exact(&self) -> bool {
        !self.rest && self.words.iter().flatten().all(Option::is_some)
    }

    /// For rules that close: the program counts by its file name, and a word that nobody knows
    /// counts only where the pattern takes anything.
    pub(crate) fn meets(&self, command: &Command) -> bool {
        let Some((program, arguments)) = command.words.split_first() else {
            return false;
        };
        let Some((first, others)) = self.words.split_first() else {
            return true;
        };
        let bare = !first.contains(&Some('/'));
        let program_meets = [&program.text, &program.stripped]
            .into_iter()
            .any(|text| matches(first, text) || (bare && means(first, base(text))));
        program_meets && (self.follow(others, arguments) || self.has(others, arguments))
    }

    /// Whether the words follow one another, options before the first aside: `git --no-pager push`
    /// is a `git push`. What follows an option may be its value.
    fn follow(&self, patterns: &[Vec<Glyph>], words: &[Word]) -> bool {
        let mut open = vec![words];
        while let Some(words) = open.pop() {
            let here = words.len() >= patterns.len()
                && (self.rest || words.len() == patterns.len())
                && patterns
                    .iter()
                    .zip(words)
                    .all(|(pattern, word)| could_be(pattern, word));
            if here {
                return true;
            }
            if let [option, rest @ ..] = words
                && option.text.starts_with('-')
            {
                open.push(rest);
                if let [value, after @ ..] = rest
                    && !value.text.starts_with('-')
                    && !option.text.contains('=')
                    && after.len() + 1 >= patterns.len()
                {
                    open.push(after);
                }
            }
        }
        false
    }

    /// Whether a rule with options in it is met by the same options in another place or order:
    /// `rm -rf *` by `rm -v -fr x`.
    fn has(&self, patterns: &[Vec<Glyph>], words: &[Word]) -> bool {
        let is_option = |pattern: &&Vec<Glyph>| pattern.first() == Some(&Some('-'));
        let (options, others): (Vec<_>, Vec<_>) = patterns.iter().partition(is_option);
        if !self.rest || options.is_empty() {
            return false;
        }
        let others: Vec<Vec<Glyph>> = others.into_iter().cloned().collect();
        let given = words.iter().filter(|word| word.text.starts_with('-'));
        let given: Vec<&Word> = given.collect();
        let letters: String = given
            .iter()
            .filter(|word| !word.text.starts_with("--"))
            .flat_map(|word| word.text.chars().skip(1))
            .collect();
        let met = |option: &&Vec<Glyph>| {
            let whole: Option<String> = option.iter().copied().collect();
            let cut_short = |word: &&Word| {
                let long = whole.as_ref().filter(|long| long.starts_with("--"));
                word.exact && long.is_some_and(|long| is_long(&word.text, long))
            };
            let cluster = option.len() > 1 && option[1] != Some('-') && !option.contains(&None);
            given.iter().any(|word| could_be(option, word))
                || given.iter().any(cut_short)
                || (cluster && option[1..].iter().flatten().all(|c| letters.contains(*c)))
        };
        options.iter().all(met) && self.follow(&others, words)
    }

    /// For rules that open: every word is known and meant. What only a `*` stands for must not
    /// smuggle: `safe` says whether a word, taken as a path, may be touched.
    pub(crate) fn covers(&self, command: &Command, safe: &dyn Fn(&str) -> bool) -> bool {
        let words = &command.words;
        let Some(program) = words.first() else {
            return false;
        };
        let fits = words.len() >= self.words.len()
            && (self.rest || words.len() == self.words.len())
            && words.iter().all(|word| word.exact)
            && self.words.iter().zip(words).all(|(pattern, word)| {
                matches(pattern, &word.text) && (!word.glob || pattern.contains(&None))
            });
        if !fits || program.glob {
            return false;
        }
        if self.words.is_empty() {
            return true;
        }
        let open: Vec<&Word> = words
            .iter()
            .enumerate()
            .filter(|(at, _)| {
                self.words
                    .get(*at)
                    .is_none_or(|pattern| pattern.contains(&None))
            })
            .map(|(_, word)| word)
            .collect();
        if open.is_empty() {
            return true;
        }
        let name = base(&program.text);
        !traps::smuggles(name, &open)
            && traps::paths(name, &open)
                .into_iter()
                .all(|word| path_in(&word.text).is_none_or(safe))
    }
}

/// Whether a word may turn out to be what the pattern means. One that nobody knows counts only
/// where the pattern takes anything; one with a glob by what it could find.
fn could_be(pattern: &[Glyph], word: &Word) -> bool {
    if pattern == [None] {
        return true;
    }
    match (word.exact, word.glob) {
        (false, _) => false,
        (true, false) => matches(pattern, &word.text),
        (true, true) => matches(pattern, &word.text) || overlap(pattern, &word.text),
    }
}

/// Whether a word may turn out to be this one.
pub(crate) fn may_be(name: &str, word: &Word) -> bool {
    let pattern: Vec<Glyph> = name.chars().map(Some).collect();
    could_be(&pattern, word)
}

/// Whether some name fits both the pattern and the glob; a class counts as any character.
fn overlap(pattern: &[Glyph], glob: &str) -> bool {
    enum Found {
        One(char),
        Any,
        Many,
    }
    let mut found = Vec::new();
    let mut chars = glob.chars();
    while let Some(c) = chars.next() {
        found.push(match c {
            '*' => Found::Many,
            '?' => Found::Any,
            '[' if chars.as_str().contains(']') => {
                // A class may begin with the bracket that would end it.
                let negated = chars.as_str().starts_with(['!', '^']);
                chars.by_ref().take(1 + usize::from(negated)).for_each(drop);
                chars.by_ref().find(|c| *c == ']');
                Found::Any
            }
            c => Found::One(c),
        });
    }
    // Where the pattern may stand after what has been read of the glob.
    let close = |mut at: Vec<bool>| {
        for place in 0..pattern.len() {
            at[place + 1] |= at[place] && pattern[place].is_none();
        }
        at
    };
    let mut at = vec![false; pattern.len() + 1];
    at[0] = true;
    at = close(at);
    for one in &found {
        let step = |from: &[bool], fits: &dyn Fn(char) -> bool| {
            let mut to = vec![false; from.len()];
            for place in 0..pattern.len() {
                match pattern[place] {
                    None => to[place] |= from[place],
                    Some(c) => to[place + 1] |= from[place] && fits(c),
                }
            }
            close(to)
        };
        at = match one {
            Found::One(found) => step(&at, &|c| c == *found),
            Found::Any => step(&at, &|_| true),
            Found::Many => {
                let first = at.iter().position(|here| *here);
                (0..at.len())
                    .map(|place| first.is_some_and(|first| place >= first))
                    .collect()
            }
        };
    }
    at[pattern.len()]
}

/// Whether a rule that closes means a program of this name: its versions and variants as well,
/// `python3.12` where it says `python` and `mkfs.ext4` where it says `mkfs`.
fn means(pattern: &[Glyph], name: &str) -> bool {
    const VARIANTS: &[&str] = &["mkfs", "fsck", "mount", "umount"];
    let version = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let variant = name
        .split_once('.')
        .map(|(stem, _)| stem)
        .filter(|stem| VARIANTS.contains(stem));
    matches(pattern, name)
        || (!version.is_empty() && matches(pattern, version))
        || variant.is_some_and(|stem| matches(pattern, stem))
}

/// The part of an argument that a program might open as a file.
pub(crate) fn path_in(text: &str) -> Option<&str> {
    if !text.starts_with('-') {
        // `name=value` is a path in some programs; a relative one of that name is one as well.
        return match text.split_once('=') {
            Some((_, value)) if value.starts_with(['/', '~', '.']) => Some(value),
            _ => Some(text),
        };
    }
    if let Some((_, value)) = text.split_once('=') {
        return Some(value);
    }
    text.find('/')
        .map(|slash| &text[slash..])
        .or_else(|| text.find("..").map(|dots| &text[dots..]))
}

/// The words as a pattern that means exactly them.
pub(crate) fn quote(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote_word(word)).collect();
    quoted.join(" ")
}

fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_./:=@%+,-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn split(text: &str) -> Result<Vec<Vec<Glyph>>, String> {
    let mut words = Vec::new();
    let mut word: Option<Vec<Glyph>> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err("a quote is never closed".to_owned()),
                        Some(end) if end == c => break,
                        Some('\\') if c == '"' => word.extend(chars.next().map(Some)),
                        Some(inside) => word.push(Some(inside)),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next().map(Some)),
            '*' => word.get_or_insert_default().push(None),
            '|' | ';' | '&' | '<' | '>' | '`' => {
                return Err(format!("a rule names one command, without `{c}`"));
            }
            c => word.get_or_insert_default().push(Some(c)),
        }
    }
    words.extend(word);
    Ok(words)
}

fn matches(pattern: &[Glyph], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(None) => {
                star = Some((p, t));
                p += 1;
            }
            Some(Some(c)) if *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((star_p, star_t)) = star else {
                    return false;
                };
                (p, t) = (star_p + 1, star_t + 1);
                star = Some((star_p, t));
            }
        }
    }
    pattern[p..].iter().all(Option::is_none)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    fn check(pattern: &str, line: &str, meets: bool, covers: bool) {
        let script = shell::parse(line);
        let [command] = &script.commands[..] else {
            panic!("one command: {line}");
        };
        let pattern = CommandPattern::parse(pattern).unwrap();
        let safe = |path: &str| !path.starts_with('/') && !path.contains("..");
        let got = (pattern.meets(command), pattern.covers(command, &safe));
        assert_eq!(got, (meets, covers), "{pattern:?} on {line}");
    }

    #[test]
    fn patterns_on_commands() {
        check("git status *", "git status", true, true);
        check("git status *", "git status -s", true, true);
        check("git status *", "git statuses", false, false);
        check("git status*", "git statuses", true, true);
        check("git status*", "git status -s", false, false);
        check("git status", "git status -s", false, false);
        check("rm *", "/bin/rm x", true, false);
        check("/bin/rm *", "/bin/rm x", true, true);
        check("/bin/rm *", "rm x", false, false);
        check("rm *", "'rm' x", true, true);
        check("mkfs *", "mkfs.ext4 /dev/sda", true, false);
        check("python *", "python3.12 x", true, false);
        check("rm *", "rm.sh x", false, false);
        check("rm *", "echo rm", false, false);
        check("*", "anything at all", true, true);
        check("npm run test:*", "npm run test:unit", true, true);
        check("echo 'a *'", "echo 'a *'", true, true);
        check("echo '*'", "echo *", true, false);
        check("cat *", "cat *.md", true, true);
        check("git push *", "git $x", false, false);
        check("rm *", "rm $x", true, false);
        check("rm *", "r${x}m a", true, false);
    }

    #[test]
    fn a_rule_that_closes_sees_through_globs_and_options() {
        check("git push *", "git p?sh origin", true, false);
        check("git push *", "git [p]ush origin", true, false);
        check("git push *", "git [!]a]ush", true, false);
        check("git push *", "git p*", true, false);
        check("git push *", "git c*", false, false);
        check("git push *", "git 'p?sh'", false, false);
        check("git push *", "git --no-pager push origin", true, false);
        check("git push *", "git -P --bare push", true, false);
        check("git push *", "git -c a=b push", true, false);
        check("git push *", "git commit -m push", false, false);
        check("git push", "git --no-pager push", true, false);
        check("git push", "git push --tags", false, false);
        check("kubectl delete *", "kubectl -n x delete pod y", true, false);
        check("rm -rf *", "rm -fr a", true, false);
        check("rm -rf *", "rm -r -v -f a", true, false);
        check("rm -rf *", "rm -r a", false, false);
        check("git push --force *", "git push origin --force", true, false);
        check("git push --force *", "git push origin", false, false);
        check("rm --recursive *", "rm --rec a", true, false);
        check("rm --recursive *", "rm --rex a", false, false);
        check("git commit *", "git com?it", true, false);
    }

    #[test]
    fn traps_and_foreign_paths_are_not_covered_by_a_star() {
        check("git diff *", "git diff --output=x", true, false);
        check("git diff *", "git diff --outp=x", true, false);
        check("git diff --output=x", "git diff --output=x", true, true);
        check("git *", "git -C x status", true, false);
        check("sort *", "sort -uo x y", true, false);
        check("find *", "find . -name x", true, true);
        check("find *", "find . -delete", true, false);
        check("cat *", "cat /etc/passwd", true, false);
        check("cat *", "cat a/../../b", true, false);
        check("cat /etc/hosts", "cat /etc/hosts", true, true);
        check("grep *", "grep /api/ src", true, true);
        check("grep *", "grep -e x /etc/passwd", true, false);
        check("ls *", "ls --hide=/x", true, false);
        check("sed *", "sed -n 1,5p a", true, true);
        check("sed *", "sed '1e rm' a", true, false);
        check("echo *", "echo /etc/passwd", true, true);
    }

    #[test]
    fn quoted_words_come_back() {
        for words in [
            &["npm", "test"][..],
            &["a b", "it's", "", "*", "x\\y", "\"", "(|"],
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            let texts: Vec<&str> = words.iter().map(String::as_str).collect();
            let pattern = CommandPattern::parse(&quote(&texts)).unwrap();
            assert!(pattern.is_exact(), "{pattern:?}");
            let back: Vec<String> = pattern
                .words
                .iter()
                .map(|word| word.iter().flatten().collect())
                .collect();
            assert_eq!(back, words);
        }
    }

    #[test]
    fn a_pattern_of_two_commands_is_an_error() {
        assert!(CommandPattern::parse("ls | wc *").is_err());
        assert!(CommandPattern::parse("echo 'a").is_err());
        assert!(CommandPattern::parse(" ").is_err());
    }
}
