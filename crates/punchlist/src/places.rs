//! The user's directories, from the environment and the password database.
//!
//! The engine decides which of the two counts for this caller.

use std::env;
use std::path::PathBuf;

use etcetera::BaseStrategy;
use etcetera::base_strategy::choose_native_strategy;
use punchlist_engine::places::{self, Directories, FromEnvironment, Places};
use punchlist_engine::policy::trusted_files::TrustedFiles;

use crate::fail::Fail;
use crate::person;

/// The user's directories.
pub(crate) fn find() -> Result<Places, Fail> {
    let directories = choose_native_strategy().ok().map(|it| Directories {
        data: it.data_dir().join("punchlist"),
        config: it.config_dir().join("punchlist"),
    });
    let environment = FromEnvironment { directories, home: home() };
    Places::find(person::called_by(), environment, account_home)
}

/// The directory with the database and the record of trusted files.
pub(crate) fn data() -> Result<PathBuf, Fail> {
    Ok(find()?.data)
}

/// The user's database.
pub(crate) fn database() -> Result<PathBuf, Fail> {
    Ok(find()?.database())
}

/// The directory with the lists that `acp-tap` records.
pub(crate) fn acp_lists() -> Result<PathBuf, Fail> {
    Ok(find()?.acp_lists())
}

/// The directory with the whole outputs of calls, one directory per run.
pub(crate) fn outputs() -> Result<PathBuf, Fail> {
    Ok(find()?.outputs())
}

/// The user's own configuration file, which need not exist.
pub(crate) fn config() -> Result<PathBuf, Fail> {
    Ok(find()?.config_file())
}

/// The directory with the user's own slash commands, which need not exist.
pub(crate) fn commands() -> Result<PathBuf, Fail> {
    Ok(find()?.commands())
}

/// The user's home directory, if there is one.
pub(crate) fn home() -> Option<PathBuf> {
    etcetera::home_dir().ok()
}

/// The user's record of trusted files.
pub(crate) fn trusted_files() -> TrustedFiles {
    TrustedFiles { data: data().ok(), called_by: person::called_by() }
}

/// Records the directories of a person, for later calls by agents.
pub(crate) fn record() -> Result<(), Fail> {
    let found = find()?;
    account_home().map_or(Ok(()), |home| found.record(&home))
}

/// Removes that record.
pub(crate) fn forget() {
    if let Some(home) = account_home() {
        places::forget(&home);
    }
}

/// The home directory in the password database, whatever `HOME` says; `None` if the user is not in
/// it.
///
/// In debug builds, tests set `PUNCHLIST_HOME` instead. Release builds ignore it.
fn account_home() -> Option<PathBuf> {
    if cfg!(debug_assertions)
        && let Some(home) = env::var_os("PUNCHLIST_HOME")
    {
        return Some(PathBuf::from(home)).filter(|it| it.is_absolute());
    }
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok()??;
    Some(user.dir).filter(|it| it.is_absolute() && it.is_dir())
}
