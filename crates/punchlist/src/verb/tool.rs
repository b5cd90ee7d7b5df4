//! `punchlist tool`.

use punchlist_db::Sqlite;
use punchlist_formats::dialect::{Answer, Call, Dialect};
use punchlist_formats::prompt::{self, Tag};
use punchlist_formats::view;
use punchlist_model::needs::Needs;
use punchlist_model::store::{AttachmentKey, Change, Error, NewPlan, PlanStore};
use punchlist_model::{Actor, Ctx, Holder, Plan, PlanId, Revision, Rules, Timestamp, decide};

use super::{Group, Verb};
use crate::app::App;
use crate::error::Fail;
use crate::input;
use crate::print::Reply;
use crate::settle::settle;
use crate::which::{self, Missing};
use crate::who;

/// Run one tool of a dialect, exactly as a model would see it
///
/// Arguments come as JSON on stdin, the result is printed as the model gets it. `--conversation`,
/// `--turn` and `--agent` say whose list it is; each has its own. An error that a model should read is
/// a result like any other: exit 0.
#[derive(clap::Args)]
pub(crate) struct Tool {
    /// manager, turn, todowrite, write_todos, update_plan or tasks
    #[arg(value_name = "DIALECT")]
    dialect: Dialect,
    /// The tool's name
    #[arg(value_name = "NAME")]
    tool: String,
    /// The conversation that calls
    #[arg(long, value_name = "ID", default_value = "")]
    conversation: String,
    /// The turn in it
    #[arg(long, value_name = "ID", default_value = "")]
    turn: String,
    /// The agent that calls
    #[arg(long, value_name = "NAME", default_value = "agent")]
    agent: String,
    /// After a change, print the list too, as a model of this dialect is reminded of it
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
            Err(reply) => return Ok(Reply::text(reply.text + "\n")),
        };
        let key = self.key(app)?;
        let (reply, plan) = match call.ops() {
            None => read(app, &call, &key)?,
            Some(ops) => change(app, &call, &key, Change::new(ops.to_vec(), self.ctx(app)?))?,
        };
        let mut out = reply.text + "\n";
        if let Some(id) = plan.filter(|_| self.reminder && reply.changed) {
            // The change has happened, and its result says so; the list is shown again next time.
            out.push_str(&self.after_change(app, id).unwrap_or_default());
        }
        Ok(Reply::text(out))
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
        if let Some(most) = self.dialect.open_items().filter(|_| !settings.open_items_chosen) {
            ctx.limits.open_items = most;
        }
        Ok(ctx)
    }
}

impl Tool {
    /// The list as it stands after a change, where the dialect's own answer does not show it.
    fn after_change(&self, app: &App, id: PlanId) -> Result<String, Fail> {
        match self.dialect {
            Dialect::Manager => {
                let plan = settle(app.store()?.read(id, Needs::whole()))?;
                Ok(prompt::after_change(&view::xml::xml(&plan), &Tag::browser_state()) + "\n")
            }
            Dialect::Turn
            | Dialect::TodoWrite
            | Dialect::WriteTodos
            | Dialect::UpdatePlan
            | Dialect::Tasks => Ok(String::new()),
        }
    }
}

/// What the model is told, and the plan that it was told about.
type Told = (punchlist_formats::dialect::Reply, Option<PlanId>);

/// A call that only reads. A conversation that has no list yet sees an empty one.
fn read(app: &App, call: &Call, key: &AttachmentKey) -> Result<Told, Fail> {
    let empty = || Plan::new(PlanId::first_of(key), key.project.clone(), app.now);
    let Some(store) = app.store_to_read()? else {
        return Ok((call.reply(Answer::Read(&empty())), None));
    };
    let Some((id, shown)) = attached(app, &store, key)? else {
        return Ok((call.reply(Answer::Read(&empty())), None));
    };
    let plan = settle(store.read(id, call.needs()))?;
    let reply = call.reply(Answer::Read(&plan));
    if reply.shows && shown.is_some_and(|shown| shown < plan.revision) {
        drop(store);
        // Where nothing can be written, the list can still be read.
        if let Ok(store) = app.store() {
            settle(store.shown(key.clone(), plan.revision)).ok();
        }
    }
    Ok((reply, Some(id)))
}

/// A call that changes the list; the first one makes it.
fn change(app: &App, call: &Call, key: &AttachmentKey, mut change: Change) -> Result<Told, Fail> {
    let store = app.store()?;
    let (id, shown) = match attached(app, &store, key)? {
        Some(attached) => attached,
        None => {
            let empty = Plan::new(PlanId::first_of(key), key.project.clone(), app.now);
            // Looked at first, so that a call that is refused leaves no empty plan behind.
            if let Err(refusal) = decide(&empty, &change.ops, &change.ctx) {
                let answer = Answer::Failed(&Error::Refused(refusal), Some(&empty));
                return Ok((call.reply(answer), None));
            }
            (make(&store, key, app.now)?, Some(Revision(0)))
        }
    };
    let base = shown.unwrap_or(Revision(0));
    change.ctx.base = Some(base);
    change.ctx.gone = who::gone(&settle(store.read(id, Needs::header()))?);
    match settle(store.change(id, change)) {
        Ok(applied) => {
            let reply = call.reply(Answer::Changed(&applied));
            // From here on the change has happened: that something could not be noted (a disk that
            // is full now) must not turn it into a failure, which would be tried again. The
            // conversation is attached only now, because a refused call ties it to nothing.
            if shown.is_none() {
                settle(store.attach(key.clone(), id, app.now)).ok();
            }
            // Whoever has seen all up to its own change has seen all; else only the list tells.
            if reply.shows || applied.revision().0 <= base.0 + 1 {
                settle(store.shown(key.clone(), applied.revision())).ok();
            }
            Ok((reply, Some(id)))
        }
        Err(error @ Error::Refused(_)) => {
            let plan = settle(store.read(id, call.needs())).ok();
            let reply = call.reply(Answer::Failed(&error, plan.as_ref()));
            if let Some(plan) = plan.filter(|_| reply.shows && shown.is_some()) {
                settle(store.shown(key.clone(), plan.revision)).ok();
            }
            Ok((reply, None))
        }
        Err(error) => Err(error.into()),
    }
}

/// The plan that the conversation works on: with `--plan` that one, else the one that it is attached
/// to. With it comes what the conversation was shown of it last; `None` if it is not attached to it.
fn attached(
    app: &App,
    store: &Sqlite,
    key: &AttachmentKey,
) -> Result<Option<(PlanId, Option<Revision>)>, Fail> {
    let attachment = settle(store.attachment(key.clone()))?;
    if app.globals.plan.is_none() {
        return Ok(attachment.map(|it| (it.plan, Some(it.shown))));
    }
    let header = |id| settle(store.read(id, Needs::header()));
    let plan = which::with(app, store, Missing::Refuse, header)?.id;
    Ok(Some((plan, attachment.filter(|it| it.plan == plan).map(|it| it.shown))))
}

fn make(store: &Sqlite, key: &AttachmentKey, at: Timestamp) -> Result<PlanId, Fail> {
    let new = NewPlan {
        id: PlanId::first_of(key),
        project: key.project.clone(),
        name: None,
        title: String::new(),
        rules: Rules::default(),
        at,
    };
    match settle(store.create(new)) {
        // Two first calls at once make one plan.
        Ok(_) | Err(Error::Exists(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(settle(store.attach(key.clone(), PlanId::first_of(key), at))?.plan)
}
