//! JSON as serde_json reads it, one level at a time.
//!
//! A value is the text that it was written as (`RawValue`), so what is only passed on is never unescaped
//! or copied. The fields of an object are read in one go, and only when somebody asks for them. A line is
//! checked as a whole when its object is read; what is in it cannot fail afterwards. It knows no agent.

use std::borrow::Cow;
use std::fmt;

use punchlist_model::json_text::replace_lone_surrogates;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::StreamDeserializer;
use serde_json::de::StrRead;
use serde_json::value::RawValue;

/// The deepest nesting that is passed on. Readers of our output commonly stop at 128.
const MOST_DEPTH: usize = 120;

/// The most fields of one object, and the most elements of one array, that are kept.
const MOST_VALUES: usize = 1 << 20;

/// The most elements of one array that are kept with their fields.
const MOST_ELEMENTS: usize = 1 << 14;

/// Why bytes are no JSON that we read.
#[derive(Debug)]
pub(crate) enum Flaw {
    /// They are not UTF-8 from this byte on.
    Utf8(usize),
    /// serde_json refuses them.
    Json(serde_json::Error),
    /// There is something else behind a value, from this byte on.
    Trailing(usize),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Utf8(at) => write!(f, "not UTF-8 at byte {}", at + 1),
            Self::Json(error) => {
                let (line, column) = (error.line(), error.column());
                let text = error.to_string();
                let place = format!(" at line {line} column {column}");
                let what = text.strip_suffix(&place).unwrap_or(&text);
                match line {
                    0 | 1 => write!(f, "not JSON at byte {column}: {what}"),
                    _ => write!(f, "not JSON at line {line}, byte {column}: {what}"),
                }
            }
            Self::Trailing(at) => write!(f, "not JSON at byte {}: trailing characters", at + 1),
        }
    }
}

/// The text of some JSON, as serde_json takes it: without a byte order mark, and with U+FFFD for half
/// surrogate pairs.
pub(crate) fn text(json: &[u8]) -> Result<Cow<'_, str>, Flaw> {
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    match replace_lone_surrogates(json) {
        Cow::Borrowed(json) => match std::str::from_utf8(json) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(error) => Err(Flaw::Utf8(error.valid_up_to())),
        },
        Cow::Owned(json) => match String::from_utf8(json) {
            Ok(text) => Ok(Cow::Owned(text)),
            Err(error) => Err(Flaw::Utf8(error.utf8_error().valid_up_to())),
        },
    }
}

/// The values of a line: one, or several where two programs wrote at once. One that is no object is
/// `None`. Nothing follows a flaw.
pub(crate) struct Objects<'a> {
    line: &'a str,
    has_flaw: bool,
    values: StreamDeserializer<'a, StrRead<'a>, MaybeObject<'a>>,
}

impl<'a> Objects<'a> {
    /// Those of a line.
    pub(crate) fn of(line: &'a str) -> Self {
        let values = serde_json::Deserializer::from_str(line).into_iter();
        Self { line, has_flaw: false, values }
    }
}

impl<'a> Iterator for Objects<'a> {
    type Item = Result<Option<Object<'a>>, Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_flaw {
            return None;
        }
        let object = match self.values.next()? {
            Ok(MaybeObject(object)) => object,
            Err(error) => return Some(Err(Flaw::Json(error))),
        };
        let rest = self.line.get(self.values.byte_offset()..).unwrap_or_default().trim_start();
        self.has_flaw = !rest.is_empty() && !rest.starts_with('{');
        let trailing = || Flaw::Trailing(self.line.len() - rest.len());
        Some(if self.has_flaw { Err(trailing()) } else { Ok(object) })
    }
}

/// An object, or another value that nobody wants.
struct MaybeObject<'a>(Option<Object<'a>>);

