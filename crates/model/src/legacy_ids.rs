//! The plan ids of schema 6 and earlier: a hash of what the plan was made for.
//!
//! New plans have UUIDv7 ids and are found by [`crate::MadeFor`]. The hash only serves to find a
//! plan of an older version once. Then the plan's `made_for` is recorded.

#[expect(
    deprecated,
    reason = "the one hash in the standard library whose values never change"
)]
use std::hash::{Hasher, SipHasher};

use crate::id::PlanId;
use crate::plan::MadeFor;
use crate::store::AttachmentKey;

/// The id that older versions gave to the plan that was made for `made_for`.
pub fn plan_id(made_for: &MadeFor) -> PlanId {
    match made_for {
        MadeFor::Project(project) => hashed(project),
        MadeFor::File(path) => hashed(&format!("plan file\0{path}")),
        MadeFor::Conversation(key) => {
            let AttachmentKey { project, agent, conversation, sub_agent, turn } = key;
            hashed(&[project, agent, conversation, sub_agent, turn].map(String::as_str).join("\0"))
        }
    }
}

/// Two 64-bit hashes of a text, as a UUID of version 8.
#[expect(deprecated, reason = "see above")]
fn hashed(text: &str) -> PlanId {
    let mut bytes = [0; 16];
    for (half, key) in bytes.chunks_exact_mut(8).zip([0x7075_6e63_6800, 0x6c69_7374_00ff]) {
        let mut hasher = SipHasher::new_with_keys(key, key);
        hasher.write(text.as_bytes());
        half.copy_from_slice(&hasher.finish().to_be_bytes());
    }
    PlanId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_are_those_that_older_versions_stored() {
        let project = "/home/me/web-shop".to_owned();
        let own = plan_id(&MadeFor::Project(project.clone()));
        assert_eq!(own.to_string(), "eae61624-60b3-8350-8788-25e253aa4fb0");
        let key = AttachmentKey {
            project,
            agent: "claude".to_owned(),
            conversation: "c1".to_owned(),
            sub_agent: String::new(),
            turn: String::new(),
        };
        let first = plan_id(&MadeFor::Conversation(key));
        assert_eq!(first.to_string(), "3260a24f-ecdb-82f5-9d53-77c83d90344a");
    }
}
