//! Names for things: ids, numbers, positions, revisions.
//!
//! Each is a type of its own, so that a function that takes two of them cannot be given them in the
//! wrong order. Nothing here draws random numbers or looks at a clock: [`IdSource`] carries both.

use std::fmt;
#[expect(deprecated, reason = "see `PlanId::of_text`")]
use std::hash::{Hasher, SipHasher};
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::store::AttachmentKey;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// The id as text, written where there is room for it.
            pub fn spelt<'a>(&self, room: &'a mut [u8; 36]) -> &'a str {
                self.0.hyphenated().encode_lower(room)
            }

            /// The short form that people see and type: the tail, because a UUIDv7 begins with the
            /// time and neighbours would look alike.
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
    /// A plan.
    PlanId
}

impl PlanId {
    /// The id of a project's own plan. It follows from the project, so two first `add`s at once
    /// make one plan and not two.
    pub fn of_project(project: &str) -> Self {
        Self::of_text(project)
    }

    /// The id of the plan that a plan file becomes. It follows from the file's real path.
    pub fn of_file(path: &str) -> Self {
        // No project is spelt so: none contains a NUL.
        Self::of_text(&format!("plan file\0{path}"))
    }

    /// The id of the plan that a conversation begins with, which follows from the conversation.
    pub fn first_of(key: &AttachmentKey) -> Self {
        let AttachmentKey { project, agent, conversation, sub_agent, turn } = key;
        // No part contains a NUL, so no two conversations are spelt alike.
        Self::of_text(
            &[project, agent, conversation, sub_agent, turn].map(String::as_str).join("\0"),
        )
    }

    /// Two 64-bit hashes of a text, as a UUID of the free form.
    ///
    /// SipHash, so that nobody can choose a directory's name to meet another project's plan.
    #[expect(deprecated, reason = "the one hash in the standard library whose values never change")]
    fn of_text(text: &str) -> Self {
        let mut bytes = [0; 16];
        for (half, key) in bytes.chunks_exact_mut(8).zip([0x7075_6e63_6800, 0x6c69_7374_00ff]) {
            let mut hasher = SipHasher::new_with_keys(key, key);
            hasher.write(text.as_bytes());
            half.copy_from_slice(&hasher.finish().to_be_bytes());
        }
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }
}

uuid_id! {
    /// An item, for ever and across plans.
    ItemId
}

impl ItemId {
    /// The number that an id of [`IdSource::item`] tells. Other ids tell anything.
    pub fn told_number(&self) -> Number {
        let bytes = self.0.as_bytes();
        Number(u32::from_be_bytes([bytes[10], bytes[11], bytes[12], bytes[13]]))
    }
}

uuid_id! {
    /// A run: one process that works calls off.
    RunId
}

uuid_id! {
    /// A question to a person.
    QuestionId
}

uuid_id! {
    /// A message that waits for an agent.
    MessageId
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
    /// An item's number in its plan: counts up from 1, is never reused, is what people type.
    Number(u32)
}
count! {
    /// An item's place in its plan, from 1, without gaps. Order only: it changes when others move.
    Position(u32)
}
count! {
    /// How often a plan has changed.
    Revision(u64)
}
count! {
    /// How often an item has been claimed. A write under an older attempt is refused.
    Attempt(u32)
}

impl Attempt {
    /// Whether it has never been claimed.
    pub fn is_none(&self) -> bool {
        self.0 == 0
    }
}

/// Where new ids come from: a time and a random number, both given by the caller.
///
/// The n-th id of a source is always the same, so a decision can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdSource {
    /// Goes into the leading bits, so that ids sort by age.
    pub at: Timestamp,
    /// Fills the rest.
    pub random: [u8; 10],
    /// Whether ids must be known before the numbers of their items are, so that they cannot tell
    /// them.
    pub foreknown: bool,
}

impl IdSource {
    /// A source.
    pub fn new(at: Timestamp, random: [u8; 10]) -> Self {
        Self { at, random, foreknown: false }
    }

    /// A source for tests and examples: distinct `seed`s give distinct ids.
    pub fn fixed(at: Timestamp, seed: u8) -> Self {
        Self::new(at, [seed; 10])
    }

    /// The n-th id. Ids of one source ascend with `n`.
    pub fn nth(&self, n: u32) -> Uuid {
        let millis = u64::try_from(self.at.as_millisecond()).unwrap_or(0);
        // The counter takes the highest random bits, around the fixed version and variant bits: it
        // keeps a batch in order and apart.
        let mut bytes = self.random;
        let start = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        let count = start.wrapping_add(n);
        let [a, b, c, d] =
            [count >> 22, count >> 14, count >> 8 & 0x3f, count].map(|bits| (bits & 0xff) as u8);
        bytes[..4].copy_from_slice(&[a, b, c, d]);
        uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
    }

    /// The id of the n-th item that a change makes. Unless it is foreknown, the item's number stands in it, so that a store
    /// need not keep account of which number an id belongs to; the tail, which people see, stays
    /// random.
    pub fn item(&self, n: u32, number: Number) -> ItemId {
        let mut source = *self;
        if !self.foreknown {
            source.random[4..8].copy_from_slice(&number.0.to_be_bytes());
        }
        ItemId(source.nth(n))
    }
}

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
    fn an_items_id_tells_its_number_and_ends_at_random() {
        let source = IdSource::fixed(Timestamp::from_millisecond(1_800_000_000_000).unwrap(), 0xab);
        let ids: Vec<ItemId> =
            (0..1000).map(|n| source.item(n, Number(u32::MAX - 999 + n))).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        for (n, id) in (0..1000).zip(ids) {
            assert_eq!(id.told_number(), Number(u32::MAX - 999 + n));
            assert_eq!((id.0.get_version_num(), id.short().as_str()), (7, "abab"));
        }
    }

    #[test]
    fn a_projects_own_plan_always_has_the_same_id() {
        // Stored: a change of this value would lose every project's plan.
        let own = PlanId::of_project("/home/me/web-shop");
        assert_eq!(own.to_string(), "eae61624-60b3-8350-8788-25e253aa4fb0");
        assert_ne!(PlanId::of_project("/a"), PlanId::of_project("/b"));
    }

    #[test]
    fn a_conversations_first_plan_always_has_the_same_id() {
        let key = |conversation: &str, sub_agent: &str| AttachmentKey {
            project: "/home/me/web-shop".to_owned(),
            agent: "claude".to_owned(),
            conversation: conversation.to_owned(),
            sub_agent: sub_agent.to_owned(),
            turn: String::new(),
        };
        // Stored as well.
        let first = PlanId::first_of(&key("c1", ""));
        assert_eq!(first.to_string(), "3260a24f-ecdb-82f5-9d53-77c83d90344a");
        assert_ne!(first, PlanId::first_of(&key("c2", "")));
        assert_ne!(first, PlanId::first_of(&key("c1", "s")));
        assert_ne!(PlanId::first_of(&key("c1s", "")), PlanId::first_of(&key("c1", "s")));
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
