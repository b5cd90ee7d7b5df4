//! Ids, numbers, positions, revisions.
//!
//! Each is a type of its own, so that two of them cannot be passed in the wrong order. Nothing here
//! uses a clock or random numbers: the caller supplies both in [`IdSource`].

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// An id that is never used.
            pub const NIL: Self = Self(Uuid::nil());

            /// The short form that people see and type. It is the end of the id: a UUIDv7 begins
            /// with the time, so ids of the same time begin alike.
            pub fn short(&self) -> String {
                let text = self.0.simple().to_string();
                text[text.len() - 4..].to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

uuid_id! {
    /// The id of a plan.
    PlanId
}

uuid_id! {
    /// The id of an item, unique across plans.
    ItemId
}

impl PlanId {
    /// Another id, if this one is already taken by another plan.
    #[must_use]
    pub fn next(self) -> Self {
        Self(Uuid::from_u128(self.0.as_u128().wrapping_add(1)))
    }
}

impl ItemId {
    /// The id of an item that an external program knows by a name. The same name always gives the
    /// same id (UUIDv5).
    pub fn named(plan: PlanId, name: &str) -> Self {
        Self(Uuid::new_v5(&plan.0, name.as_bytes()))
    }
}

uuid_id! {
    /// The id of a write. A repeated write with the same id changes nothing.
    WriteId
}

impl WriteId {
    /// The id of a write that the runtime of our agent may have to repeat after a crash. The same
    /// name in the same conversation always gives the same id (UUIDv5).
    pub fn named(conversation: ConversationId, name: &str) -> Self {
        Self(Uuid::new_v5(&conversation.0, name.as_bytes()))
    }
}

uuid_id! {
    /// The id of a run.
    RunId
}

uuid_id! {
    /// The id of a question to a person.
    QuestionId
}

uuid_id! {
    /// The id of a conversation of our own agent.
    ConversationId
}

uuid_id! {
    /// The id of a message that waits for an agent.
    MessageId
}

uuid_id! {
    /// The id of a token, code or browser session. It is no secret.
    GrantId
}

macro_rules! count {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $int);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = std::num::ParseIntError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

count! {
    /// An item's number in its plan. Numbers count up from 1 and are never reused. People type
    /// them.
    Number(u32)
}
count! {
    /// An item's position in its plan, from 1, without gaps. It changes when other items move.
    Position(u32)
}
count! {
    /// The number of changes that a plan has had.
    Revision(u64)
}
count! {
    /// How often an item was claimed. A write under an older attempt is refused.
    Attempt(u32)
}

impl Attempt {
    /// Whether the item was never claimed.
    pub fn is_none(&self) -> bool {
        self.0 == 0
    }
}

/// The source of new ids: a time and random bytes, both supplied by the caller.
///
/// The n-th id of a source is always the same, so a decision can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdSource {
    /// The first bits of each id, so that ids sort by age.
    pub at: Timestamp,
    /// The other bits.
    pub random: [u8; 10],
}

impl IdSource {
    /// A source with this time and these random bytes.
    pub fn new(at: Timestamp, random: [u8; 10]) -> Self {
        Self { at, random }
    }

    /// A source for tests and examples: distinct `seed`s give distinct ids.
    pub fn fixed(at: Timestamp, seed: u8) -> Self {
        Self::new(at, [seed; 10])
    }

    /// The n-th id. Ids of one source increase with `n`.
    pub fn nth(&self, n: u32) -> Uuid {
        let millis = u64::try_from(self.at.as_millisecond()).unwrap_or(0);
        // The counter replaces the highest random bits, around the fixed version and variant bits.
        // So the ids of a batch differ and are in order.
        let mut bytes = self.random;
        let start = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        let count = start.wrapping_add(n);
        let [a, b, c, d] =
            [count >> 22, count >> 14, count >> 8 & 0x3f, count].map(|bits| (bits & 0xff) as u8);
        bytes[..4].copy_from_slice(&[a, b, c, d]);
        uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
    }

    /// The id of a new item. It depends on the number, so that one source can serve several changes
    /// of a plan.
    pub fn item(&self, number: Number) -> ItemId {
        ItemId(self.nth(number.0))
    }

    /// The id of a new plan.
    pub fn plan(&self) -> PlanId {
        PlanId(self.nth(PLAN))
    }

    /// The id of the write that leads to `revision`.
    pub fn write(&self, revision: Revision) -> WriteId {
        let revision = u32::try_from(revision.0 & 0x3f_ffff).unwrap_or_default();
        WriteId(self.nth(WRITE + revision))
    }
}

/// Where the ids of plans and writes begin, beyond the number of any item.
const PLAN: u32 = 0x40_0000;
const WRITE: u32 = 0x80_0000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_source_are_v7_and_ascend() {
        let source = IdSource::fixed(Timestamp::from_millisecond(1_800_000_000_000).unwrap(), 0xab);
        let ids: Vec<Uuid> = (0..1000).map(|n| source.nth(n)).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
    }

    #[test]
    fn items_plans_and_writes_of_one_source_have_different_ids() {
        let source = IdSource::fixed(Timestamp::from_millisecond(1_800_000_000_000).unwrap(), 0xab);
        let ids = [
            source.item(Number(1)).0,
            source.item(Number(2)).0,
            source.plan().0,
            source.write(Revision(0)).0,
            source.write(Revision(1)).0,
        ];
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
        assert_eq!(source.item(Number(7)).short(), "abab");
    }

    #[test]
    fn text_forms_round_trip() {
        let id = PlanId(IdSource::fixed(Timestamp::UNIX_EPOCH, 7).nth(0));
        assert_eq!(id.to_string().parse::<PlanId>().unwrap(), id);
        assert!(id.to_string().ends_with(&id.short()));
        assert_eq!("12".parse::<Number>().unwrap(), Number(12));
        assert!("-1".parse::<Number>().is_err());
    }
}
