//! JSON that is written by hand, and objects that are read as nothing else.
//!
//! By hand is written what is written at every call: a list has a dozen fields an item and the journal
//! has each new one, and their names need no looking at. It is what a serialiser would write. No account
//! is kept of what is open: whoever writes a bracket closes it.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// What is read from an object and from nothing else. A derived reader would take a list too, its
/// values in the order of the fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}

/// How deeply JSON from outside may be nested. Our own words are put around it when it is stored, and a
/// reader gives up at some depth: what is taken in must always be readable again.
pub const DEEPEST: usize = 32;

/// Whether values are nested deeper than is taken in. `above` is how many stand around this one.
pub fn is_too_deep(value: &serde_json::Value, above: usize) -> bool {
    // Not by calls within calls: how deep it goes is not known yet.
    let mut waiting = vec![(value, above)];
    while let Some((value, above)) = waiting.pop() {
        let inner: Box<dyn Iterator<Item = &serde_json::Value>> = match value {
            serde_json::Value::Array(values) => Box::new(values.iter()),
            serde_json::Value::Object(fields) => Box::new(fields.values()),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::String(_) => continue,
        };
        if above >= DEEPEST {
            return true;
        }
        waiting.extend(inner.map(|it| (it, above + 1)));
    }
    false
}

/// The same of a text: whether its brackets go deeper, be it JSON or not. Brackets within strings do not
/// count.
pub fn is_text_too_deep(text: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > DEEPEST {
                    return true;
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// JSON without what is nested deeper than `most` levels: `null` stands in its place. What is left can be
/// read, however deep it was.
pub fn cut_deep(text: &[u8], most: usize) -> Vec<u8> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        let is_kept = depth <= most;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth == most + 1 {
                    out.extend_from_slice(b"null");
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if is_kept && depth <= most {
            out.push(*byte);
        }
    }
    out
}

/// JSON that is being written.
#[derive(Default)]
pub struct Json {
    out: String,
}

impl Json {
    /// Nothing yet, and room for so many bytes.
    pub fn with_room(bytes: usize) -> Self {
        Self { out: String::with_capacity(bytes) }
    }

    /// Adds what is JSON already: brackets, names, commas.
    pub fn raw(&mut self, json: &str) -> &mut Self {
        self.out.push_str(json);
        self
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        let special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
        // All of it is looked at, because that goes many bytes at a time.
        if text.bytes().fold(false, |any, byte| any | special(byte)) {
            return self.value(text);
        }
        self.out.reserve(text.len() + 2);
        self.out.push('"');
        self.out.push_str(text);
        self.out.push('"');
        self
    }

    /// Adds a text, or null.
    pub fn text_or_null(&mut self, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.text(text),
            None => self.raw("null"),
        }
    }

    /// Adds anything else.
    pub fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> &mut Self {
        // Texts, numbers and lists of them have nothing to fail.
        self.raw(&serde_json::to_string(value).unwrap_or_default())
    }

    /// Adds a whole number.
    pub fn number(&mut self, number: u32) -> &mut Self {
        let mut digits = [b'0'; 10];
        let (mut at, mut left) = (digits.len(), number);
        loop {
            at -= 1;
            digits[at] += u8::try_from(left % 10).unwrap_or_default();
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.raw(std::str::from_utf8(&digits[at..]).unwrap_or_default())
    }

    /// All that was written.
    pub fn done(self) -> String {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_writes_what_a_serialiser_does(text in ".*", number: u32, other in prop::option::of("\\PC*")) {
            let mut json = Json::default();
            json.raw("[").text(&text).raw(",").number(number).raw(",");
            json.text_or_null(other.as_deref()).raw(",").value(&vec![number]).raw("]");
            let expected = serde_json::json!([text, number, other, [number]]).to_string();
            prop_assert_eq!(json.done(), expected);
        }
    }

    #[test]
    fn an_object_is_no_list() {
        #[derive(serde::Deserialize, PartialEq, Debug)]
        struct One {
            n: u32,
        }
        let read = |json: &str| serde_json::from_str::<Object<One>>(json).ok().map(|it| it.0);
        assert_eq!(read("{\"n\":1}"), Some(One { n: 1 }));
        assert_eq!(read("[1]"), None);
        assert!(serde_json::from_str::<One>("[1]").is_ok(), "it would be read otherwise");
    }

    #[test]
    fn thirty_two_levels_are_taken_and_no_more() {
        for (depth, deep) in [(1, false), (31, false), (32, false), (33, true), (120, true)] {
            for [open, close] in [["[", "]"], ["{\"a\":", "}"]] {
                let text = open.repeat(depth - 1) + "[]" + &close.repeat(depth - 1);
                let value = serde_json::from_str(&text).unwrap();
                assert_eq!(is_too_deep(&value, 0), deep, "{depth}");
                assert_eq!(is_too_deep(&value, 1), depth >= 32, "{depth}");
                assert_eq!(is_text_too_deep(text.as_bytes()), deep, "{depth}");
            }
        }
        let quoted = serde_json::to_string(&"[\"".repeat(50)).unwrap();
        assert!(!is_text_too_deep(quoted.as_bytes()));
        assert!(is_text_too_deep("[".repeat(1_000_000).as_bytes()));
    }

    #[test]
    fn what_is_too_deep_is_cut_out_and_the_rest_stays() {
        let deep = "[".repeat(5_000) + "{\"x\":\"]\"}" + &"]".repeat(5_000);
        let text = format!("{{\"a\":[1,{deep},\"[[[\\\"\"],\"b\":{{\"c\":{deep}}}}}");
        let cut: serde_json::Value = serde_json::from_slice(&cut_deep(text.as_bytes(), 2)).unwrap();
        assert_eq!(cut, serde_json::json!({"a": [1, null, "[[[\""], "b": {"c": null}}));
        let flat = b"{\"a\": [1, {\"b\": \"}\"}]}";
        assert_eq!(cut_deep(flat, 3), flat);
    }

    #[test]
    fn numbers_have_no_digit_too_many() {
        for number in [0, 9, 10, 99, 100, u32::MAX] {
            let mut json = Json::default();
            assert_eq!(json.number(number).out, number.to_string());
        }
    }
}
