//! The revision that a caller believes a plan to be at, as typed after `--expect`.

use std::str::FromStr;

use punchlist_model::Revision;

/// The revision that a caller believes the plan to be at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// Whichever it is.
    Any,
    /// This one.
    At(Revision),
}

impl Expect {
    /// The revision that a store is to insist on.
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
