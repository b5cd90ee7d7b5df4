//! Arguments of a tool call, read from whatever a model sent.
//!
//! Reading does not stop at the first fault. Each fault is noted with its field, its entry and the
//! allowed values, so that the model can correct all of them in one call. Unknown fields are
//! ignored. A reply repeats only the beginning of a long text. No rule of the plan is checked here.

use std::collections::BTreeMap;

use punchlist_model::json::{DEEPEST, is_text_too_deep, is_too_deep};
use serde_json::{Map, Value};

use crate::text::one_line;

/// A JSON object as the model sent it.
pub(super) type Object = Map<String, Value>;

/// Most entries in one call, independent of the limits of the plan: far above any real plan, and
/// low enough that a reply about all entries stays readable.
pub(super) const MOST_ENTRIES: usize = 1000;

/// Most faults that a reply lists.
const MOST_FAULTS: usize = 100;

/// Most characters of a text that a reply repeats.
const MOST_REPEATED: usize = 80;

/// What is wrong with the arguments of a call.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Bad {
    faults: Vec<String>,
}

/// What is wrong with the entries of a call, by the entry's index, from 0.
pub(super) type BadEntries = BTreeMap<usize, Bad>;

impl From<String> for Bad {
    fn from(fault: String) -> Self {
        Self { faults: vec![fault] }
    }
}

impl Bad {
    pub(super) fn note(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// Adds the faults of entries.
    pub(super) fn note_entries(&mut self, entries: BadEntries) {
        self.faults.extend(entries.into_values().flat_map(|it| it.faults));
    }

    /// Adds the faults of another `Bad`.
    pub(super) fn note_all(&mut self, mut rest: Self) {
        self.faults.append(&mut rest.faults);
    }

    /// All faults, in the order in which they were noted.
    pub(super) fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Whether no fault was noted.
    pub(super) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// `Err` with the faults, if there are any.
    pub(super) fn none(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    /// The faults as text, one per line.
    pub(super) fn text(&self) -> String {
        self.joined("\n")
    }

    /// The faults with `separator` between them.
    pub(super) fn joined(&self, separator: &str) -> String {
        let left_out = self.faults.len().saturating_sub(MOST_FAULTS);
        let mut text = self.faults[..self.faults.len() - left_out].join(separator);
        if left_out > 0 {
            text.push_str(&format!("{separator}… and {left_out} more"));
        }
        text
    }

    /// Whether there is more than one fault.
    pub(super) fn is_several(&self) -> bool {
        self.faults.len() > 1
    }
}

/// Parses the bytes as a JSON object.
pub(super) fn object(bytes: &[u8]) -> Result<Object, String> {
    if bytes.trim_ascii().is_empty() {
        return Ok(Object::new());
    }
    if is_text_too_deep(bytes) {
        return Err(too_deep());
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(Value::Null) => Ok(Object::new()),
        Ok(other) => Err(format!("The arguments must be a JSON object, not {}.", kind(&other))),
        Err(error) => Err(format!("The arguments are not valid JSON: {error}.")),
    }
}

/// Checks that fields which are already parsed are not nested too deeply.
pub(super) fn shallow(fields: Object) -> Result<Object, Bad> {
    if fields.values().any(|value| is_too_deep(value, 1)) {
        return Err(Bad::from(too_deep()));
    }
    Ok(fields)
}

/// The error for arguments that are nested too deeply.
pub(super) fn too_deep() -> String {
    format!("The arguments are nested more than {DEEPEST} levels deep. Make them flatter.")
}

/// The fields of the call, or of one entry of a list in the call.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    fields: &'a Object,
    /// Which entry, from 0; `None` for the call itself.
    entry: Option<usize>,
}

impl<'a> Fields<'a> {
    pub(super) fn of_call(fields: &'a Object) -> Self {
        Self { fields, entry: None }
    }

    /// The fields of an entry. Notes a fault if the entry is not an object.
    pub(super) fn of_entry(entry: usize, value: &'a Value, bad: &mut Bad) -> Option<Self> {
        let Some(fields) = value.as_object() else {
            bad.note(format!("entry {}: must be an object, not {}", entry + 1, kind(value)));
            return None;
        };
        Some(Self { fields, entry: Some(entry) })
    }

    /// The value of a field. Null counts as missing.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn fault(&self, name: &str, what: &str, bad: &mut Bad) {
        bad.note(match self.entry {
            Some(entry) => format!("entry {}: {name} {what}", entry + 1),
            None => format!("{name} {what}"),
        });
    }

