//! `punchlist tool`.

use punchlist_engine::Which;
use punchlist_engine::tool_service::{self, Caller};
use punchlist_formats::dialect::{Call, Dialect, Reply as Said};
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store::{AttachmentKey, Change, PlanStore};
use punchlist_model::{Actor, Ctx, Holder};

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::identity;
use crate::input;
use crate::plan_choice::{self, Missing};
use crate::print::Reply;

/// Run one tool of a dialect, exactly as a model would see it
///
/// Reads the arguments as JSON from stdin and prints the result as the model gets it.
/// `--conversation`, `--turn` and `--agent` choose the list; each conversation, turn and agent has
/// its own. An error for the model is a normal result with exit code 0; with `--json`, `isError`
/// marks it.
#[derive(clap::Args)]
pub(crate) struct Tool {
    /// The dialect: manager, turn, todowrite, write_todos, update_plan or tasks
    #[arg(value_name = "DIALECT")]
    dialect: Dialect,
    /// The tool's name
    #[arg(value_name = "NAME")]
    tool: String,
    /// The conversation that makes the call
    #[arg(long, value_name = "ID", default_value = "")]
    conversation: String,
    /// The turn within the conversation
    #[arg(long, value_name = "ID", default_value = "")]
    turn: String,
    /// The agent that makes the call
    #[arg(long, value_name = "NAME", default_value = "agent")]
    agent: String,
    /// After a change, also print the reminder that this dialect's models get
    #[arg(long)]
    reminder: bool,
}

impl Verb for Tool {
    const NAME: &'static str = "tool";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  echo '{\"items\": [{\"title\": \"Fix the tests\"}]}' | punchlist tool turn create_todo --conversation c1
  punchlist tool turn list_todo --conversation c1 < /dev/null
  punchlist tool todowrite TodoWrite --agent claude < todos.json
  punchlist tool tasks TaskList --agent claude < /dev/null";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let arguments = input::stdin_bytes()?;
        let call = match self.dialect.call(&self.tool, &arguments) {
            Ok(call) => call,
            Err(reply) => return Ok(answer(app, &reply, None)),
        };
        match call.ops() {
            None => self.read(app, &call),
            Some(ops) => self.change(app, &call, Change::new(ops.to_vec(), self.ctx(app)?)),
        }
    }
}

impl Tool {
    fn key(&self, app: &App) -> Result<AttachmentKey, Fail> {
        for (name, text) in [
            ("--conversation", &self.conversation),
            ("--turn", &self.turn),
            ("--agent", &self.agent),
        ] {
            if text.chars().count() > 500 || text.contains('\0') {
                return Err(Fail::usage(format!("the value after {name} is no id")));
            }
        }
        Ok(AttachmentKey {
            project: app.project()?.name.clone(),
            agent: self.agent.clone(),
            conversation: self.conversation.clone(),
            sub_agent: String::new(),
            turn: self.turn.clone(),
        })
    }

    fn ctx(&self, app: &App) -> Result<Ctx, Fail> {
        let settings = app.settings()?;
        let mut ctx = app.ctx()?;
        if app.globals.name.is_none() {
            let name = match self.conversation.as_str() {
                "" => self.agent.clone(),
                conversation => format!("{}/{conversation}", self.agent),
            };
            ctx.holder = Holder::named(name);
        }
        ctx.actor = Actor::agent(ctx.holder.name.clone());
        ctx.limits = tool_service::limits(self.dialect, ctx.limits, settings.open_items_chosen);
        Ok(ctx)
    }

    /// A read-only call: creates no plan, and writes only the revision that the model was shown.
    fn read(&self, app: &App, call: &Call) -> Result<Reply, Fail> {
        let key = self.key(app)?;
        let store = app.store_to_read()?;
        let caller = match &store {
            Some(store) => caller(app, &**store, key)?,
            None => Caller::new(key),
        };
        let outcome = {
            let store = store.as_deref().map(|store| store as &dyn PlanStore);
            block_on(tool_service::read(store, call, &caller, app.now))?
        };
        drop(store);
        if outcome.unseen.is_some()
            && let Ok(store) = app.store()
        {
            block_on(tool_service::note(&*store, &caller, &outcome));
        }
        Ok(answer(app, &outcome.reply, None))
    }

    /// A call that changes the list; the first one creates it.
    fn change(&self, app: &App, call: &Call, change: Change) -> Result<Reply, Fail> {
        let store = app.store()?;
        let caller = caller(app, &*store, self.key(app)?)?;
        let ctx = change.ctx.clone();
        let outcome =
            block_on(tool_service::change(&*store, call, &caller, change, &identity::gone))?;
        block_on(tool_service::await_approval(&*store, &outcome, ctx));
        let list = match self.reminder {
            true => block_on(tool_service::after_change(&*store, self.dialect, &outcome)),
            false => None,
        };
        Ok(answer(app, &outcome.reply, list.as_deref()))
    }
}

/// The result: as text for the model, or as JSON.
fn answer(app: &App, result: &Said, reminder: Option<&str>) -> Reply {
    if app.globals.json {
        return Reply::json(&serde_json::json!({
            "isError": result.is_error,
            "text": result.text,
            "result": result.structured,
            "changed": result.changed,
            "reminder": reminder,
        }));
    }
    let mut out = result.text.clone() + "\n";
    if let Some(list) = reminder {
        out.push_str(list);
        out.push('\n');
    }
    Reply::text(out)
}

/// The conversation that makes the call, with the plan from `--plan`.
fn caller(app: &App, store: &dyn Store, key: AttachmentKey) -> Result<Caller, Fail> {
    let plan = match app.globals.plan {
        None => None,
        Some(_) => {
            let header = |id| block_on(store.read(id, Needs::header()));
            Some(Which::Id(plan_choice::with(app, store, Missing::Refuse, header)?.id))
        }
    };
    Ok(Caller { plan, ..Caller::new(key) })
}
