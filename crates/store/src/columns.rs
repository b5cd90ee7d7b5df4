//! A row of either database, read by column, so that both stores read their rows with the same code.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::error::Error as StdError;

use punchlist_model::{Number, Revision, Timestamp};
use rusqlite::types::Type;
use serde::de::DeserializeOwned;

use crate::rows::read_json;

/// A row.
pub(crate) trait Columns {
    /// The error for a column that cannot be read.
    type Error;

    /// A column with a text.
    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, Self::Error>;

    /// A column with a whole number, or with a truth value, which is 0 or 1.
    fn int(&self, column: usize) -> Result<Option<i64>, Self::Error>;

    /// The error for a value that no version of Punchlist writes.
    fn strange(column: usize, what: impl Into<Box<dyn StdError + Send + Sync>>) -> Self::Error;
}

impl Columns for rusqlite::Row<'_> {
    type Error = rusqlite::Error;

    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, Self::Error> {
        Ok(self.get_ref(column)?.as_str_or_null()?.map(Cow::Borrowed))
    }

    fn int(&self, column: usize) -> Result<Option<i64>, Self::Error> {
        self.get(column)
    }

    fn strange(column: usize, what: impl Into<Box<dyn StdError + Send + Sync>>) -> Self::Error {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.into())
    }
}

/// A column with a text.
pub(crate) fn string<R: Columns>(row: &R, column: usize) -> Result<String, R::Error> {
    present::<R, _>(row.text(column)?, column).map(Cow::into_owned)
}

/// A column with a text or NULL.
pub(crate) fn optional_string<R: Columns>(
    row: &R,
    column: usize,
) -> Result<Option<String>, R::Error> {
    Ok(row.text(column)?.map(Cow::into_owned))
}

/// A column with a number.
pub(crate) fn number<R: Columns, T: TryFrom<i64>>(row: &R, column: usize) -> Result<T, R::Error>
where
    T::Error: StdError + Send + Sync + 'static,
{
    let value = present::<R, _>(row.int(column)?, column)?;
    T::try_from(value).map_err(|error| R::strange(column, error))
}

/// A column with a number or NULL.
pub(crate) fn optional_number<R: Columns, T: TryFrom<i64>>(
    row: &R,
    column: usize,
) -> Result<Option<T>, R::Error>
where
    T::Error: StdError + Send + Sync + 'static,
{
    let number = row.int(column)?.map(T::try_from).transpose();
    number.map_err(|error| R::strange(column, error))
}

/// A column with a truth value.
pub(crate) fn flag<R: Columns>(row: &R, column: usize) -> Result<bool, R::Error> {
    Ok(present::<R, _>(row.int(column)?, column)? != 0)
}

/// A column with a text that is parsed.
pub(crate) fn parsed<R: Columns, T, E: Into<Box<dyn StdError + Send + Sync>>>(
    row: &R,
    column: usize,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, R::Error> {
    let text = present::<R, _>(row.text(column)?, column)?;
    parse(&text).map_err(|error| R::strange(column, error))
}

/// A column with a text that is parsed, or NULL.
pub(crate) fn optional_parsed<R: Columns, T, E: Into<Box<dyn StdError + Send + Sync>>>(
    row: &R,
    column: usize,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, R::Error> {
    let parsed = row.text(column)?.map(|it| parse(&it)).transpose();
    parsed.map_err(|error| R::strange(column, error))
}

/// A column with milliseconds since 1970.
pub(crate) fn time<R: Columns>(row: &R, column: usize) -> Result<Timestamp, R::Error> {
    present::<R, _>(optional_time(row, column)?, column)
}

/// A column with milliseconds since 1970, or NULL.
pub(crate) fn optional_time<R: Columns>(
    row: &R,
    column: usize,
) -> Result<Option<Timestamp>, R::Error> {
    let time = row.int(column)?.map(Timestamp::from_millisecond).transpose();
    time.map_err(|error| R::strange(column, error))
}

/// A column with a revision.
pub(crate) fn revision<R: Columns>(row: &R, column: usize) -> Result<Revision, R::Error> {
    number(row, column).map(Revision)
}

/// A column with JSON or NULL.
pub(crate) fn from_json<R: Columns, T: DeserializeOwned>(
    row: &R,
    column: usize,
) -> Result<Option<T>, R::Error> {
    let Some(text) = row.text(column)? else { return Ok(None) };
    read_json(&text).map(Some).map_err(|error| R::strange(column, error))
}

/// A column with numbers between commas, or NULL.
pub(crate) fn numbers<R: Columns>(row: &R, column: usize) -> Result<BTreeSet<Number>, R::Error> {
    let Some(text) = row.text(column)? else { return Ok(BTreeSet::new()) };
    let numbers: Result<_, _> = text.split(',').map(str::parse).collect();
    numbers.map_err(|error| R::strange(column, error))
}

fn present<R: Columns, T>(value: Option<T>, column: usize) -> Result<T, R::Error> {
    value.ok_or_else(|| R::strange(column, "it is NULL"))
}