impl<'de> Deserialize<'de> for MaybeObject<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = MaybeObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                ReadObject.visit_map(map).map(|it| MaybeObject(Some(it)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                Check { depth: 0 }.visit_seq(seq).map(|()| MaybeObject(None))
            }

            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(MaybeObject(None))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(MaybeObject(None))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(MaybeObject(None))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(MaybeObject(None))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(MaybeObject(None))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(MaybeObject(None))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

/// Whether others can read a value as we pass it on: no deeper than they go, and no number beyond what a
/// float holds. serde_json checks neither of a `RawValue`.
pub(crate) fn check(json: &str) -> Result<(), Flaw> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Check { depth: 0 }.deserialize(&mut deserializer).map_err(Flaw::Json)
}

/// Goes through a value and keeps nothing.
#[derive(Clone, Copy)]
struct Check {
    depth: usize,
}

impl Check {
    /// The same, one level further in.
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

/// An object whose fields were read; the values in them were not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

struct ReadObject;

impl<'de> Visitor<'de> for ReadObject {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
        let mut fields = Vec::with_capacity(16);
        while let Some(Key(key)) = map.next_key()? {
            let value = Value(map.next_value()?);
            if fields.len() < MOST_VALUES {
                fields.push((key, value));
            }
        }
        Ok(Object(fields))
    }
}

/// The name of a field, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Object<'a> {
    /// The fields, in the order in which they were written.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, Value<'a>)> {
        self.0.iter().map(|(key, value)| (&**key, *value))
    }

    /// A field: the last one of that name, as everybody else reads it.
    pub(crate) fn get(&self, name: &str) -> Option<Value<'a>> {
        self.0.iter().rev().find(|it| it.0 == name).map(|it| it.1)
    }

    /// Whether there is such a field.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A field of a field.
    pub(crate) fn path(&self, names: &[&str]) -> Option<Value<'a>> {
        let (first, rest) = names.split_first()?;
        rest.iter().try_fold(self.get(first)?, |value, name| value.get(name))
    }

    /// A field that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<Str<'a>> {
        self.get(name)?.str()
    }

    /// A field that is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        self.get(name)?.object()
    }

    /// The elements of a field that is an array; none of any other.
    pub(crate) fn items(&self, name: &str) -> Vec<Value<'a>> {
        self.get(name).map(|it| it.items()).unwrap_or_default()
    }

    /// Whether a field is true.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).and_then(|it| it.bool()) == Some(true)
    }
}

/// A value as it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a>(&'a RawValue);

impl<'a> Value<'a> {
    /// The one value that a text is.
    pub(crate) fn read(text: &'a str) -> Result<Self, Flaw> {
        serde_json::from_str(text).map(Self).map_err(Flaw::Json)
    }

    fn first(self) -> u8 {
        self.raw().as_bytes().first().copied().unwrap_or(b'n')
    }

    /// As it was written.
    pub(crate) fn raw(self) -> &'a str {
        self.0.get()
    }

    /// As it was written, known to be JSON.
    pub(crate) fn raw_value(self) -> &'a RawValue {
        self.0
    }

    pub(crate) fn is_object(self) -> bool {
        self.first() == b'{'
    }

    pub(crate) fn is_array(self) -> bool {
        self.first() == b'['
    }

    pub(crate) fn is_null(self) -> bool {
        self.first() == b'n'
    }

    /// The string, if it is one.
    pub(crate) fn str(self) -> Option<Str<'a>> {
        (self.first() == b'"').then_some(Str(self.0))
    }

    pub(crate) fn bool(self) -> Option<bool> {
        self.raw().parse().ok()
    }

    /// The number, if it is a whole one that is not negative.
    pub(crate) fn u64(self) -> Option<u64> {
        self.raw().parse().ok()
    }

    /// The number, if it is a whole one.
    pub(crate) fn i64(self) -> Option<i64> {
        self.raw().parse().ok()
    }

    /// The number, if it is one that a float holds.
    pub(crate) fn f64(self) -> Option<f64> {
        self.raw().parse().ok().filter(|it: &f64| it.is_finite())
    }

    /// The object, if it is one, with its fields.
    pub(crate) fn object(self) -> Option<Object<'a>> {
        let read = || {
            let mut deserializer = serde_json::Deserializer::from_str(self.raw());
            deserializer.deserialize_map(ReadObject).ok()
        };
        self.is_object().then(read)?
    }

    /// The fields of an object but one, and the elements of that one if it is an array, all read in one go. A
    /// long text inside is gone through once, and not once for each level. An element that is no object is
    /// one without fields.
    pub(crate) fn object_and_elements(self, name: &str) -> Option<(Object<'a>, Vec<Object<'a>>)> {
        let mut deserializer = serde_json::Deserializer::from_str(self.raw());
        self.is_object().then(|| deserializer.deserialize_map(ReadBoth { name }).ok())?
    }

    /// The elements of an array; none of anything else.
    pub(crate) fn items(self) -> Vec<Self> {
        let read = || {
            let mut deserializer = serde_json::Deserializer::from_str(self.raw());
            deserializer.deserialize_seq(ReadItems).ok()
        };
        self.is_array().then(read).flatten().unwrap_or_default()
    }

    /// A field of an object. Whoever wants several reads the object first.
    pub(crate) fn get(self, name: &str) -> Option<Self> {
        self.object()?.get(name)
    }

    /// A field that is a string.
    pub(crate) fn text(self, name: &str) -> Option<Str<'a>> {
        self.get(name)?.str()
    }
}

