//! Edits a JSON file in place: everything else stays as it is, byte for byte.
//!
//! The file is parsed only to find positions; each edit is one splice of the text. So comments,
//! order, indentation, line ends and even duplicate keys survive, and an edit can be reversed
//! exactly. Of duplicate keys the last one counts, as in the programs that read these files. This
//! module knows no agent and does no I/O.

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

/// One edit: at this byte of the text, `removed` was replaced by `inserted` bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Splice {
    at: usize,
    removed: String,
    inserted: usize,
}

/// One step of a path to a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step<'a> {
    /// Into an object.
    Key(&'a str),
    /// Into an array.
    Index(usize),
}

/// Why a text cannot be edited as JSON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Malformed {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) what: String,
}

impl Malformed {
    /// The bytes as UTF-8, or the position of the first invalid byte.
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
    /// The splice that turns one text into another; `None` if they are equal.
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

/// Which deviations from JSON a program accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Forgives {
    pub(crate) comments: bool,
    pub(crate) trailing_commas: bool,
}

impl Forgives {
    /// Everything that this parser accepts, so that entries can be removed from any file.
    const ALL: Self = Self { comments: true, trailing_commas: true };
}

/// The path does not fit the file: a value on it is not an object or array. Contains how many steps
/// of the path exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unfit(pub(crate) usize);

impl Document {
    /// Parses a file. Comments and trailing commas are accepted, because some files contain them.
    /// An empty file counts as an empty object.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let text = Malformed::text(bytes)?;
        let (marked, text) = match text.strip_prefix(BOM) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        parsed(text)?;
        Ok(Self { marked, text: text.to_owned(), splices: Vec::new() })
    }

    /// Whether a program with this tolerance can read the file. Every program can read an empty
    /// one.
    pub(crate) fn check(&self, forgives: Forgives) -> Result<(), Malformed> {
        parsed_by(&self.text, forgives).map(drop)
    }

    /// The current bytes of the file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mark = if self.marked { BOM } else { "" };
        [mark.as_bytes(), self.text.as_bytes()].concat()
    }

    /// The edits, in order.
    pub(crate) fn splices(&self) -> &[Splice] {
        &self.splices
    }

    /// The content of the file; an empty object for an empty file.
    pub(crate) fn value(&self) -> Value {
        let root = parsed(&self.text).ok().flatten();
        root.map_or_else(|| Value::Object(serde_json::Map::new()), |root| plain(&root))
    }

    /// The value at a path.
    pub(crate) fn get(&self, key_path: &[Step<'_>]) -> Option<Value> {
        let root = parsed(&self.text).ok()??;
        let (found, gone) = walk(&root, key_path);
        (gone == key_path.len()).then(|| plain(found))
    }

    /// Sets the value at a path: replaces an existing one, otherwise adds it at the end of its
    /// object or array. Missing objects on the path are created.
    pub(crate) fn put(&mut self, key_path: &[Step<'_>], value: &Value) -> Result<(), Unfit> {
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
                    let made = shape.drawn(&wrapped(key_path, value).ok_or(Unfit(0))?, "", true);
                    (self.text.len(), self.text.len(), format!("{gap}{made}{}", shape.line_end))
                }
                Some(root) => {
                    let (found, gone) = walk(&root, key_path);
                    match key_path.get(gone..) {
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

    /// Removes the value at a path, together with its key and comma.
    pub(crate) fn remove(&mut self, key_path: &[Step<'_>]) {
        let Some((last, above)) = key_path.split_last() else { return };
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

/// Reverses splices, the last one first. `None` if they do not fit these bytes.
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

/// Follows a path as far as it exists; returns the last value and the number of steps.
fn walk<'a, 'b>(root: &'b ast::Value<'a>, key_path: &[Step<'_>]) -> (&'b ast::Value<'a>, usize) {
    let mut here = root;
    for (gone, step) in key_path.iter().enumerate() {
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
    (here, key_path.len())
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

/// The positions of the members of a container.
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

/// A value without positions. Of duplicate keys the last one counts.
fn plain(value: &ast::Value<'_>) -> Value {
    match value {
        ast::Value::StringLit(it) => Value::String(it.value.clone().into_owned()),
        ast::Value::NumberLit(it) => {
            // A number that `serde_json` cannot represent is not one that Punchlist needs.
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

/// The value inside objects for the given keys. `None` if an array would have to be created.
fn wrapped(key_path: &[Step<'_>], value: &Value) -> Option<Value> {
    key_path.iter().rev().try_fold(value.clone(), |inner, step| match step {
        Step::Key(key) => {
            Some(Value::Object(serde_json::Map::from_iter([((*key).to_owned(), inner)])))
        }
        Step::Index(0) => Some(Value::Array(vec![inner])),
        Step::Index(_) => None,
    })
}

/// The layout of a file.
struct Shape {
    line_end: &'static str,
    indent: String,
    has_lines: bool,
    /// Whether a space follows colons and commas.
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

    /// A value in the layout of this file, beginning on a line with this indentation.
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

    /// The splice that adds a value as the last member of a container. `None` if it is not a
    /// container.
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

/// The blanks at the beginning of the line of this byte, up to this byte.
fn indent_at(text: &str, at: usize) -> &str {
    let start = line_start(text, at);
    let line = &text[start..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |it| it + 1)
}

/// The position of the comma between two positions that have only blanks, comments and perhaps a
/// comma between them.
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

/// The length of the comment at the beginning of a text.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.starts_with("/*").then(|| text.find("*/").map_or(text.len(), |it| it + 2))
}

/// Where the comments after a position end, on the same line.
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
            // The `\r` of a `\r
            // ` is not part of the comment.
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

/// The splice that removes a member from the container between two positions.
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
        // Comments stay. If only blanks are left, they are removed too.
        let kept = format!("{}{}", &text[start + 1..own.0], &text[past..inner_end]);
        if kept.trim().is_empty() {
            return (start + 1, inner_end, String::new());
        }
    }
    let line = line_start(text, own.0);
    let blanks_before = text[line..own.0].trim().is_empty();
    match (at.checked_sub(1).and_then(|it| children.get(it)), own_comma) {
        // The last member: remove the comma before it.
        (Some(previous), None) => match comma(text, previous.1, own.0) {
            Some(comma) => {
                let between = &text[comma + 1..own.0];
                let after = text[own.1..].trim_start_matches([' ', '\t', '\r']);
                // A line comment needs a line break after it.
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
                // The member is alone on its line: remove the line.
                return (line, past + blanks + 1, String::new());
            }
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            (own.0, past + blanks, String::new())
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