    /// An optional text.
    pub(super) fn text(&self, name: &str, bad: &mut Bad) -> Option<&'a str> {
        let value = self.get(name)?;
        if !value.is_string() {
            self.fault(name, &format!("must be a string, not {}", kind(value)), bad);
        }
        value.as_str()
    }

    /// A required text that is not blank. Otherwise notes a fault and returns an empty text.
    pub(super) fn needed(&self, name: &str, bad: &mut Bad) -> &'a str {
        if self.get(name).is_none() {
            self.fault(name, "is required: a string that is not empty", bad);
            return "";
        }
        let text = self.text(name, bad);
        if text.is_some_and(|text| text.trim().is_empty()) {
            self.fault(name, "must not be empty", bad);
        }
        text.unwrap_or_default()
    }

    /// An optional word out of `words`, which pair each word with its meaning.
    pub(super) fn choice<T: Copy>(
        &self,
        name: &str,
        words: &[(&str, T)],
        bad: &mut Bad,
    ) -> Option<T> {
        let word = self.text(name, bad)?;
        let found = words.iter().find(|(legal, _)| *legal == word).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let legal = one_of(words);
            self.fault(name, &format!("must be {legal}, not {}", brief(word)), bad);
        }
        found
    }

    /// Like [`Fields::choice`], but the field is required.
    pub(super) fn needed_choice<T: Copy>(
        &self,
        name: &str,
        words: &[(&str, T)],
        bad: &mut Bad,
    ) -> Option<T> {
        if self.get(name).is_none() {
            self.fault(name, &format!("is required: {}", one_of(words)), bad);
            return None;
        }
        self.choice(name, words, bad)
    }

    /// An optional whole number.
    pub(super) fn integer(&self, name: &str, least: u32, bad: &mut Bad) -> Option<u32> {
        let value = self.get(name)?;
        let number = integer(value).filter(|number| *number >= least);
        if number.is_none() {
            let what = format!("must be a whole number from {least}, not {}", shown(value));
            self.fault(name, &what, bad);
        }
        number
    }

    /// An optional list, with at most `most` entries.
    pub(super) fn list(
        &self,
        name: &str,
        most: Option<usize>,
        bad: &mut Bad,
    ) -> Option<&'a [Value]> {
        let most = most.unwrap_or(MOST_ENTRIES);
        let value = self.get(name)?;
        let Some(entries) = value.as_array() else {
            self.fault(name, &format!("must be an array, not {}", kind(value)), bad);
            return None;
        };
        if entries.len() > most {
            let many = entries.len();
            let what = format!("has {many} entries; at most {most} are allowed in one call");
            self.fault(name, &what, bad);
            return None;
        }
        Some(entries)
    }
}

/// A whole number. Models write it as `2`, `2.0` or `"2"`.
pub(super) fn integer(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(whole) => u32::try_from(whole).ok(),
            None => number.as_f64().and_then(whole),
        },
        Value::String(text) => digits(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn whole(number: f64) -> Option<u32> {
    let fits = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    // Formatted and parsed, because a cast from `f64` could truncate.
    if fits { format!("{number:.0}").parse().ok() } else { None }
}

/// A text of digits only, as a number.
pub(super) fn digits(text: &str) -> Option<u32> {
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// The JSON type of a value, for a sentence.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A value if it is short enough to repeat, otherwise its JSON type.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => brief(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => kind(value).to_owned(),
    }
}

/// A text in quotes, shortened, with unprintable characters escaped.
pub(super) fn brief(text: &str) -> String {
    match text.char_indices().nth(MOST_REPEATED) {
        Some((end, _)) => format!("{:?}", format!("{}…", &text[..end])),
        None => format!("{text:?}"),
    }
}

/// A title in quotes, shortened, as views show it.
pub(super) fn title(text: &str) -> String {
    format!("\"{}\"", cut(text, MOST_REPEATED))
}

/// A text on one line with at most `most` characters, without control characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    // Only the beginning of a very long text is cleaned. The factor leaves room for escapes.
    let end_of = |text: &str, most| text.char_indices().nth(most).map(|(end, _)| end);
    let begin = &text[..end_of(text, most.saturating_mul(16)).unwrap_or(text.len())];
    let clean = one_line(begin);
    match end_of(&clean, most) {
        Some(end) => format!("{}…", &clean[..end]),
        None if begin.len() < text.len() => format!("{clean}…"),
        None => clean.into_owned(),
    }
}

fn one_of<T>(words: &[(&str, T)]) -> String {
    let words: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    words.join(" or ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_whole_number_is_understood_however_it_was_written() {
        for (value, number) in [
            (json!(2), Some(2)),
            (json!(2.0), Some(2)),
            (json!("2"), Some(2)),
            (json!(" 02 "), Some(2)),
            (json!(0), Some(0)),
            (json!(u32::MAX), Some(u32::MAX)),
            (json!(u64::from(u32::MAX) + 1), None),
            (json!(1e300), None),
            (json!(2.5), None),
            (json!(-1), None),
            (json!("-1"), None),
            (json!("+1"), None),
            (json!("1e3"), None),
            (json!(""), None),
            (json!("two"), None),
            (json!(true), None),
            (json!(null), None),
            (json!([2]), None),
        ] {
            assert_eq!(integer(&value), number, "{value}");
        }
    }

    #[test]
    fn what_is_repeated_is_short_and_printable() {
        assert_eq!(brief("a\u{1b}\u{202e}\"b\""), r#""a\u{1b}\u{202e}\"b\"""#);
        let cut = brief(&"é".repeat(1000));
        assert_eq!(cut.chars().count(), 83);
        assert!(cut.ends_with("…\""));
    }

    #[test]
    fn no_bytes_and_null_are_an_object_without_fields() {
        for bytes in [&b""[..], b" \n", b"null", b"{}"] {
            assert_eq!(object(bytes), Ok(Object::new()));
        }
    }
}
