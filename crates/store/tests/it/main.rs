//! The conformance suite of stores, and tests of what SQLite promises beyond it.

// `cfg(test)` is always on here; it tells the lints that this is a test.
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod example;
#[cfg(test)]
mod pooler;
#[cfg(test)]
mod postgres;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod sqlite;
#[cfg(test)]
mod support;
