//! Reads the configuration files of the user and the project. The engine says what they mean.

use punchlist_engine::policy::rules::Whose;
use punchlist_engine::policy::trusted_files::{self, FoundFile};

pub(crate) use punchlist_engine::settings::{Settings, seconds};

use crate::fail::Fail;
use crate::project::Project;
use crate::{places, project};

/// Reads the user's file alone.
pub(crate) fn users() -> Result<Settings, Fail> {
    let mut settings = Settings::default();
    // Without a home directory there is no user's file; `--db` still works.
    if let Ok(path) = places::config()
        && path.exists()
    {
        settings.add_file(&path, &trusted_files::text(&path)?, Whose::User)?;
    }
    Ok(settings)
}

/// Reads all layers: the user's file, the project's file and the command line.
pub(crate) fn read(project: &Project, given: &[String]) -> Result<Settings, Fail> {
    let mut settings = users()?;
    let path = project.root.join(project::CONFIG);
    match places::trusted_files().read(&path) {
        Ok(FoundFile::Absent) => {}
        Ok(FoundFile::Trusted(text)) => settings.add_file(&path, &text, Whose::Project)?,
        Ok(FoundFile::Ignored(why)) => settings.notes.push(why),
        Err(why) => settings.notes.push(format!("ignored {}: {}", path.display(), why.message)),
    }
    settings.add_given(given)?;
    Ok(settings)
}

/// The path of a project's own database.
pub(crate) fn own_database(project: &Project) -> std::path::PathBuf {
    project.own_database()
}
