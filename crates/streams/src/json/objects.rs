//! Reads the objects of a line with serde_json.
//!
//! A path names the part of each object that a parser always reads: `["message", "content"]` is the
//! field `content` of the field `message`. That part is read together with the line, so that
//! serde_json scans a long text in it only once, and not once per level.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::check::Check;
use super::{Flaw, MOST_VALUES, Str, Value};

/// Maximum of array elements that are stored with their fields.
const MOST_ELEMENTS: usize = 1 << 14;

/// Names of nested fields.
type Path = &'static [&'static str];

/// The values of a line: one, or several if two programs wrote at the same time. A value that is no
/// object is `None`. The iterator ends after an error.
pub(crate) struct Objects<'a> {
    line: &'a str,
    path: Path,
    /// The position of the next value.
    at: usize,
    has_flaw: bool,
}

impl<'a> Objects<'a> {
    /// The values of a line, each with the part that a path names.
    pub(crate) fn of(line: &'a str, path: Path) -> Self {
        Self { line, path, at: 0, has_flaw: false }
    }
}

impl<'a> Iterator for Objects<'a> {
    type Item = Result<Option<Object<'a>>, Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.line.get(self.at..).filter(|_| !self.has_flaw)?;
        if rest.trim_start_matches([' ', '\t', '\r', '\n']).is_empty() {
            return None;
        }
        let mut deserializer = serde_json::Deserializer::from_str(rest);
        let object = match (MaybeObject { path: self.path }).deserialize(&mut deserializer) {
            Ok(object) => object,
            Err(error) => {
                self.has_flaw = true;
                return Some(Err(Flaw::Json(self.at, error)));
            }
        };
        // The deserializer does not report its position, but a stream of values does.
        self.at += deserializer.into_iter::<IgnoredAny>().byte_offset();
        let rest = self.line.get(self.at..).unwrap_or_default().trim_start();
        self.has_flaw = !rest.is_empty() && !rest.starts_with('{');
        let trailing = || Flaw::Trailing(self.line.len() - rest.len());
        Some(if self.has_flaw { Err(trailing()) } else { Ok(object) })
    }
}

/// An object with its fields. The values of the fields are not parsed, except one [`Part`] at most.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object<'a> {
    fields: Vec<(Cow<'a, str>, Value<'a>)>,
    part: Option<Box<Part<'a>>>,
}

/// A field that was parsed together with its object.
#[derive(Clone, Debug)]
pub(crate) enum Part<'a> {
    /// An object, in which the rest of the path was followed.
    Object(Object<'a>),
    /// An array with its elements. An element that is no object has no fields.
    Array(Vec<Object<'a>>),
    /// An unescaped text.
    Text(Cow<'a, str>),
    /// Anything else.
    Other,
}

impl<'a> Object<'a> {
    /// Reads an object and its fields, without a part.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer.deserialize_map(ReadObject { path: &[] }).ok()
    }

    /// The part that was parsed, if the object has the first field of the path.
    pub(crate) fn part(&self) -> Option<&Part<'a>> {
        self.part.as_deref()
    }

    /// The fields without the parsed part, in the order of the source.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, Value<'a>)> {
        self.fields.iter().map(|(key, value)| (&**key, *value))
    }

    /// A field. If a name occurs twice, the last one counts, as in most readers.
    pub(crate) fn get(&self, name: &str) -> Option<Value<'a>> {
        self.fields.iter().rev().find(|it| it.0 == name).map(|it| it.1)
    }

    /// Whether the field exists.
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

    /// The elements of a field that is an array; empty otherwise.
    pub(crate) fn items(&self, name: &str) -> Vec<Value<'a>> {
        self.get(name).map(|it| it.items()).unwrap_or_default()
    }

    /// Whether a field is true.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).and_then(|it| it.bool()) == Some(true)
    }
}

/// Reads an object with the part that a path names.
struct ReadObject {
    path: Path,
}

impl<'de> Visitor<'de> for ReadObject {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
        let (mut fields, mut part) = (Vec::with_capacity(16), None);
        while let Some(Key(key)) = map.next_key()? {
            if let Some((name, path)) = self.path.split_first()
                && key == *name
            {
                part = Some(Box::new(map.next_value_seed(ReadPart { path })?));
                continue;
            }
            let value = Value(map.next_value()?);
            if fields.len() < MOST_VALUES {
                fields.push((key, value));
            }
        }
        Ok(Object { fields, part })
    }
}

/// The name of a field, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads an object, or skips another value.
#[derive(Clone, Copy)]
struct MaybeObject {
    path: Path,
}

impl<'de> DeserializeSeed<'de> for MaybeObject {
    type Value = Option<Object<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MaybeObject {
    type Value = Option<Object<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        ReadObject { path: self.path }.visit_map(map).map(Some)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Check { depth: 0 }.visit_seq(seq).map(|()| None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Reads a field that a path names.
struct ReadPart {
    path: Path,
}

impl<'de> DeserializeSeed<'de> for ReadPart {
    type Value = Part<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ReadPart {
    type Value = Part<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        ReadObject { path: self.path }.visit_map(map).map(Part::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element_seed(MaybeObject { path: self.path })? {
            if elements.len() < MOST_ELEMENTS {
                elements.push(element.unwrap_or_default());
            }
        }
        Ok(Part::Array(elements))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Part::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Part::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Part::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Part::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Part::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Part::Other)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Part::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_line(line: &str, expected: &[&str]) {
        let read = Objects::of(line, &[]).map(|it| match it {
            Ok(Some(object)) => format!("{} fields", object.fields.len()),
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
    fn a_flaw_of_a_later_object_is_told_with_its_place_in_the_line() {
        check_line("{} {\"a\" 1}", &["0 fields", "not JSON at byte 9: expected `:`"]);
    }

    #[test]
    fn an_object_is_read_together_with_the_part_that_a_path_names() {
        let read = |line| {
            let mut objects = Objects::of(line, &["m", "c"]);
            let object = objects.next().expect("a value").expect("JSON").expect("an object");
            let count = |it: &Object<'_>| it.fields.len();
            let part = match object.part() {
                None => "no m".to_owned(),
                Some(Part::Object(inner)) => match inner.part() {
                    None => format!("{} and no c", count(inner)),
                    Some(Part::Array(elements)) => {
                        format!(
                            "{} and {:?}",
                            count(inner),
                            elements.iter().map(count).collect::<Vec<_>>()
                        )
                    }
                    Some(Part::Text(text)) => format!("{} and {text}", count(inner)),
                    Some(other) => format!("{} and {other:?}", count(inner)),
                },
                Some(other) => format!("{other:?}"),
            };
            format!("{}: {part}", count(&object))
        };
        assert_eq!(
            read(r#"{"a":1,"m":{"a":1,"c":[{"x":1,"y":2},3,{}],"b":2},"b":2}"#),
            "2: 2 and [2, 0, 0]"
        );
        assert_eq!(read(r#"{"m":{"c":"a\nb"}}"#), "0: 0 and a\nb");
        assert_eq!(read(r#"{"m":{"c":1}}"#), "0: 0 and Other");
        assert_eq!(read(r#"{"m":{"a":{"c":1}}}"#), "0: 1 and no c");
        assert_eq!(read(r#"{"m":null,"c":[]}"#), "1: Other");
        assert_eq!(read(r#"{"m":{"c":1},"m":{"c":"last"}}"#), "0: 0 and last");
        assert_eq!(read(r#"{"a":{"m":1}}"#), "1: no m");
    }
}
