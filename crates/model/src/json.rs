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
    fn numbers_have_no_digit_too_many() {
        for number in [0, 9, 10, 99, 100, u32::MAX] {
            let mut json = Json::default();
            assert_eq!(json.number(number).out, number.to_string());
        }
    }
}