struct ReadBoth<'n> {
    name: &'n str,
}

impl<'de> Visitor<'de> for ReadBoth<'_> {
    type Value = (Object<'de>, Vec<Object<'de>>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut fields, mut elements) = (Vec::with_capacity(16), Vec::new());
        while let Some(Key(key)) = map.next_key()? {
            if key == self.name {
                elements = map.next_value_seed(ReadElements)?;
                continue;
            }
            let value = Value(map.next_value()?);
            if fields.len() < MOST_VALUES {
                fields.push((key, value));
            }
        }
        Ok((Object(fields), elements))
    }
}

/// Reads the objects of an array, and goes over anything else.
struct ReadElements;

impl<'de> DeserializeSeed<'de> for ReadElements {
    type Value = Vec<Object<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ReadElements {
    type Value = Vec<Object<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(MaybeObject(element)) = seq.next_element()? {
            if elements.len() < MOST_ELEMENTS {
                elements.push(element.unwrap_or_default());
            }
        }
        Ok(elements)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Vec::new())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }
}

struct ReadItems;

impl<'de> Visitor<'de> for ReadItems {
    type Value = Vec<Value<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            if items.len() < MOST_VALUES {
                items.push(Value(item));
            }
        }
        Ok(items)
    }
}

/// A string as it was written, with its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Str<'a>(&'a RawValue);

impl<'a> Str<'a> {
    /// With quotes and escapes.
    pub(crate) fn literal(self) -> &'a str {
        self.0.get()
    }

    /// As it was written, known to be JSON.
    pub(crate) fn raw_value(self) -> &'a RawValue {
        self.0
    }

    /// The text itself.
    pub(crate) fn cow(self) -> Cow<'a, str> {
        unescape(self.literal())
    }

    /// Whether it is this text.
    pub(crate) fn is(self, text: &str) -> bool {
        self.cow() == text
    }
}

/// The text that a literal stands for.
pub(crate) fn unescape(literal: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\\', literal.as_bytes()).is_none() {
        let inner = literal.get(1..literal.len().saturating_sub(1));
        return Cow::Borrowed(inner.unwrap_or_default());
    }
    Cow::Owned(serde_json::from_str(literal).unwrap_or_default())
}

