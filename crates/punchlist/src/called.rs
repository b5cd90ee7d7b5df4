//! How an agent's shell must call this program, so that commands shown to an agent work as they
//! stand.

use std::env;
use std::path::PathBuf;

use punchlist_bridge::doctor::is_same_file;
use punchlist_bridge::install::entries::word;
use punchlist_bridge::program;

use crate::agent;
use crate::app::App;
use crate::args::Globals;
use crate::database;

/// The beginning of such a command: the program's name if it is on the search path, else its path,
/// and `--db` if the verb would otherwise use another database.
pub(crate) fn in_a_shell(app: &App) -> String {
    let search = env::var_os("PATH").unwrap_or_default();
    let own = agent::binary().ok();
    let mut words = program::shell_word("punchlist", own.as_deref(), env::split_paths(&search));
    if let Some(database) = database(app) {
        words.push_str(&format!(" --db {}", word(&database.to_string_lossy())));
    }
    words
}

/// The database of this call, if a verb without `--db` would use another one.
fn database(app: &App) -> Option<PathBuf> {
    let used = app.database_options().ok()?.named();
    let plain = App::new(Globals { db: None, ..app.globals.clone() });
    let other = plain.database_options().ok()?.named();
    if other == used || is_same_file(&other, &used) {
        return None;
    }
    if database::is_address(&used) {
        return Some(used);
    }
    Some(std::path::absolute(&used).unwrap_or(used))
}
