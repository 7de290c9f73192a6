//! Regular expressions that take linear time, whatever they are matched with. They come from peers.

use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::{Anchored, Input, util::syntax};

/// As much as an expression may take once it is compiled: one of `MOST_REPEATS` of any character takes less.
const MOST_BYTES: usize = 4 << 20;
/// Groups in groups: what goes through them has a stack of its own to keep.
const DEEPEST: u32 = 500;

/// One that is matched with whole names.
pub struct NamePattern(Regex);

impl NamePattern {
    pub fn new(text: &str) -> Result<Self, Box<BuildError>> {
        Regex::builder()
            .configure(
                Config::new()
                    .utf8_empty(false)
                    .nfa_size_limit(Some(MOST_BYTES))
                    .onepass_size_limit(Some(MOST_BYTES))
                    .hybrid_cache_capacity(MOST_BYTES),
            )
            // Without utf8, \B of ASCII may be anywhere.
            .syntax(syntax::Config::new().utf8(false).nest_limit(DEEPEST))
            .build(&format!("(?:{text})\\z"))
            .map(Self)
            .map_err(Box::new)
    }

    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(Input::new(name).anchored(Anchored::Yes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        NamePattern::new(pattern).unwrap().matches(name)
    }

    #[test]
    fn names_match_as_a_whole() {
        assert!(matches("a|ab", "ab") && matches("ab|a", "a") && matches("a*?", "aaa"));
        assert!(!matches("a", "ab") && !matches("b", "ab") && !matches("a|b", "ab"));
        assert!(matches(r"\x{e9}(?-u:\B)", "é") && matches("(?i:k)", "\u{212a}"));
    }

    #[test]
    fn expressions_that_take_others_for_ever_take_moments() {
        let name = "a".repeat(20_000) + "b";
        for pattern in ["(?:a+)+c", "(?:a|a)*c", "(?:a|aa)+c", "(?:a*)*c", "(?:.*a){20}c"] {
            assert!(!matches(pattern, &name), "{pattern}");
        }
    }

    #[test]
    fn what_is_too_large_or_too_deep_is_refused() {
        assert!(NamePattern::new("(?:(?:a{1000}){1000}){1000}").is_err());
        let deep = |depth: usize| format!("{}a{}", "(?:a".repeat(depth), ")*".repeat(depth));
        assert!(NamePattern::new(&deep(5000)).is_err() && NamePattern::new(&deep(100)).is_ok());
        assert!(NamePattern::new("(?s:.){1000}").is_ok());
    }
}