/// Appends a text as a literal.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("memory takes all that is written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_line(line: &str, expected: &[&str]) {
        let read = Objects::of(line).map(|it| match it {
            Ok(Some(object)) => format!("{} fields", object.0.len()),
            Ok(None) => "no object".to_owned(),
            Err(flaw) => flaw.to_string(),
        });
        assert_eq!(read.take(4).collect::<Vec<_>>(), expected, "{line}");
    }

    #[test]
    fn a_line_has_one_object_or_several() {
        check_line("{}", &["0 fields"]);
        check_line(" {\"a\":1, \"b\":[]} ", &["2 fields"]);
        check_line("{}{\"a\":1} {}", &["0 fields", "1 fields", "0 fields"]);
        check_line("[1]", &["no object"]);
        check_line("\"x\"", &["no object"]);
    }

    #[test]
    fn what_is_no_json_is_told_with_its_place() {
        check_line("x", &["not JSON at byte 1: expected value"]);
        check_line("{\"a\" 1}", &["not JSON at byte 6: expected `:`"]);
        check_line("{\"a\":1", &["not JSON at byte 6: EOF while parsing an object"]);
        check_line(
            "{\"a\":\"\tb\"}",
            &[
                "not JSON at byte 6: control character (\\u0000-\\u001F) found while parsing a string",
            ],
        );
        check_line("{} x", &["not JSON at byte 4: trailing characters"]);
        check_line("{\n\"a\":}", &["not JSON at line 2, byte 5: expected value"]);
        let deep = "[".repeat(100_000);
        check_line(&deep, &["not JSON at byte 121: nested deeper than 120 levels"]);
    }

    #[test]
    fn what_is_not_utf8_is_told_with_its_place() {
        let flaw = text(b"{\"a\":\"\xff\"}").map_err(|it| it.to_string());
        assert_eq!(flaw, Err("not UTF-8 at byte 7".to_owned()));
        let flaw = text(b"\"\\ud83d\xff\"").map_err(|it| it.to_string());
        assert_eq!(flaw, Err("not UTF-8 at byte 8".to_owned()));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        assert!(matches!(text(b"\xef\xbb\xbf{}"), Ok(Cow::Borrowed("{}"))));
    }

    #[test]
    fn a_surrogate_without_its_other_half_is_replaced() {
        let text = text(br#""a\ud83dz""#).expect("UTF-8");
        let value = Value::read(&text).expect("JSON");
        assert_eq!(value.str().expect("a string").cow(), "a\u{fffd}z");
    }

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

    #[test]
    fn the_number_of_elements_is_bounded() {
        let values = |count: usize| format!("[{}0]", "0,".repeat(count - 1));
        let count = |text: &str| Value::read(text).expect("JSON").items().len();
        assert_eq!(count(&values(MOST_VALUES)), MOST_VALUES);
        assert_eq!(count(&values(MOST_VALUES + 1)), MOST_VALUES);
    }

    #[test]
    fn the_last_field_of_a_name_counts() {
        let value = Value::read(r#"{"a":1,"b":{"a":2},"\u0061":3}"#).expect("JSON");
        let object = value.object().expect("an object");
        assert_eq!(object.get("a").and_then(|it| it.u64()), Some(3));
        assert_eq!(object.path(&["b", "a"]).and_then(|it| it.u64()), Some(2));
        assert!(object.get("c").is_none() && object.path(&["a", "a"]).is_none());
    }

    #[test]
    fn an_object_is_read_together_with_the_elements_of_one_field() {
        let read = |json| {
            let value = Value::read(json).expect("JSON");
            let read = value.object_and_elements("c");
            read.map(|it| (it.0.0.len(), it.1.iter().map(|it| it.0.len()).collect::<Vec<_>>()))
        };
        assert_eq!(read(r#"{"a":1,"c":[{"x":1,"y":2},3,{}],"b":2}"#), Some((2, vec![2, 0, 0])));
        assert_eq!(read(r#"{"a":1,"c":"text"}"#), Some((1, vec![])));
        assert_eq!(read(r#"{"c":{"x":[1]}}"#), Some((0, vec![])));
        assert_eq!(read("[1]"), None);
    }

    #[test]
    fn values_are_what_they_look_like() {
        let read = |json| Value::read(json).expect("JSON");
        assert_eq!((read("7").u64(), read("-7").u64(), read("7.0").u64()), (Some(7), None, None));
        assert_eq!((read("-7").i64(), read("\"7\"").i64()), (Some(-7), None));
        assert_eq!((read("2.5").f64(), read("1e999").f64()), (Some(2.5), None));
        assert_eq!((read("true").bool(), read("\"true\"").bool()), (Some(true), None));
        assert!(read("null").is_null() && read("{}").is_object() && read("[]").is_array());
        assert!(read("\"\\u0061b\"").str().expect("a string").is("ab"));
    }
}
