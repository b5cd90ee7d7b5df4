//! Edits a TOML file in place: comments, order and layout of everything else stay.
//!
//! `toml_edit` keeps the layout. The difference between the old and the new text is stored as one
//! splice, so that it can be reversed like an edit of JSON. The new text is accepted only if it has
//! the wanted values and all others are unchanged.

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::edit::{BOM, Malformed, Splice};

/// A TOML file being edited.
#[derive(Clone, Debug)]
pub(crate) struct Toml {
    /// Whether it began with a byte order mark.
    marked: bool,
    text: String,
    splices: Vec<Splice>,
}

impl Toml {
    /// Parses a file.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let text = Malformed::text(bytes)?;
        let (marked, text) = match text.strip_prefix(BOM) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        parsed(text)?;
        Ok(Self { marked, text: text.to_owned(), splices: Vec::new() })
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

    /// The content of the file.
    pub(crate) fn value(&self) -> Value {
        parsed(&self.text).map_or(Value::Null, |doc| table(doc.as_table()))
    }

    /// The value at a path.
    pub(crate) fn get(&self, key_path: &[&str]) -> Option<Value> {
        let doc = parsed(&self.text).ok()?;
        let mut here = doc.as_item();
        for name in key_path {
            here = here.as_table_like()?.get(name)?;
        }
        plain(here)
    }

    /// Sets the value at a path. Missing tables are created. An error says which value on the path
    /// is not a table.
    pub(crate) fn put(&mut self, key_path: &[&str], value: &Value) -> Result<(), String> {
        if self.get(key_path).as_ref() == Some(value) {
            return Ok(());
        }
        let mut wanted = self.value();
        set(&mut wanted, key_path, value);
        self.edit(wanted, |doc| {
            let Some((last, above)) = key_path.split_last() else { return Ok(()) };
            let mut here: &mut dyn TableLike = doc.as_table_mut();
            let mut is_inline = false;
            for (at, name) in above.iter().enumerate() {
                let made = if is_inline {
                    Item::Value(InlineTable::new().into())
                } else {
                    let mut made = Table::new();
                    // A table that only contains tables needs no header line.
                    made.set_implicit(at + 1 < above.len());
                    Item::Table(made)
                };
                let next = here.entry(name).or_insert(made);
                is_inline = next.is_inline_table();
                let place = above[..=at].join(".");
                here = next.as_table_like_mut().ok_or(format!("{place} is not a table"))?;
            }
            let item = item(value).ok_or("a value that TOML does not have")?;
            match here.get_mut(last) {
                // A comment on the same line stays.
                Some(Item::Value(there)) => {
                    let decor = there.decor().clone();
                    let mut new = item.into_value().map_err(|_| "not a value")?;
                    *new.decor_mut() = decor;
                    *there = new;
                }
                Some(_) | None => drop(here.insert(last, item)),
            }
            Ok(())
        })
    }

    /// Removes the value at a path.
    pub(crate) fn remove(&mut self, key_path: &[&str]) -> Result<(), String> {
        if self.get(key_path).is_none() {
            return Ok(());
        }
        let mut wanted = self.value();
        unset(&mut wanted, key_path);
        self.edit(wanted, |doc| {
            let Some((last, above)) = key_path.split_last() else { return Ok(()) };
            let mut here: &mut dyn TableLike = doc.as_table_mut();
            for name in above {
                let next = here.get_mut(name).and_then(Item::as_table_like_mut);
                here = next.ok_or("not a table")?;
            }
            here.remove(last);
            Ok(())
        })
    }

