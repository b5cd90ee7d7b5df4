//! The dashboard in a real browser: Debian's Chromium, driven over WebDriver.
//!
//! `cargo xtask test browser` provides browser, driver and axe-core; otherwise the tests are
//! ignored. Each test has a server, a database and a browser profile of its own. Nothing is waited
//! for by time: a test waits, for a bounded time, until the page shows what it must show.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop there"
)]

mod access;
mod acts;
mod browser;
mod hostile;
mod live;
mod look;
mod questions;
mod site;
mod web_driver;
