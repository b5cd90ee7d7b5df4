//! `punchlist adopt`.

use punchlist_engine::session::{self, Left};
use punchlist_formats::text;
use punchlist_formats::view::{self, json};
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

/// Take over the open items of sessions that ended
///
/// Shows which plans ended sessions left open, and gives one of them to a live session: the session
/// that calls this verb, or the only live session of the project. If there are several such plans,
/// name one. A session without open items works on the adopted plan from then on. A session with
/// open items gets the adopted items added to its own list. The agent sees the list with your next
/// prompt.
#[derive(clap::Args)]
pub(crate) struct Adopt {
    /// The plan to adopt: its name, or the beginning or end of its id
    #[arg(value_name = "PLAN")]
    from: Option<String>,
    /// Only show what is left open
    #[arg(long, conflicts_with = "from")]
    list: bool,
    /// The session that adopts the items: its id, or the beginning of it
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
            None if self.list || !app.has_store()? => return Ok(listing(app, &[])),
            None => app.store()?,
        };
        let left = block_on(session::left_open(&*store, project, &identity::host(), app.now))?;
        if self.list {
            return Ok(listing(app, &left));
        }
        let (id, before) = match &self.from {
            Some(name) => {
                let id = named(app, &*store, name)?;
                (id, left.into_iter().find(|it| it.plan.id == id).map(|it| it.session))
            }
            None => match session::only(left, app.now)? {
                Some(left) => (left.plan.id, Some(left.session)),
                None => return Ok(listing(app, &[])),
            },
        };
        let session = current_session::for_verb(app, &*store, self.session.as_deref())?
            .ok_or_else(|| {
                Fail::not_found("there is no session here that could adopt it").hint(
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
        let (project, host) = (&app.project()?.name, identity::host());
        block_on(session::may_adopt(store, session, project, id, &host, app.now))?;
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
            true => format!("{name} has adopted the open items of plan {}:\n", id.short()),
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

/// The plan with that name. Any plan will do, not only one that an ended session left.
fn named(app: &App, store: &dyn Store, name: &str) -> Result<PlanId, Fail> {
    let id = plan_choice::find(app, store, name)?;
    let plan = block_on(store.read(id, Needs::header()))?;
    if plan.open == 0 {
        return Err(Fail::refused(format!("nothing is open in plan {}", id.short()))
            .hint("`punchlist adopt --list` shows what was left open."));
    }
    Ok(id)
}

fn listing(app: &App, left: &[Left]) -> Reply {
    if app.globals.json {
        let left: Vec<_> = left.iter().map(Left::json).collect();
        return Reply::json(&serde_json::json!({ "leftOpen": left }));
    }
    if left.is_empty() {
        return Reply::text("No ended session has open items here.\n");
    }
    Reply::text(left.iter().map(|it| it.line(app.now) + "\n").collect::<String>())
}
