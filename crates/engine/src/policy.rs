//! Who may do what: rules in files, and what only a person may allow.
//!
//! [`rules`] reads and writes rules in TOML; [`shell`] says which commands a command line consists
//! of. Whether a call may run is decided by the scheduler's policy, in `sched`. [`human`] tells people from
//! agents, [`checks`] says whether a check may run, [`consent`] keeps a person's consent to checks that
//! agents wrote, [`explain`] says what the rules do with a call and why, and [`trusted_files`] says which files of a project may be used.

pub mod checks;
pub mod consent;
pub mod explain;
pub mod human;
pub mod rules;
pub mod shell;
pub mod trusted_files;
