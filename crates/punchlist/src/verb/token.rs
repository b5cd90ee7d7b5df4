//! `punchlist token`.

use punchlist_engine::access;
use punchlist_formats::text;
use punchlist_formats::view::json;
use punchlist_model::store::access::{Grant, GrantKind, Role};

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::clock::Clock;
use crate::fail::Fail;
use crate::person;
use crate::print::Reply;
use crate::project;

/// Manage the tokens of programs that use the HTTP API
///
/// A viewer reads. A worker also changes plans; its changes are an agent's. An admin acts as a person: it
/// also answers questions and approves items. The token is printed once; only a hash of it is stored. Only
/// a person at a terminal can create one.
#[derive(clap::Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    act: Act,
}

/// The commands of `token`.
#[derive(clap::Subcommand)]
enum Act {
    /// Create a token and print it
    Create {
        /// The name under which the program acts
        #[arg(value_name = "NAME")]
        name: String,
        /// What the program may do: viewer, worker or admin
        #[arg(long, value_name = "ROLE", value_parser = role)]
        role: Role,
        /// The directory of the only project that the program sees
        #[arg(long, value_name = "DIRECTORY")]
        project: Option<String>,
    },
    /// Show all tokens that are in force
    List,
    /// Revoke a token and close its streams
    Revoke {
        /// The token's name
        #[arg(value_name = "NAME")]
        name: String,
    },
}

fn role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| "the roles are viewer, worker and admin".to_owned())
}

impl Verb for Token {
    const NAME: &'static str = "token";
    const GROUP: Group = Group::Rest;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist token create ci --role worker --project .
  punchlist token create dashboard --role viewer
  punchlist token list
  punchlist token revoke ci";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        match self.act {
            Act::Create { name, role, project } => create(app, &name, role, project),
            Act::List => list(app),
            Act::Revoke { name } => revoke(app, &name),
        }
    }
}

fn create(app: &App, name: &str, role: Role, project: Option<String>) -> Result<Reply, Fail> {
    person::at_terminal("tokens are created", "token create")?;
    let project = project.map(|it| named(app, &it)).transpose()?;
    let store = app.store()?;
    let secret = block_on(access::create_token(&*store, &Clock, name, role, project.clone()))?;
    if app.globals.json {
        let value = serde_json::json!({
            "name": name, "role": role, "project": project, "token": secret.expose(),
        });
        return Ok(Reply { changed: true, ..Reply::json(&value) });
    }
    let notes =
        vec!["the token is shown only now: keep it where only the program reads it".to_owned()];
    Ok(Reply { notes, changed: true, ..Reply::text(format!("{}\n", secret.expose())) })
}

/// The project of a directory. A project of another machine is named as it is.
fn named(app: &App, directory: &str) -> Result<String, Fail> {
    if directory.trim().is_empty() {
        return Err(Fail::usage("the project is empty").hint("give its directory."));
    }
    let there =
        app.globals.directory.as_deref().map_or_else(|| directory.into(), |it| it.join(directory));
    match project::find(&there) {
        Ok(project) => Ok(project.name),
        Err(_) if there.is_absolute() => Ok(directory.to_owned()),
        Err(fail) => Err(fail),
    }
}

fn list(app: &App) -> Result<Reply, Fail> {
    let tokens = match app.store_to_read()? {
        Some(store) => block_on(store.grants(GrantKind::Token))?,
        None => Vec::new(),
    };
    let tokens: Vec<&Grant> = tokens.iter().filter(|it| it.is_in_force(app.now)).collect();
    if app.globals.json {
        let value = |it: &&Grant| {
            serde_json::json!({
                "name": it.name, "role": it.role, "project": it.project,
                "createdAt": json::time(it.created_at),
            })
        };
        let all: Vec<_> = tokens.iter().map(value).collect();
        return Ok(Reply::json(&serde_json::json!({ "tokens": all })));
    }
    if tokens.is_empty() {
        return Ok(Reply::text("No token is in force.\n"));
    }
    let line = |it: &&Grant| {
        let project = it.project.as_deref().unwrap_or("all projects");
        let (name, project) = (text::one_line(&it.name), text::one_line(project));
        format!("{name}  {}  {project}  since {}\n", it.role.as_str(), json::time(it.created_at))
    };
    Ok(Reply::text(tokens.iter().map(line).collect::<String>()))
}

fn revoke(app: &App, name: &str) -> Result<Reply, Fail> {
    person::not_an_agent("tokens are revoked")?;
    let store = app.store()?;
    let token = block_on(access::revoke(&*store, name, app.now))?;
    let name = text::one_line(&token.name).into_owned();
    if app.globals.json {
        let value = serde_json::json!({ "revoked": token.name });
        return Ok(Reply { changed: true, ..Reply::json(&value) });
    }
    Ok(Reply { changed: true, ..Reply::text(format!("revoked {name}\n")) })
}