    /// Edits the text, if the result has the wanted content.
    fn edit(
        &mut self,
        wanted: Value,
        edit: impl FnOnce(&mut DocumentMut) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut doc = parsed(&self.text).map_err(|why| why.what)?;
        edit(&mut doc)?;
        let mut new = doc.to_string();
        // The library writes `
        // ` even into a file with `\r
        // `.
        if self.text.contains("\r\n") && !self.text.replace("\r\n", "").contains('\n') {
            new = new.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        let says = parsed(&new).map(|doc| table(doc.as_table()));
        if says.ok().map(without_empty) != Some(without_empty(wanted)) {
            return Err("its layout cannot be edited".to_owned());
        }
        self.splices.extend(Splice::between(&self.text, &new));
        self.text = new;
        Ok(())
    }
}

fn parsed(text: &str) -> Result<DocumentMut, Malformed> {
    text.parse::<DocumentMut>().map_err(|why| {
        let at = why.span().map_or(0, |span| span.start.min(text.len()));
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let what = why.message().lines().next().unwrap_or("not TOML").to_owned();
        Malformed { line, column, what }
    })
}

fn table(table: &dyn TableLike) -> Value {
    let members = table.iter().filter_map(|(name, item)| Some((name.to_owned(), plain(item)?)));
    Value::Object(members.collect())
}

/// A value without layout. A value that JSON does not have becomes a text, because it is only
/// compared.
fn plain(item: &Item) -> Option<Value> {
    Some(match item {
        Item::None => return None,
        Item::Table(it) => table(it),
        Item::ArrayOfTables(it) => Value::Array(it.iter().map(|it| table(it)).collect()),
        Item::Value(it) => value(it),
    })
}

fn value(it: &toml_edit::Value) -> Value {
    match it {
        toml_edit::Value::String(it) => Value::from(it.value().as_str()),
        toml_edit::Value::Integer(it) => Value::from(*it.value()),
        toml_edit::Value::Boolean(it) => Value::from(*it.value()),
        toml_edit::Value::Float(it) => Value::from(format!("{:?}", it.value())),
        toml_edit::Value::Datetime(it) => Value::from(it.value().to_string()),
        toml_edit::Value::Array(it) => Value::Array(it.iter().map(value).collect()),
        toml_edit::Value::InlineTable(it) => table(it),
    }
}

/// A value as TOML; tables get their own header line.
fn item(value: &Value) -> Option<Item> {
    Some(match value {
        Value::Bool(it) => toml_edit::value(*it),
        Value::Number(it) => toml_edit::value(it.as_i64()?),
        Value::String(it) => toml_edit::value(it.as_str()),
        Value::Array(it) => {
            let mut array = Array::new();
            for it in it {
                array.push(item(it)?.into_value().ok()?);
            }
            toml_edit::value(array)
        }
        Value::Object(it) => {
            let mut table = Table::new();
            for (name, it) in it {
                table.insert(name, item(it)?);
            }
            Item::Table(table)
        }
        Value::Null => return None,
    })
}

/// A value on one line, as an option of a command takes it; `None` if TOML has no such value.
pub(crate) fn inline(value: &Value) -> Option<String> {
    Some(item(value)?.into_value().ok()?.to_string())
}

fn set(whole: &mut Value, key_path: &[&str], value: &Value) {
    let mut here = whole;
    for name in key_path {
        if !here.is_object() {
            *here = Value::Object(Map::new());
        }
        here = &mut here[*name];
    }
    *here = value.clone();
}

fn unset(whole: &mut Value, key_path: &[&str]) {
    let Some((last, above)) = key_path.split_last() else { return };
    let here = above.iter().try_fold(whole, |here, name| here.get_mut(*name));
    if let Some(Value::Object(here)) = here {
        here.shift_remove(*last);
    }
}

/// A value without empty tables: a table that only contained tables goes with the last of them. The
/// order of keys does not matter.
fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(all) => {
            let mut all: Vec<(String, Value)> =
                all.into_iter().map(|(name, it)| (name, without_empty(it))).collect();
            all.retain(|(_, it)| !it.as_object().is_some_and(Map::is_empty));
            all.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(all.into_iter().collect())
        }
        Value::Array(all) => all.into_iter().map(without_empty).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
