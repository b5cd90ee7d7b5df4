//! Detects moved repositories with the engine, using this process's search path.

use std::env;
use std::path::Path;
use std::time::Duration;

use punchlist_engine::project::repository::{self, Git};
use punchlist_model::store::Summary;

pub(crate) use punchlist_engine::project::repository::{PATIENCE, SHORT_PATIENCE, is_gone};

use crate::app::App;
use crate::project::Project;
use crate::{block_on, person};

/// Records the repository of a project, unless it is recorded already.
pub(crate) fn note(database: &Path, project: &Project, patience: Duration) {
    let search = env::var_os("PATH");
    repository::record(database, project, Git { search: search.as_deref(), patience });
}

/// A note that offers to move the plans of the old directory to a moved project.
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

/// The directories of these plans that do not exist, one per line, and how to move their plans.
pub(crate) fn gone(plans: &[Summary]) -> String {
    repository::gone_directories(plans, person::reader())
}
