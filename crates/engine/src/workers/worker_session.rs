//! The session of a worker. If Punchlist is installed for that agent, its hooks and tools record a
//! plan for the session. The items of that plan belong under the item that the worker does.
//!
//! Only a plan that was made for that session alone is taken over. It is left empty, with a title
//! that says where its items are, so that no later session is offered them.

use punchlist_model::session::{SessionKey, Store};
use punchlist_model::store::{Change, Error};
use punchlist_model::{Ctx, Item, ItemRef, MadeFor, Mode, Number, Op, Patch, PlanId, PlanPatch};
use serde_json::{Map, Value};

use super::sub_lists::Entry;

/// The metadata key for the worker's session.
const KEY: &str = "session";

/// Records which session does an item, so that its plan is found even after a kill.
pub(crate) fn noted(item: Number, session: &str) -> Op {
    let merge = Map::from_iter([(KEY.to_owned(), Value::from(session))]);
    let patch = Patch { merge, ..Patch::default() };
    Op::Edit { item: ItemRef::Number(item), patch: Box::new(patch) }
}

/// The session that did an item last, and its agent.
pub(crate) fn of(item: &Item) -> Option<SessionKey> {
    let id = item.metadata.as_ref()?.get(KEY)?.as_str()?.to_owned();
    Some(SessionKey { agent: item.agent_type.clone()?, id })
}

/// Where a worker's list goes: under an item of the plan that runs.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    pub(crate) plan: PlanId,
    /// The plan's title.
    pub(crate) title: &'a str,
    pub(crate) item: Number,
}

/// Takes over the list from a worker's own plan, and leaves that plan empty. Returns the list.
pub(crate) async fn taken_over(
    store: &dyn Store,
    key: SessionKey,
    to: Destination<'_>,
    ctx: &Ctx,
) -> Result<Vec<Entry>, Error> {
    let Some(session) = store.session(key).await? else { return Ok(Vec::new()) };
    let attachment = session.attachment();
    // A plan with a name, or one that existed before, is not the session's alone.
    let own = store.plan_for(MadeFor::Conversation(attachment.clone())).await?;
    let Some(own) = own.filter(|own| *own != to.plan) else { return Ok(Vec::new()) };
    if store.attached(attachment).await? != Some(own) {
        return Ok(Vec::new());
    }
    let plan = store.whole(own).await?;
    let listed = plan.listed();
    if listed.is_empty() {
        return Ok(Vec::new());
    }
    let entry = |it: &&Item| Entry { title: it.title.clone(), status: it.status };
    let entries = listed.iter().map(entry).collect();
    let mut ops: Vec<Op> =
        listed.iter().map(|it| Op::Supersede(ItemRef::Number(it.number))).collect();
    let patch = PlanPatch { title: Some(title(to)), ..PlanPatch::default() };
    ops.push(Op::Plan(Box::new(patch)));
    let gone = session.process.iter().cloned().collect();
    let ctx = Ctx { mode: Mode::Recorded, gone, ..ctx.clone() };
    store.change(own, Change::new(ops, ctx)).await?;
    Ok(entries)
}

/// `a worker's list: see item 2 of Release 1.2`
fn title(of: Destination<'_>) -> String {
    let (item, plan): (_, String) = (of.item, of.title.chars().take(300).collect());
    format!("a worker's list: see item {item} of {plan}")
}
