//! Plans with open items that ended sessions left in a project.

use std::collections::BTreeSet;

use punchlist_formats::text;
use punchlist_formats::view::{duration, json};
use punchlist_model::session::{Session, SessionKey, Store};
use punchlist_model::store::{Error, Filter, Summary};
use punchlist_model::{PlanId, Timestamp};
use serde_json::{Value, json};

use super::live_sessions;
use crate::fail::Fail;
use crate::plan_service;

/// A plan with open items whose sessions have all ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Left {
    /// A summary of the plan.
    pub plan: Summary,
    /// The session that was attached to it last.
    pub session: Session,
}

impl Left {
    /// One line for people. It names no titles of items, which are for the session that adopts
    /// them.
    pub fn line(&self, now: Timestamp) -> String {
        let Self { plan, session } = self;
        let name = session.actor_name("");
        let title = plan.name.as_deref().filter(|it| !it.is_empty()).unwrap_or(&plan.title);
        let called =
            if title.is_empty() { String::new() } else { format!("  {}", text::one_line(title)) };
        let seen = duration::ago(session.seen_at, now);
        format!(
            "{}  {} open  {}, last seen {seen}{called}",
            plan.id.short(),
            plan.open,
            text::one_line(&name)
        )
    }

    /// The plan as JSON.
    pub fn json(&self) -> Value {
        let mut value = json::summary(&self.plan);
        value["session"] = json!(self.session.key.id);
        value["seenAt"] = json!(json::time(self.session.seen_at));
        value
    }
}

/// The plan to adopt if none is named: the only one that was left; `None` if there is none. Several
/// are an error.
pub fn only(mut left: Vec<Left>, now: Timestamp) -> Result<Option<Left>, Fail> {
    if left.len() > 1 {
        return Err(Fail::usage("several plans were left open")
            .details(left.iter().map(|it| it.line(now)).collect())
            .hint("choose one: `punchlist adopt PLAN`."));
    }
    Ok(left.pop())
}

/// Refuses a plan that another live session works on.
pub async fn may_adopt(
    store: &dyn Store,
    session: &Session,
    project: &str,
    plan: PlanId,
    host: &str,
    now: Timestamp,
) -> Result<(), Fail> {
    let attached = store.attachment(session.attachment()).await?.map(|it| it.plan);
    let busy = plan_service::live_plans(store, project, host, now).await?;
    if attached != Some(plan) && busy.contains(&plan) {
        let id = plan.short();
        return Err(Fail::refused(format!("plan {id} is another live session's")).hint(
            "end that session first; several can share a plan that has a name, with `--plan`.",
        ));
    }
    Ok(())
}

/// The plans of a project with open items whose sessions have all ended, most recently changed
/// first. Plans that no session was attached to belong to people and are not included, nor are
/// lists of sub-agents.
pub async fn left_open(
    store: &dyn Store,
    project: &str,
    host: &str,
    now: Timestamp,
) -> Result<Vec<Left>, Error> {
    let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
    let mut plans = store.plans(filter).await?;
    plans.retain(|plan| plan.open > 0);
    if plans.is_empty() {
        return Ok(Vec::new());
    }
    let live = live_sessions(store, project, host, now).await?;
    let mut busy: BTreeSet<PlanId> = BTreeSet::new();
    for session in &live {
        busy.extend(store.attachment(session.attachment()).await?.map(|it| it.plan));
    }
    let mut left = Vec::new();
    for plan in plans {
        let Some(key) = plan.attachment.as_ref() else { continue };
        if busy.contains(&plan.id) || !key.sub_agent.is_empty() || !key.turn.is_empty() {
            continue;
        }
        let key = SessionKey { agent: key.agent.clone(), id: key.conversation.clone() };
        if live.iter().any(|it| it.key == key) {
            continue;
        }
        if let Some(session) = store.session(key).await? {
            left.push(Left { plan, session });
        }
    }
    Ok(left)
}
