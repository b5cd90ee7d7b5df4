//! The contract of a store as a program, and what SQLite promises beyond it.

// `cfg(test)` is always on here; it tells the lints that this is a test.
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod example;
#[cfg(test)]
mod sqlite;
#[cfg(test)]
mod support;
