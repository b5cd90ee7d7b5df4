//! Calls the engine about moved repositories, with this process's search path and reader.

use std::env;
use std::path::Path;
use std::time::Duration;

use punchlist_engine::project::repository::{self, Git};
use punchlist_model::store::Summary;

pub(crate) use punchlist_engine::project::repository::{PATIENCE, SHORT_PATIENCE, is_gone};

use crate::app::App;
use crate::project::Project;
use crate::{block_on, person};

/// Records the repository of a project, unless it is on record.
pub(crate) fn note(database: &Path, project: &Project, patience: Duration) {
    let search = env::var_os("PATH");
    repository::record(database, project, Git { search: search.as_deref(), patience });
}

/// The line that offers a moved project the plans of its old directory.
pub(crate) fn offer(app: &App) -> Option<String> {
    let (database, project) = (app.database().ok()?, app.project().ok()?);
    let origins = repository::possible_origins(database, project);
    if origins.is_empty() {
        return None;
    }
    let search = env::var_os("PATH");
    let git = Git { search: search.as_deref(), patience: PATIENCE };
    let store = app.store_to_read().ok()??;
    block_on(repository::offer(&*store, project, origins, git, person::reader()))
}

/// The directories of these plans that are gone, one per line, and what to do about it.
pub(crate) fn gone(plans: &[Summary]) -> String {
    repository::gone_directories(plans, person::reader())
}
