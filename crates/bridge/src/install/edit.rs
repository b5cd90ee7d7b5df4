//! Edits a JSON file as a person would: what is not meant stays as it is, byte for byte.
//!
//! A file is parsed only to learn where things stand; each edit is then one splice of its text. So
//! comments, order, indentation, line ends and even doubled keys survive by construction, and an
//! edit can be taken back exactly by its splices. Where a key is doubled, the last one counts, as
//! for the programs that read such files. Nothing here knows whose file it is, and nothing touches
//! the disk.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) const BOM: &str = "\u{feff}";

/// A JSON file being edited.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// Whether it began with a byte order mark.
    marked: bool,
    text: String,
    splices: Vec<Splice>,
}

/// One edit: at this byte of the text, `removed` was replaced by that many other bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Splice {
    at: usize,
    removed: String,
    inserted: usize,
}

/// One step of the way to a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step<'a> {
    /// Into an object.
    Key(&'a str),
    /// Into an array.
    Index(usize),
}

/// Why a text is no JSON that can be edited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Malformed {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) what: String,
}

impl Malformed {
    /// The bytes as text, or where they are none.
    pub(crate) fn text(bytes: &[u8]) -> Result<&str, Self> {
        std::str::from_utf8(bytes).map_err(|why| {
            let good = String::from_utf8_lossy(&bytes[..why.valid_up_to()]);
            let line = good.matches('\n').count() + 1;
            let column = good.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            Self { line, column, what: "not UTF-8".to_owned() }
        })
    }
}

impl Splice {
    /// The one edit that makes one text into another; `None` if they are the same.
    pub(crate) fn between(old: &str, new: &str) -> Option<Self> {
        if old == new {
            return None;
        }
        let same = |(one, other): &(char, char)| one == other;
        let front: usize =
            old.chars().zip(new.chars()).take_while(same).map(|(it, _)| it.len_utf8()).sum();
        let (old, new) = (&old[front..], &new[front..]);
        let back = old.chars().rev().zip(new.chars().rev()).take_while(same);
        let back: usize = back.map(|(it, _)| it.len_utf8()).sum();
        let removed = old[..old.len() - back].to_owned();
        Some(Self { at: front, removed, inserted: new.len() - back })
    }
}

/// What a program that reads such a file forgives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Forgives {
    pub(crate) comments: bool,
    pub(crate) trailing_commas: bool,
}

impl Forgives {
    /// What is forgiven here, so that whatever was written can be taken out again.
    const ALL: Self = Self { comments: true, trailing_commas: true };
}

/// The edit does not fit what is there: something on the way is not the object or array that it
/// would have to be. Holds how many steps of the way could be gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unfit(pub(crate) usize);

