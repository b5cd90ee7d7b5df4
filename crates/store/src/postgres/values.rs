//! Parameters of statements, and rows of results.

use std::borrow::Cow;
use std::error::Error as StdError;

use punchlist_model::{Number, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::error::Failure;
use crate::columns::Columns;
use crate::rows::millis;

/// A parameter. It is owned, so that a statement can be sent now and its answer be read later.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Int(Option<i64>),
    Bool(Option<bool>),
    Text(Option<String>),
    Ints(Vec<Option<i64>>),
    Bools(Vec<Option<bool>>),
    Texts(Vec<Option<String>>),
}

impl Value {
    /// Its type in SQL. Statements say the types of their parameters, so the server need not be asked.
    pub(crate) fn kind(&self) -> Type {
        match self {
            Self::Int(_) => Type::INT8,
            Self::Bool(_) => Type::BOOL,
            Self::Text(_) => Type::TEXT,
            Self::Ints(_) => Type::INT8_ARRAY,
            Self::Bools(_) => Type::BOOL_ARRAY,
            Self::Texts(_) => Type::TEXT_ARRAY,
        }
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Int(it) => it.to_sql(kind, out),
            Self::Bool(it) => it.to_sql(kind, out),
            Self::Text(it) => it.as_deref().map(without_nul).to_sql(kind, out),
            Self::Ints(it) => it.to_sql(kind, out),
            Self::Bools(it) => it.to_sql(kind, out),
            Self::Texts(it) => {
                let texts: Vec<_> = it.iter().map(|it| it.as_deref().map(without_nul)).collect();
                texts.to_sql(kind, out)
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// PostgreSQL cannot keep a NUL character, and some texts are kept as sent, whatever is in them: it is
/// written as this character and `0`. The character itself, which no language uses, is written as it and
/// `1`.
const ESCAPE: char = '\u{10fffe}';

/// A text as it is stored.
fn without_nul(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let text = text.replace(ESCAPE, &format!("{ESCAPE}1"));
    Cow::Owned(text.replace('\0', &format!("{ESCAPE}0")))
}

/// A text as it was sent.
fn with_nul(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let text = text.replace(&format!("{ESCAPE}0"), "\0");
    Cow::Owned(text.replace(&format!("{ESCAPE}1"), &ESCAPE.to_string()))
}

impl From<i64> for Value {
    fn from(it: i64) -> Self {
        Self::Int(Some(it))
    }
}

impl From<u32> for Value {
    fn from(it: u32) -> Self {
        Self::Int(Some(i64::from(it)))
    }
}

impl From<Option<i64>> for Value {
    fn from(it: Option<i64>) -> Self {
        Self::Int(it)
    }
}

impl From<Option<u32>> for Value {
    fn from(it: Option<u32>) -> Self {
        Self::Int(it.map(i64::from))
    }
}

impl From<Option<Number>> for Value {
    fn from(it: Option<Number>) -> Self {
        Self::Int(it.map(|it| i64::from(it.0)))
    }
}

impl From<Timestamp> for Value {
    fn from(it: Timestamp) -> Self {
        Self::Int(Some(millis(it)))
    }
}

impl From<Option<Timestamp>> for Value {
    fn from(it: Option<Timestamp>) -> Self {
        Self::Int(it.map(millis))
    }
}

impl From<bool> for Value {
    fn from(it: bool) -> Self {
        Self::Bool(Some(it))
    }
}

impl From<Option<bool>> for Value {
    fn from(it: Option<bool>) -> Self {
        Self::Bool(it)
    }
}

impl From<&str> for Value {
    fn from(it: &str) -> Self {
        Self::Text(Some(it.to_owned()))
    }
}

impl From<String> for Value {
    fn from(it: String) -> Self {
        Self::Text(Some(it))
    }
}

impl From<&String> for Value {
    fn from(it: &String) -> Self {
        Self::Text(Some(it.clone()))
    }
}

impl From<Option<&str>> for Value {
    fn from(it: Option<&str>) -> Self {
        Self::Text(it.map(str::to_owned))
    }
}

impl From<Option<String>> for Value {
    fn from(it: Option<String>) -> Self {
        Self::Text(it)
    }
}

impl From<&Option<String>> for Value {
    fn from(it: &Option<String>) -> Self {
        Self::Text(it.clone())
    }
}

/// A list of numbers.
pub(crate) fn ints<T: Into<i64>>(of: impl IntoIterator<Item = T>) -> Value {
    Value::Ints(of.into_iter().map(|it| Some(it.into())).collect())
}

/// A list of texts.
pub(crate) fn texts<T: Into<String>>(of: impl IntoIterator<Item = T>) -> Value {
    Value::Texts(of.into_iter().map(|it| Some(it.into())).collect())
}

/// Parameters.
macro_rules! params {
    ($($it:expr),* $(,)?) => { vec![$($crate::postgres::values::Value::from($it)),*] };
}
pub(crate) use params;

impl Columns for Row {
    type Error = Failure;

    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, Failure> {
        Ok(self.try_get::<_, Option<&str>>(column)?.map(with_nul))
    }

    fn int(&self, column: usize) -> Result<Option<i64>, Failure> {
        let kind = self.columns().get(column).map(|it| it.type_().clone());
        Ok(match kind {
            Some(Type::BOOL) => self.try_get::<_, Option<bool>>(column)?.map(i64::from),
            Some(Type::INT4) => self.try_get::<_, Option<i32>>(column)?.map(i64::from),
            Some(_) | None => self.try_get(column)?,
        })
    }

    fn strange(column: usize, what: impl Into<Box<dyn StdError + Send + Sync>>) -> Failure {
        Failure::Strange(format!("column {column}: {}", what.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_as_it_was_sent() {
        for text in
            ["", "plain", "a\0b", "\0", "\u{10fffe}", "\u{10fffe}0", "\u{10fffe}1\0\u{10fffe}"]
        {
            let stored = without_nul(text);
            assert!(!stored.contains('\0'));
            assert_eq!(with_nul(&stored), text);
        }
    }
}
