//! The built-in tools: shell, read, write, edit, list, search.
//!
//! Each tool says what a call touches, shows a preview, and runs it. Paths are resolved before the
//! policy decides and again before the call runs. A tool knows neither the policy nor other calls,
//! and uses only the environment in its options.

mod diff;
mod edit;
mod environment;
mod list;
mod place;
mod policy_subject;
mod read;
mod search;
mod shell;
mod stopped;
mod text;
mod write;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_sched::call::{Checked, Ended, Kind};
use punchlist_sched::policy::Subject;
use punchlist_sched::sandbox::InForce;
use punchlist_sched::{Access, Output, Tool, Work};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use diff::diff;
pub use edit::Edit;
pub use environment::environment;
pub use list::List;
pub(crate) use list::{shown as shown_path, walk};
pub use place::{Place, Root};
pub use policy_subject::{policy_subject, session_subject};
pub use read::Read;
pub use search::Search;
pub use shell::{Shell, ShellTimeout};
pub use write::Write;

/// The options of the tools.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The project's root: relative paths begin here and commands run here.
    pub root: PathBuf,
    /// The environment of commands. They get no other variables.
    pub environment: Vec<(OsString, OsString)>,
    /// Further places that tools never write, whatever the policy says, such as Punchlist's own
    /// configuration and data.
    pub guarded: Vec<PathBuf>,
    /// The sandbox of commands.
    pub sandbox: InForce,
    /// How long commands may take.
    pub shell_timeout: ShellTimeout,
}

/// The kind of shell commands, for limits. The other tools have no kind.
pub const SHELL: Kind = Kind(1);

/// All tools. Fails if the root does not exist.
pub fn all(options: Options) -> std::io::Result<Vec<Arc<dyn Tool>>> {
    let root = Root::new(&options.root)?.guarding(&options.guarded);
    Ok(vec![
        Arc::new(Shell::new(
            root.clone(),
            options.environment,
            options.sandbox,
            options.shell_timeout,
        )),
        Arc::new(Read::new(root.clone())),
        Arc::new(Write::new(root.clone())),
        Arc::new(Edit::new(root.clone())),
        Arc::new(List::new(root.clone())),
        Arc::new(Search::new(root)),
    ])
}

/// The schema of a tool's arguments, without references, which not every provider follows.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|it| it.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(map) = schema.as_object_mut() {
        // These cost tokens and are of no use to a model.
        map.remove("$schema");
        map.remove("title");
    }
    schema
}

pub(crate) fn arguments<T: DeserializeOwned>(arguments: &Value) -> Result<T, String> {
    T::deserialize(arguments).map_err(|why| format!("the arguments do not fit: {why}"))
}

/// What the policy decides about. A place outside the root counts as another tool, so that a rule
/// for `read` does not apply to `read:outside`.
pub(crate) fn subject(tool: &str, place: &Place, harmless: bool) -> Subject {
    Subject {
        tool: if place.inside { tool.to_owned() } else { format!("{tool}:outside") },
        harmless: harmless && place.inside,
        arguments: vec![("path".to_owned(), place.shown.clone())],
        ..Subject::default()
    }
}

/// A call that reads a place and changes nothing.
fn reads(tool: &str, place: &Place) -> Checked {
    let access = Access::reads([place.scope()]);
    let mut subject = subject(tool, place, true);
    subject.is_secret = place.is_secret;
    Checked { access, kind: Kind::OTHER, subject }
}

/// A call that reads the names in a place, but no content.
fn reads_names(tool: &str, place: &Place) -> Checked {
    let access = Access::reads([place.scope()]);
    Checked { access, kind: Kind::OTHER, subject: subject(tool, place, true) }
}

/// A call that writes a place.
fn writes(tool: &str, place: &Place) -> Checked {
    let access = Access::writes([place.scope()]);
    Checked { access, kind: Kind::OTHER, subject: subject(tool, place, false) }
}

fn ended(result: Result<String, String>) -> Ended {
    match result {
        Ok(text) => Ended::Well(Output::text(text)),
        Err(what) => Ended::Badly { what, output: Output::default() },
    }
}

/// Runs blocking work on a thread where it holds up nobody.
fn run_blocking(
    work: Work,
    does: impl FnOnce(&Work) -> Result<String, String> + Send + 'static,
) -> BoxFuture<'static, Ended> {
    Box::pin(async move {
        match tokio::task::spawn_blocking(move || ended(does(&work))).await {
            Ok(ended) => ended,
            Err(why) => match why.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(why) => ended(Err(why.to_string())),
            },
        }
    })
}
