//! What sessions that ended left open in a project.

use std::collections::BTreeSet;

use punchlist_model::session::{Session, SessionKey, Store};
use punchlist_model::store::{Error, Filter, Summary};
use punchlist_model::{PlanId, Timestamp};

use super::live_sessions;

/// A plan with open items whose sessions have all ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Left {
    /// The plan at a glance.
    pub plan: Summary,
    /// The session that was attached to it last.
    pub session: Session,
}

/// The plans of a project that have open items and were worked on by sessions that have all ended,
/// the one that changed last first. Plans that no session was attached to belong to people and are
/// not among them, nor are lists of sub-agents.
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
