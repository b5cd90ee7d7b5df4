//! Versions of agents: three numbers, which can be compared.

use std::fmt;

/// A version: major, minor, patch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// The first version in a program's output: `2.1.197 (Claude Code)`, `codex-cli 0.166.0`. A
    /// suffix such as `-nightly.3` is ignored.
    pub fn read(text: &str) -> Option<Self> {
        text.split_whitespace().find_map(|word| Self::of(word.trim_start_matches('v'), '.'))
    }

    /// Three numbers separated by `between`.
    fn of(word: &str, between: char) -> Option<Self> {
        let mut parts = word.splitn(3, between);
        let number = |part: Option<&str>| {
            let digits: String = part?.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        };
        Some(Self(number(parts.next())?, number(parts.next())?, number(parts.next())?))
    }

    /// The version of the calling Claude Code, from the variable `AI_AGENT` in its hooks, such as
    /// `claude-code_2-1-197_harness`. Older versions do not set it.
    pub fn of_claude(variable: &str) -> Option<Self> {
        let rest = variable.strip_prefix("claude-code_")?;
        Self::of(rest.split('_').next()?, '-')
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_whatever_stands_around_it() {
        for (text, expected) in [
            ("2.1.197 (Claude Code)\n", Some(Version(2, 1, 197))),
            ("codex-cli 0.166.0", Some(Version(0, 166, 0))),
            ("0.61.0", Some(Version(0, 61, 0))),
            ("v1.2.3-nightly.20260101", Some(Version(1, 2, 3))),
            ("WARNING: x\n0.47.0\n", Some(Version(0, 47, 0))),
            ("1.2", None),
            ("", None),
            ("of unknown version", None),
            ("99999999999.1.1", None),
        ] {
            assert_eq!(Version::read(text), expected, "{text:?}");
        }
        assert!(Version(2, 1, 100) > Version(2, 0, 300));
    }

    #[test]
    fn claude_code_tells_its_hooks_which_it_is() {
        for (variable, expected) in [
            ("claude-code_2-1-197_harness", Some(Version(2, 1, 197))),
            ("claude-code_2-1-325_agent", Some(Version(2, 1, 325))),
            ("claude-code_2-1", None),
            ("codex_0-1-2_x", None),
            ("", None),
        ] {
            assert_eq!(Version::of_claude(variable), expected, "{variable}");
        }
    }
}
