//! The revision that a caller expects, as typed after `--expect`.

use std::str::FromStr;

use punchlist_model::Revision;

/// The revision that a caller expects the plan to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// Any revision.
    Any,
    /// This revision.
    At(Revision),
}

impl Expect {
    /// The revision that the store must check.
    pub fn revision(self) -> Option<Revision> {
        match self {
            Self::Any => None,
            Self::At(revision) => Some(revision),
        }
    }
}

impl FromStr for Expect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "any" => Ok(Self::Any),
            _ => text
                .parse()
                .map(Self::At)
                .map_err(|_| "a revision is a number, or `any`".to_owned()),
        }
    }
}
