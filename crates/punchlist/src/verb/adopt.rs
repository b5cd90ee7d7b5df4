//! `punchlist adopt`.

use punchlist_engine::session::{self, Left};
use punchlist_formats::text;
use punchlist_formats::view::{self, duration, json};
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::{Plan, PlanId, Session};

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::current_session;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{identity, plan_choice};

/// Take on what sessions that ended left open
///
/// Shows what was left, and gives it to the session that this is called in, or to the only live one
/// here: if there is one such plan, that one, else the one that is named. A session that has nothing
/// open works on that plan from then on; one that has gets the open items added to its own. The agent
/// is shown the list with your next prompt.
#[derive(clap::Args)]
pub(crate) struct Adopt {
    /// The plan: its name, or the beginning or end of its id
    #[arg(value_name = "PLAN")]
    from: Option<String>,
    /// Only show what was left open
    #[arg(long, conflicts_with = "from")]
    list: bool,
    /// The session that takes it on: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

impl Verb for Adopt {
    const NAME: &'static str = "adopt";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist adopt --list
  punchlist adopt
  punchlist adopt 7f3a
  punchlist adopt release --session 51c2";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let project = &app.project()?.name;
        let store = if self.list { app.store_to_read()? } else { None };
        let store = match store {
            Some(store) => store,
            None if self.list || !app.has_store()? => return Ok(told(app, &[])),
            None => app.store()?,
        };
        let mut left = block_on(session::left_open(&*store, project, &identity::host(), app.now))?;
        if self.list {
            return Ok(told(app, &left));
        }
        let (id, before) = match &self.from {
            Some(name) => {
                let id = named(app, &*store, name)?;
                (id, left.into_iter().find(|it| it.plan.id == id).map(|it| it.session))
            }
            None if left.len() > 1 => {
                return Err(Fail::usage("several plans were left open")
                    .details(left.iter().map(|it| line(app, it)).collect())
                    .hint("choose one: `punchlist adopt PLAN`."));
            }
            None => match left.pop() {
                Some(left) => (left.plan.id, Some(left.session)),
                None => return Ok(told(app, &[])),
            },
        };
        let session =
            current_session::meant(app, &*store, self.session.as_deref())?.ok_or_else(|| {
                Fail::not_found("there is no session here that could take it on").hint(
                    "start the agent in this project first, or work on it by hand with `--plan`; \
                 `punchlist adopt --list` shows what was left.",
                )
            })?;
        self.give(app, &*store, &session, id, before.as_ref())
    }
}

impl Adopt {
    fn give(
        &self,
        app: &App,
        store: &dyn Store,
        session: &Session,
        id: PlanId,
        before: Option<&Session>,
    ) -> Result<Reply, Fail> {
        let attached = block_on(store.attachment(session.attachment()))?.map(|it| it.plan);
        let busy = plan_choice::live_plans(app, store, &app.project()?.name)?;
        if attached != Some(id) && busy.contains(&id) {
            return Err(Fail::refused(format!("plan {} is another live session's", id.short()))
                .hint("end that session first; several can share a plan that has a name, with `--plan`."));
        }
        let mut ctx = app.in_session(app.ctx()?, store)?;
        ctx.holder = session.holder("");
        let adopted = block_on(session::adopt(store, session, id, before, &ctx))?;
        let plan = adopted.plan;
        if app.globals.json {
            let mut value = json::list(&plan, Some(&session.attachment()), &Default::default());
            value["adopted"] = serde_json::json!({"from": id, "moved": adopted.moved});
            return Ok(Reply { changed: true, ..Reply::json(&value) });
        }
        let name = session.actor_name("");
        let name = text::one_line(&name);
        let head = match adopted.moved {
            true => format!("{name} has taken on what plan {} left open:\n", id.short()),
            false => format!("{name} works on plan {} now:\n", id.short()),
        };
        Ok(Reply { changed: true, ..Reply::text(head + &list(&plan)) })
    }
}

fn list(plan: &Plan) -> String {
    let mut out = view::plain::numbered(plan);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// The plan that was named. It need not be one that a session left.
fn named(app: &App, store: &dyn Store, name: &str) -> Result<PlanId, Fail> {
    let id = plan_choice::find(app, store, name)?;
    let plan = block_on(store.read(id, Needs::header()))?;
    if plan.open == 0 {
        return Err(Fail::refused(format!("nothing is open in plan {}", id.short()))
            .hint("`punchlist adopt --list` shows what was left open."));
    }
    Ok(id)
}

fn told(app: &App, left: &[Left]) -> Reply {
    if app.globals.json {
        let one = |it: &Left| {
            let mut value = json::summary(&it.plan);
            value["session"] = serde_json::json!(it.session.key.id);
            value["seenAt"] = serde_json::json!(json::time(it.session.seen_at));
            value
        };
        let left: Vec<_> = left.iter().map(one).collect();
        return Reply::json(&serde_json::json!({ "leftOpen": left }));
    }
    if left.is_empty() {
        return Reply::text("No session that ended left anything open here.\n");
    }
    let lines = left.iter().map(|it| line(app, it) + "\n");
    Reply::text(lines.collect::<String>())
}

/// A plan that was left, on a line. Titles of its items are for whoever adopts it.
fn line(app: &App, left: &Left) -> String {
    let Left { plan, session } = left;
    let name = session.actor_name("");
    let title = plan.name.as_deref().filter(|it| !it.is_empty()).unwrap_or(&plan.title);
    let called =
        if title.is_empty() { String::new() } else { format!("  {}", text::one_line(title)) };
    let seen = duration::ago(session.seen_at, app.now);
    format!(
        "{}  {} open  {}, last seen {seen}{called}",
        plan.id.short(),
        plan.open,
        text::one_line(&name)
    )
}
