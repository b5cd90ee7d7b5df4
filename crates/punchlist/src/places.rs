//! Where the user's own files lie: the data directory and the configuration.

use std::path::PathBuf;

use etcetera::BaseStrategy;
use etcetera::base_strategy::choose_native_strategy;

use crate::error::{Code, Fail};

/// The directory with the database and the record of trusted files.
pub(crate) fn data() -> Result<PathBuf, Fail> {
    Ok(strategy()?.data_dir().join("punchlist"))
}

/// The directory with what `acp-tap` heard.
pub(crate) fn heard() -> Result<PathBuf, Fail> {
    Ok(data()?.join("acp"))
}

/// The directory with whole outputs of calls, a directory a run.
pub(crate) fn outputs() -> Result<PathBuf, Fail> {
    Ok(data()?.join("output"))
}

/// The user's own configuration file, which need not exist.
pub(crate) fn config() -> Result<PathBuf, Fail> {
    Ok(strategy()?.config_dir().join("punchlist").join("config.toml"))
}

/// The user's home directory, if there is one.
pub(crate) fn home() -> Option<PathBuf> {
    etcetera::home_dir().ok()
}

fn strategy() -> Result<impl BaseStrategy, Fail> {
    choose_native_strategy().map_err(|_| {
        Fail::new(Code::Unusable, "there is no home directory to keep plans in")
            .hint("set HOME, or choose a file with `--db` or PUNCHLIST_DB.")
    })
}
