//! `punchlist db`.

use punchlist_store::postgres::Right;

use super::{Group, Verb};
use crate::app::App;
use crate::database;
use crate::fail::Fail;
use crate::print::Reply;

/// Give a role of a PostgreSQL server its rights
///
/// The rights are made in the database itself, so they hold for every program that uses the role.
/// A `viewer` reads everything. A `worker` (`punchlist work`) also does items: it claims and
/// completes them, records what it did and asks questions. It cannot write commands, change plans,
/// approve, or answer questions. An `admin` does everything but change the schema. Call this as the
/// owner of the schema; a role has one of these rights, the last one that it was given. Call it
/// again after an update of Punchlist that changed the schema.
#[derive(clap::Args)]
pub(crate) struct Db {
    /// What to do: `grant`
    #[arg(value_name = "grant", value_parser = ["grant"])]
    _act: String,
    /// The role, which exists on the server
    #[arg(value_name = "ROLE")]
    role: String,
}

impl Verb for Db {
    const NAME: &'static str = "db";
    const GROUP: Group = Group::Rest;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist db grant builder --as worker
  punchlist db grant dashboard --as viewer
  punchlist --db postgres://owner@db.example/plans db grant ann --as admin";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let names = Right::ALL.map(Right::as_str).join(", ");
        let right = app.globals.name.as_deref().and_then(Right::parse).ok_or_else(|| {
            Fail::usage(format!("say which right the role gets: {names}"))
                .hint("as in `punchlist db grant builder --as worker`.")
        })?;
        database::grant(&app.database_options()?, &self.role, right)?;
        let (role, right) = (&self.role, right.as_str());
        if app.globals.json {
            return Ok(Reply::json(&serde_json::json!({"role": role, "right": right})));
        }
        let article = if right == "admin" { "an" } else { "a" };
        let text = format!("{role} is {article} {right} of this database now\n");
        Ok(Reply { changed: true, ..Reply::text(text) })
    }
}
