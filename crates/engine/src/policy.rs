//! Policy in files, and what it must know of a command line.
//!
//! [`checks`] says which checks may run; [`rules`] reads and writes rules in TOML; [`shell`] says which commands a command line consists
//! of. Whether a call may run is decided by the scheduler's policy, in `sched`.

pub mod checks;
pub mod rules;
pub mod shell;
