//! Where the user's own files lie: the data directory and the configuration.
//!
//! Where a person calls, the environment says that, as everywhere. Where an agent does, it does not count:
//! an agent sets what it likes in the environment of what it starts, and could bring its own rules along. Then
//! the directories are those that `install` recorded under the home directory of the password database, else
//! that home's defaults.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use etcetera::base_strategy::choose_native_strategy;
use punchlist_bridge::replace;
use serde::{Deserialize, Serialize};

use crate::error::{Code, Fail};
use crate::{person, private};

/// The directories, with our own name at their end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Directories {
    data: PathBuf,
    config: PathBuf,
}

/// The file under the home directory of the password database, in its default data directory.
const RECORD: &str = "places.json";

/// The directory with the database and the record of trusted files.
pub(crate) fn data() -> Result<PathBuf, Fail> {
    Ok(directories()?.data)
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
    Ok(directories()?.config.join("config.toml"))
}

/// The user's home directory, if there is one.
pub(crate) fn home() -> Option<PathBuf> {
    etcetera::home_dir().ok()
}

/// Records where a person keeps things, for the calls that agents will make. Nothing is written where that is
/// what an agent would find anyway.
pub(crate) fn record() -> Result<(), Fail> {
    let (Some(home), now) = (account_home(), directories()?) else { return Ok(()) };
    let usual = Directories::usual(&home);
    let file = usual.data.join(RECORD);
    let failed = |why| Fail::new(Code::Unusable, format!("cannot write {}: {why}", file.display()));
    let known = recorded(&home).unwrap_or_else(|| usual.clone());
    if known == now {
        return Ok(());
    }
    if now == usual {
        return fs::remove_file(&file).map_err(failed);
    }
    let text = serde_json::to_string(&now).unwrap_or_default();
    private::directory(&usual.data).map_err(failed)?;
    replace::private(&file, text.as_bytes()).map_err(failed)
}

/// Takes the record away, with what is empty then.
pub(crate) fn forget() {
    if let Some(home) = account_home() {
        let data = Directories::usual(&home).data;
        if fs::remove_file(data.join(RECORD)).is_ok() {
            fs::remove_dir(data).ok();
        }
    }
}

fn directories() -> Result<Directories, Fail> {
    if person::is_agent()
        && let Some(home) = account_home()
    {
        return Ok(recorded(&home).unwrap_or_else(|| Directories::usual(&home)));
    }
    let strategy = choose_native_strategy().map_err(|_| {
        Fail::new(Code::Unusable, "there is no home directory to keep plans in")
            .hint("set HOME, or choose a file with `--db` or PUNCHLIST_DB.")
    })?;
    Ok(Directories {
        data: strategy.data_dir().join("punchlist"),
        config: strategy.config_dir().join("punchlist"),
    })
}

impl Directories {
    /// The defaults under a home directory.
    fn usual(home: &Path) -> Self {
        let (data, config) = if cfg!(target_os = "macos") {
            ("Library/Application Support", "Library/Preferences")
        } else {
            (".local/share", ".config")
        };
        Self {
            data: home.join(data).join("punchlist"),
            config: home.join(config).join("punchlist"),
        }
    }
}

/// What `install` recorded. A file of somebody else's, or one that says no path, is none.
fn recorded(home: &Path) -> Option<Directories> {
    let file = Directories::usual(home).data.join(RECORD);
    if !private::is_own(&fs::symlink_metadata(&file).ok()?) {
        return None;
    }
    let found: Directories = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
    (found.data.is_absolute() && found.config.is_absolute()).then_some(found)
}

/// The home directory that the password database has for this user, whatever `HOME` says; `None` for a user
/// whom it does not know.
///
/// In debug builds `PUNCHLIST_HOME` replaces it, for tests; a release build does not know it.
fn account_home() -> Option<PathBuf> {
    if cfg!(debug_assertions)
        && let Some(home) = env::var_os("PUNCHLIST_HOME")
    {
        return Some(PathBuf::from(home)).filter(|it| it.is_absolute());
    }
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok()??;
    Some(user.dir).filter(|it| it.is_absolute() && it.is_dir())
}