impl Document {
    /// Reads a file's bytes. Comments and trailing commas are tolerated, for some of those who write
    /// such files use them; an empty file counts as an empty object.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let text = Malformed::text(bytes)?;
        let (marked, text) = match text.strip_prefix(BOM) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        parsed(text)?;
        Ok(Self { marked, text: text.to_owned(), splices: Vec::new() })
    }

    /// Whether a program that forgives no more than this could read the file; an empty one can be.
    pub(crate) fn check(&self, forgives: Forgives) -> Result<(), Malformed> {
        parsed_by(&self.text, forgives).map(drop)
    }

    /// The file's bytes as they are now.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mark = if self.marked { BOM } else { "" };
        [mark.as_bytes(), self.text.as_bytes()].concat()
    }

    /// What was edited, in order.
    pub(crate) fn splices(&self) -> &[Splice] {
        &self.splices
    }

    /// What the file says; an empty object where it says nothing.
    pub(crate) fn value(&self) -> Value {
        let root = parsed(&self.text).ok().flatten();
        root.map_or_else(|| Value::Object(serde_json::Map::new()), |root| plain(&root))
    }

    /// The value at the end of a way.
    pub(crate) fn get(&self, way: &[Step<'_>]) -> Option<Value> {
        let root = parsed(&self.text).ok()??;
        let (found, gone) = walk(&root, way);
        (gone == way.len()).then(|| plain(found))
    }

    /// Puts a value at the end of a way: in place of what is there, else as the last of its object
    /// or array. Objects that are missing on the way are made.
    pub(crate) fn put(&mut self, way: &[Step<'_>], value: &Value) -> Result<(), Unfit> {
        let shape = Shape::of(&self.text);
        let splice = {
            let Ok(root) = parsed(&self.text) else { return Err(Unfit(0)) };
            match root {
                None => {
                    let gap = if self.text.is_empty() || self.text.ends_with('\n') {
                        ""
                    } else {
                        shape.line_end
                    };
                    let made = shape.drawn(&wrapped(way, value).ok_or(Unfit(0))?, "", true);
                    (self.text.len(), self.text.len(), format!("{gap}{made}{}", shape.line_end))
                }
                Some(root) => {
                    let (found, gone) = walk(&root, way);
                    match way.get(gone..) {
                        None | Some([]) => {
                            let range = found.range();
                            let old = &self.text[range.start..range.end];
                            let on_lines = old.contains('\n')
                                || shape.has_lines && !old.starts_with(['{', '[']);
                            let indent = indent_at(&self.text, range.start);
                            (range.start, range.end, shape.drawn(value, indent, on_lines))
                        }
                        Some([step, rest @ ..]) => {
                            let inner = wrapped(rest, value).ok_or(Unfit(gone))?;
                            let is_root = gone == 0;
                            shape
                                .insertion(&self.text, found, *step, &inner, is_root)
                                .ok_or(Unfit(gone))?
                        }
                    }
                }
            }
        };
        self.splice(splice);
        Ok(())
    }

    /// Takes the value at the end of a way out, together with its key and comma.
    pub(crate) fn remove(&mut self, way: &[Step<'_>]) {
        let Some((last, above)) = way.split_last() else { return };
        let splice = {
            let Ok(Some(root)) = parsed(&self.text) else { return };
            let (container, gone) = walk(&root, above);
            if gone != above.len() {
                return;
            }
            let children = children(container);
            let Some(at) = position(container, *last) else { return };
            removal(&self.text, container.range().start, container.range().end, &children, at)
        };
        self.splice(splice);
    }

    fn splice(&mut self, (start, end, new): (usize, usize, String)) {
        let removed = self.text[start..end].to_owned();
        if removed == new {
            return;
        }
        self.splices.push(Splice { at: start, removed, inserted: new.len() });
        self.text.replace_range(start..end, &new);
    }
}

/// Takes splices back, the last one first. `None` if they do not fit these bytes.
pub(crate) fn taken_back(bytes: &[u8], splices: &[Splice]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (mark, text) = text.strip_prefix(BOM).map_or(("", text), |rest| (BOM, rest));
    let mut text = text.to_owned();
    for splice in splices.iter().rev() {
        let end = splice.at.checked_add(splice.inserted)?;
        text.get(splice.at..end)?;
        text.replace_range(splice.at..end, &splice.removed);
    }
    Some([mark.as_bytes(), text.as_bytes()].concat())
}

fn parsed(text: &str) -> Result<Option<ast::Value<'_>>, Malformed> {
    parsed_by(text, Forgives::ALL)
}

fn parsed_by(text: &str, forgives: Forgives) -> Result<Option<ast::Value<'_>>, Malformed> {
    let options = ParseOptions {
        allow_comments: forgives.comments,
        allow_trailing_commas: forgives.trailing_commas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    parse_to_ast(text, &CollectOptions::default(), &options).map(|it| it.value).map_err(|why| {
        let what = why.kind().to_string();
        let mut letters = what.chars();
        let what = letters.next().map(|it| it.to_lowercase().chain(letters).collect::<String>());
        Malformed {
            line: why.line_display(),
            column: why.column_display(),
            what: what.unwrap_or_default(),
        }
    })
}

/// Follows a way as far as it goes; gives where it ended and how many steps were gone.
fn walk<'a, 'b>(root: &'b ast::Value<'a>, way: &[Step<'_>]) -> (&'b ast::Value<'a>, usize) {
    let mut here = root;
    for (gone, step) in way.iter().enumerate() {
        let next = position(here, *step).and_then(|at| match here {
            ast::Value::Object(object) => object.properties.get(at).map(|it| &it.value),
            ast::Value::Array(array) => array.elements.get(at),
            ast::Value::StringLit(_)
            | ast::Value::NumberLit(_)
            | ast::Value::BooleanLit(_)
            | ast::Value::NullKeyword(_) => None,
        });
        match next {
            Some(next) => here = next,
            None => return (here, gone),
        }
    }
    (here, way.len())
}

fn position(container: &ast::Value<'_>, step: Step<'_>) -> Option<usize> {
    match (container, step) {
        (ast::Value::Object(object), Step::Key(key)) => {
            object.properties.iter().rposition(|it| it.name.as_str() == key)
        }
        (ast::Value::Array(array), Step::Index(at)) => (at < array.elements.len()).then_some(at),
        _ => None,
    }
}

/// Where the members of a container stand.
fn children(container: &ast::Value<'_>) -> Vec<(usize, usize)> {
    match container {
        ast::Value::Object(it) => {
            it.properties.iter().map(|it| (it.range.start, it.range.end)).collect()
        }
        ast::Value::Array(it) => {
            it.elements.iter().map(|it| (it.range().start, it.range().end)).collect()
        }
        ast::Value::StringLit(_)
        | ast::Value::NumberLit(_)
        | ast::Value::BooleanLit(_)
        | ast::Value::NullKeyword(_) => Vec::new(),
    }
}

/// A value without its places. Of doubled keys the last counts.
fn plain(value: &ast::Value<'_>) -> Value {
    match value {
        ast::Value::StringLit(it) => Value::String(it.value.clone().into_owned()),
        ast::Value::NumberLit(it) => {
            // What no number of ours can hold is of no concern to us either.
            it.value.parse().map_or(Value::Null, Value::Number)
        }
        ast::Value::BooleanLit(it) => Value::Bool(it.value),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(it) => Value::Array(it.elements.iter().map(plain).collect()),
        ast::Value::Object(it) => {
            let members = it.properties.iter();
            Value::Object(
                members.map(|it| (it.name.as_str().to_owned(), plain(&it.value))).collect(),
            )
        }
    }
}

/// The value below the keys that lead to it. `None` where an array would have to be made up.
fn wrapped(way: &[Step<'_>], value: &Value) -> Option<Value> {
    way.iter().rev().try_fold(value.clone(), |inner, step| match step {
        Step::Key(key) => {
            Some(Value::Object(serde_json::Map::from_iter([((*key).to_owned(), inner)])))
        }
        Step::Index(0) => Some(Value::Array(vec![inner])),
        Step::Index(_) => None,
    })
}

/// How a file is laid out.
struct Shape {
    line_end: &'static str,
    indent: String,
    has_lines: bool,
    /// Whether a space stands behind colons and commas.
    spaced: bool,
}

impl Shape {
    fn of(text: &str) -> Self {
        let root = parsed(text).ok().flatten();
        let inside = root.as_ref().map_or("", |root| &text[root.range().start..root.range().end]);
        let first = root.as_ref().and_then(|root| children(root).first().copied());
        let indent = first
            .filter(|first| text[..first.0].ends_with(indent_at(text, first.0)))
            .map(|first| indent_at(text, first.0))
            .filter(|indent| !indent.is_empty())
            .unwrap_or("  ");
        let tight = match &root {
            Some(ast::Value::Object(it)) => it.properties.first().is_some_and(|it| {
                let between = &text[it.name.range().end..it.value.range().start];
                between == ":"
            }),
            _ => false,
        };
        Self {
            line_end: if text.contains("\r\n") { "\r\n" } else { "\n" },
            indent: indent.to_owned(),
            has_lines: inside.contains('\n'),
            spaced: !tight,
        }
    }

    /// A value as this file would have it, beginning on a line with that indentation.
    fn drawn(&self, value: &Value, indent: &str, on_lines: bool) -> String {
        let mut out = String::new();
        self.draw(&mut out, value, indent, on_lines);
        out
    }

    fn draw(&self, out: &mut String, value: &Value, indent: &str, on_lines: bool) {
        let members: Vec<(Option<&String>, &Value)> = match value {
            Value::Array(it) => it.iter().map(|it| (None, it)).collect(),
            Value::Object(it) => it.iter().map(|(key, it)| (Some(key), it)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return out.push_str(&value.to_string());
            }
        };
        let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
        out.push(open);
        let deeper = format!("{indent}{}", self.indent);
        for (n, (key, inner)) in members.iter().enumerate() {
            if n > 0 {
                out.push(',');
            }
            if on_lines {
                out.push_str(self.line_end);
                out.push_str(&deeper);
            } else if n > 0 && self.spaced {
                out.push(' ');
            }
            if let Some(key) = key {
                self.key(out, key);
            }
            self.draw(out, inner, &deeper, on_lines);
        }
        if on_lines && !members.is_empty() {
            out.push_str(self.line_end);
            out.push_str(indent);
        }
        out.push(close);
    }

    fn key(&self, out: &mut String, key: &str) {
        let spaced = if self.spaced { " " } else { "" };
        out.push_str(&format!("{}:{spaced}", Value::from(key)));
    }

    /// The splice that makes a value the last member of a container. `None` if it is not one.
    fn insertion(
        &self,
        text: &str,
        container: &ast::Value<'_>,
        step: Step<'_>,
        value: &Value,
        is_root: bool,
    ) -> Option<(usize, usize, String)> {
        let children = children(container);
        let key = match (container, step) {
            (ast::Value::Object(_), Step::Key(key)) => Some(key),
            (ast::Value::Array(_), Step::Index(at)) if at == children.len() => None,
            _ => return None,
        };
        let member = |indent: &str, on_lines: bool| {
            let mut out = String::new();
            if let Some(key) = key {
                self.key(&mut out, key);
            }
            self.draw(&mut out, value, indent, on_lines);
            out
        };
        let (start, end) = (container.range().start + 1, container.range().end - 1);
        let Some(last) = children.last() else {
            let kept = text[start..end].trim_end();
            let at = start + kept.len();
            if !self.has_lines && !is_root {
                return Some((at, end, member("", false)));
            }
            let outer = indent_at(text, container.range().start);
            let indent = format!("{outer}{}", self.indent);
            let (line_end, member) = (self.line_end, member(&indent, true));
            return Some((at, end, format!("{line_end}{indent}{member}{line_end}{outer}")));
        };
        let before = children.len().checked_sub(2).and_then(|at| children.get(at));
        let gap = &text[before.map_or(start, |it| it.1)..last.0];
        let comma = comma(text, last.1, end);
        let trailing = if comma.is_some() { "," } else { "" };
        let from = comma.map_or(last.1, |at| at + 1);
        if !gap.contains('\n') {
            let separator = if comma.is_some() { "" } else { "," };
            let space = if self.spaced { " " } else { "" };
            return Some((
                from,
                from,
                format!("{separator}{space}{}{trailing}", member("", false)),
            ));
        }
        let indent = indent_at(text, last.0);
        let to = rest_of_line(text, from, end);
        let separator = if comma.is_some() { "" } else { "," };
        let (kept, line_end) = (&text[from..to], self.line_end);
        let member = member(indent, true);
        Some((from, to, format!("{separator}{kept}{line_end}{indent}{member}{trailing}")))
    }
}

/// The blanks that the line of this byte begins with, up to that byte.
fn indent_at(text: &str, at: usize) -> &str {
    let start = line_start(text, at);
    let line = &text[start..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |it| it + 1)
}

/// The comma between two places that have nothing but blanks, comments and perhaps a comma between
/// them.
fn comma(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        if rest.starts_with(',') {
            return Some(at);
        }
        at += comment(rest).or_else(|| rest.chars().next().map(char::len_utf8))?;
    }
    None
}

/// How long the comment is that a text begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.starts_with("/*").then(|| text.find("*/").map_or(text.len(), |it| it + 2))
}

/// Where the comments end that stand behind a place, on its line.
fn rest_of_line(text: &str, from: usize, to: usize) -> usize {
    let mut end = from;
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        if let Some(length) = comment(rest) {
            let is_line = rest.starts_with("//");
            if rest[..length].contains('\n') {
                break;
            }
            // A line end of two characters is not part of the comment.
            at += rest[..length].trim_end_matches('\r').len();
            end = at;
            if is_line {
                break;
            }
        } else if rest.starts_with([' ', '\t']) {
            at += 1;
        } else {
            break;
        }
    }
    end
}

