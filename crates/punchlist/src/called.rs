//! How an agent's shell must call this program, so that commands shown to an agent work as they
//! stand.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use punchlist_bridge::doctor::is_same_file;
use punchlist_bridge::install::entries::word;

use crate::agent;
use crate::app::App;
use crate::args::Globals;

/// The beginning of such a command: the program's name if it is on the search path, else its path,
/// and `--db` if the verb would otherwise use another database.
pub(crate) fn in_a_shell(app: &App) -> String {
    let search = env::var_os("PATH").unwrap_or_default();
    let own = agent::binary().ok();
    let mut words = program(own.as_deref(), &search);
    if let Some(database) = database(app) {
        words.push_str(&format!(" --db {}", word(&database.to_string_lossy())));
    }
    words
}

fn program(own: Option<&Path>, search: &OsStr) -> String {
    const NAME: &str = "punchlist";
    let found = env::split_paths(search).map(|it| it.join(NAME)).find(|it| agent::is_program(it));
    match own {
        Some(own) if !found.is_some_and(|it| is_same_file(&it, own)) => {
            word(&own.to_string_lossy())
        }
        Some(_) | None => NAME.to_owned(),
    }
}

/// The database of this call, if a verb without `--db` would use another one.
fn database(app: &App) -> Option<PathBuf> {
    let used = app.database().ok()?;
    let plain = App::new(Globals { db: None, ..app.globals.clone() });
    let other = plain.database().ok().is_none_or(|it| !is_same_file(it, used));
    other.then(|| std::path::absolute(used).unwrap_or_else(|_| used.clone()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_program_is_called_by_its_name_where_the_path_leads_to_it_and_else_by_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| {
            let directory = dir.path().join(name);
            fs::create_dir_all(&directory).unwrap();
            let program = directory.join("punchlist");
            fs::write(&program, name).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            (directory, program)
        };
        let (own_directory, own) = place("it's here");
        let (other_directory, _) = place("other");
        let path = |all: &[&PathBuf]| env::join_paths(all).unwrap();
        let by_path = format!("'{}'", own.to_string_lossy().replace('\'', "'\\''"));
        for (search, expected) in [
            (path(&[&own_directory]), "punchlist"),
            (path(&[&own_directory, &other_directory]), "punchlist"),
            (path(&[&other_directory, &own_directory]), by_path.as_str()),
            (path(&[&other_directory]), by_path.as_str()),
            (path(&[]), by_path.as_str()),
        ] {
            assert_eq!(program(Some(&own), &search), expected, "{search:?}");
        }
    }
}
