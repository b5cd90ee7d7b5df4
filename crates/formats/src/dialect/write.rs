//! JSON written by hand, for what is written at every call: a list has a dozen fields an item, whose
//! names need no looking at.
//!
//! What it writes is what a serialiser would write. It keeps no account of what is open: whoever
//! writes a bracket closes it.

use serde::Serialize;

/// JSON that is being written.
#[derive(Default)]
pub(crate) struct Json {
    out: String,
}

impl Json {
    /// Adds what is JSON already: brackets, names, commas.
    pub(crate) fn raw(&mut self, json: &str) -> &mut Self {
        self.out.push_str(json);
        self
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
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
    pub(crate) fn text_or_null(&mut self, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.text(text),
            None => self.raw("null"),
        }
    }

    /// Adds anything else.
    pub(crate) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> &mut Self {
        // Texts, numbers and lists of them have nothing to fail.
        self.raw(&serde_json::to_string(value).unwrap_or_default())
    }

    /// Adds a whole number.
    pub(crate) fn number(&mut self, number: u32) -> &mut Self {
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
    pub(crate) fn done(self) -> String {
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
    fn numbers_have_no_digit_too_many() {
        for number in [0, 9, 10, 99, 100, u32::MAX] {
            let mut json = Json::default();
            assert_eq!(json.number(number).out, number.to_string());
        }
    }
}