/// The splice that takes a member out of the container between two places.
fn removal(
    text: &str,
    start: usize,
    end: usize,
    children: &[(usize, usize)],
    at: usize,
) -> (usize, usize, String) {
    let own = children[at];
    let inner_end = end - 1;
    let own_comma = comma(text, own.1, children.get(at + 1).map_or(inner_end, |it| it.0));
    let past = own_comma.map_or(own.1, |it| it + 1);
    if children.len() == 1 {
        // Comments stay; what is left of blanks alone goes too.
        let kept = format!("{}{}", &text[start + 1..own.0], &text[past..inner_end]);
        if kept.trim().is_empty() {
            return (start + 1, inner_end, String::new());
        }
    }
    let line = line_start(text, own.0);
    let blanks_before = text[line..own.0].trim().is_empty();
    match (at.checked_sub(1).and_then(|it| children.get(it)), own_comma) {
        // The last one, and the comma before it is the one to go.
        (Some(previous), None) => match comma(text, previous.1, own.0) {
            Some(comma) => {
                let between = &text[comma + 1..own.0];
                let after = text[own.1..].trim_start_matches([' ', '\t', '\r']);
                // A comment that reaches to the end of its line needs a line end behind it.
                let kept = if between.contains("//") && !after.starts_with('\n') {
                    between.trim_end_matches([' ', '\t'])
                } else {
                    between.trim_end()
                };
                (comma, own.1, kept.to_owned())
            }
            None => (own.0, own.1, String::new()),
        },
        (_, _) => {
            let rest = &text[past..inner_end];
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
            if blanks_before && rest[blanks..].starts_with('\n') && line > start {
                // A line of its own: the line goes.
                return (line, past + blanks + 1, String::new());
            }
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            (own.0, past + blanks, String::new())
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
