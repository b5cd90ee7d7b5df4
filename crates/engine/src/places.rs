//! Where the user's own files are: the data directory and the configuration.
//!
//! If a person calls, the environment names the directories, as usual. If an agent calls, the
//! environment does not count: an agent can set any variable for the programs that it starts, and
//! so could bring its own rules. Then the directories are those that `install` recorded under the
//! home directory from the password database, or the defaults in that home directory. The caller
//! passes in the environment and that home directory.

use std::fs;
use std::path::{Path, PathBuf};

use punchlist_bridge::{private, replace};
use serde::{Deserialize, Serialize};

use crate::fail::{Code, Fail};
use crate::policy::human::CalledBy;

/// The user's directories.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// The directory with the database and the record of trusted files.
    pub data: PathBuf,
    /// The directory with the configuration file.
    pub config: PathBuf,
    /// The home directory from the environment, if set.
    pub home: Option<PathBuf>,
}

/// The data and the configuration directory, both ending in our name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Directories {
    /// The directory with the database and the record of trusted files.
    pub data: PathBuf,
    /// The directory with the configuration file.
    pub config: PathBuf,
}

/// The user's directories according to the environment.
#[derive(Clone, Debug)]
pub struct FromEnvironment {
    /// The directories that the environment names, or their defaults in its home directory.
    pub directories: Option<Directories>,
    /// The home directory that the environment names.
    pub home: Option<PathBuf>,
}

/// The file with the recorded directories. It is in the default data directory of the password
/// database's home directory.
const RECORD: &str = "places.json";

impl Places {
    /// The directories for a caller. `account_home` returns this user's home directory from the
    /// password database; it is only called if an agent calls.
    pub fn find(
        called_by: CalledBy,
        environment: FromEnvironment,
        account_home: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<Self, Fail> {
        let account_home = called_by.is_agent().then(account_home).flatten();
        let directories = match account_home {
            Some(home) => recorded(&home).unwrap_or_else(|| Directories::usual(&home)),
            None => environment.directories.ok_or_else(no_home)?,
        };
        Ok(Self { data: directories.data, config: directories.config, home: environment.home })
    }

    /// The user's database.
    pub fn database(&self) -> PathBuf {
        self.data.join("punchlist.db")
    }

    /// The directory with the lists that `acp-tap` saw.
    pub fn acp_lists(&self) -> PathBuf {
        self.data.join("acp")
    }

    /// The directory with the outputs of calls, one directory per run.
    pub fn outputs(&self) -> PathBuf {
        self.data.join("output")
    }

    /// The user's own configuration file, which need not exist.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The directory with the user's own slash commands, which need not exist.
    pub fn commands(&self) -> PathBuf {
        self.config.join("commands")
    }

    /// Records the person's directories for later calls by agents. Nothing is written if agents
    /// find the same directories without a record.
    pub fn record(&self, account_home: &Path) -> Result<(), Fail> {
        let now = Directories { data: self.data.clone(), config: self.config.clone() };
        let usual = Directories::usual(account_home);
        let file = usual.data.join(RECORD);
        let failed =
            |why| Fail::new(Code::Unusable, format!("cannot write {}: {why}", file.display()));
        let known = recorded(account_home).unwrap_or_else(|| usual.clone());
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
}

/// Removes the record, and its directory if that is empty.
pub fn forget(account_home: &Path) {
    let data = Directories::usual(account_home).data;
    if fs::remove_file(data.join(RECORD)).is_ok() {
        fs::remove_dir(data).ok();
    }
}

/// The error if there is no home directory.
pub fn no_home() -> Fail {
    Fail::new(Code::Unusable, "there is no home directory to keep plans in")
        .hint("set HOME, or choose a file with `--db` or PUNCHLIST_DB.")
}

impl Directories {
    /// The default directories in a home directory.
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

/// The recorded directories. A file of another user, or one with relative paths, is ignored.
fn recorded(home: &Path) -> Option<Directories> {
    let file = Directories::usual(home).data.join(RECORD);
    if !private::is_own(&fs::symlink_metadata(&file).ok()?) {
        return None;
    }
    let found: Directories = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
    (found.data.is_absolute() && found.config.is_absolute()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directories(root: &Path) -> Directories {
        Directories { data: root.join("data"), config: root.join("config") }
    }

    #[test]
    fn the_environment_counts_for_people_and_the_record_for_agents() {
        let dir = tempfile::tempdir().unwrap();
        let (home, set) = (dir.path().join("home"), directories(&dir.path().join("set")));
        let find = |directories: &Directories, called_by| {
            let environment =
                FromEnvironment { directories: Some(directories.clone()), home: None };
            Places::find(called_by, environment, || Some(home.clone())).unwrap()
        };
        let (person, agent) = (CalledBy::PersonElsewhere, CalledBy::Agent("claude"));
        assert_eq!(find(&set, person).data, set.data);
        assert_eq!(find(&set, agent).data, Directories::usual(&home).data);
        find(&set, person).record(&home).unwrap();
        let other = directories(&dir.path().join("other"));
        assert_eq!(find(&other, agent).config, set.config);
        forget(&home);
        assert_eq!(find(&set, agent).config, Directories::usual(&home).config);
    }

    #[test]
    fn without_a_home_directory_there_is_no_place() {
        let environment = FromEnvironment { directories: None, home: None };
        for by in [CalledBy::PersonAtTerminal, CalledBy::Agent("claude")] {
            assert_eq!(
                Places::find(by, environment.clone(), || None).unwrap_err().code,
                Code::Unusable
            );
        }
    }
}
