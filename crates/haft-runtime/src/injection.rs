//! How much of the tools a model is shown: every schema, a line each, or only the tools about
//! tools. Numbers in, a decision out; what is shown then is the view's business.

use serde::Serialize;

/// Share of the context window that tools may take: a fifth.
const WINDOW_SHARE: u64 = 5;
const CHARS_PER_TOKEN: u64 = 4;
/// What a tool takes whose size nobody knows.
const UNKNOWN_TOKENS: u64 = 200;
/// What a name and one line take.
const COMPACT_TOKENS: u64 = 30;

/// What models are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionMode {
    /// Every tool with its schema
    Direct,
    /// Every tool by name and one line; the schema comes when it is needed
    CompactDirect,
    /// Meta-tools, with which the rest is found
    Discovery,
}

/// How an agent's tools are to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Injection {
    /// Tokens of the model's context; without it, everything is shown
    pub context_window: Option<u64>,
    /// No matter what fits
    pub forced: Option<InjectionMode>,
    /// Modules that are shown with their schemas in every mode
    pub direct_modules: Vec<String>,
    /// There are tools that nobody has seen yet: what finds tools is shown in every mode
    pub open_ended: bool,
}

/// A mode, and the numbers that led to it, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Decision {
    pub mode: InjectionMode,
    pub budget: u64,
    pub tool_tokens: u64,
    pub compact_tokens: u64,
    pub tools: u64,
}

impl Decision {
    /// Choose by the sizes of the tools, in characters; none where a size is not known.
    pub fn of(injection: &Injection, sizes: impl IntoIterator<Item = Option<u64>>) -> Decision {
        let (mut tools, mut tool_tokens) = (0, 0);
        for size in sizes {
            tools += 1;
            tool_tokens += size.map_or(UNKNOWN_TOKENS, |chars| chars / CHARS_PER_TOKEN);
        }
        let budget = injection
            .context_window
            .map_or(u64::MAX, |window| window / WINDOW_SHARE);
        let compact_tokens = tools * COMPACT_TOKENS;
        let fitting = if tool_tokens <= budget {
            InjectionMode::Direct
        } else if compact_tokens <= budget {
            InjectionMode::CompactDirect
        } else {
            InjectionMode::Discovery
        };
        Decision {
            mode: injection.forced.unwrap_or(fitting),
            budget,
            tool_tokens,
            compact_tokens,
            tools,
        }
    }

    /// Whether so many characters of schemas fit the budget.
    pub(crate) fn has_room(&self, chars: u64) -> bool {
        chars / CHARS_PER_TOKEN <= self.budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(window: u64, sizes: &[Option<u64>]) -> InjectionMode {
        let injection = Injection {
            context_window: Some(window),
            ..Injection::default()
        };
        Decision::of(&injection, sizes.iter().copied()).mode
    }

    #[test]
    fn the_thresholds_hold() {
        use InjectionMode::{CompactDirect, Direct, Discovery};
        for (window, direct, compact, discovery) in [
            (8_000, 8, 53, 54),
            (32_000, 32, 213, 214),
            (60_000, 60, 400, 401),
            (128_000, 128, 853, 854),
            (200_000, 200, 1_333, 1_334),
        ] {
            let unknown = |tools: usize| mode(window, &vec![None; tools]);
            assert_eq!(unknown(direct), Direct, "{window}");
            assert_eq!(unknown(direct + 1), CompactDirect, "{window}");
            assert_eq!(unknown(compact), CompactDirect, "{window}");
            assert_eq!(unknown(discovery), Discovery, "{window}");
            assert_eq!(compact + 1, discovery);
        }
    }

    #[test]
    fn real_sizes_count_where_they_are_known() {
        assert_eq!(mode(8_000, &[Some(6_400)]), InjectionMode::Direct);
        assert_eq!(mode(8_000, &[Some(6_404)]), InjectionMode::CompactDirect);
        assert_eq!(mode(8_000, &[Some(40); 160]), InjectionMode::Direct);
        assert_eq!(mode(8_000, &[Some(41); 160]), InjectionMode::Direct);
        assert_eq!(mode(8_000, &[Some(44); 160]), InjectionMode::Discovery);
        assert_eq!(mode(0, &[]), InjectionMode::Direct);
        assert_eq!(mode(0, &[None]), InjectionMode::Discovery);
    }

    #[test]
    fn a_forced_mode_is_taken_and_the_numbers_stay() {
        let injection = Injection {
            context_window: Some(8_000),
            forced: Some(InjectionMode::Discovery),
            ..Injection::default()
        };
        let decision = Decision::of(&injection, [None, Some(400)]);
        assert_eq!(
            decision,
            Decision {
                mode: InjectionMode::Discovery,
                budget: 1_600,
                tool_tokens: 300,
                compact_tokens: 60,
                tools: 2,
            }
        );
        let unknown = Decision::of(&Injection::default(), [None; 5_000]);
        assert_eq!(unknown.mode, InjectionMode::Direct);
    }
}
