//! Checks whether other programs can read a value that we pass on.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Flaw;

/// Maximum nesting. Readers of our output commonly stop at 128.
const MOST_DEPTH: usize = 120;

/// Checks whether other programs can read a value: limited nesting, and no number beyond what a
/// float holds. serde_json checks neither for a `RawValue`.
pub(crate) fn check(json: &str) -> Result<(), Flaw> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Check { depth: 0 }.deserialize(&mut deserializer).map_err(|error| Flaw::Json(0, error))
}

/// Walks through a value and stores nothing.
#[derive(Clone, Copy)]
pub(super) struct Check {
    pub(super) depth: usize,
}

impl Check {
    /// The same, one level deeper.
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MOST_DEPTH {
            return Err(E::custom(format!("nested deeper than {MOST_DEPTH} levels")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Check {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Check {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(inner)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while seq.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_cannot_read_is_not_passed_on() {
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        for (json, is_good) in [
            ("[1,2.5,-3e+7,true,false,null,\"x\",{\"a\":{}}]", true),
            ("[1e-999]", true),
            ("[1e999]", false),
            (&nested(MOST_DEPTH), true),
            (&nested(MOST_DEPTH + 1), false),
            (&"{\"a\":".repeat(100_000), false),
        ] {
            assert_eq!(check(json).is_ok(), is_good, "{}", json.get(..40).unwrap_or(json));
        }
    }
}
