//! What a turn that only planned leaves for later: its plan, and the user's words that the plan is for.

use punchlist_engine::fail::Fail;
use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_model::store::turns::{ConversationFilter, EntryFilter, Turn as Row};
use punchlist_model::{ConversationId, PlanId};

use super::entry::Entry;
use super::recorder::entries;
use super::stored_settings;

/// The ending of a turn that only planned, as the store names it.
const PLANNED: &str = "planned";

/// A plan that was made, and that nobody has worked off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: PlanId,
    /// What the user said when it was made.
    pub request: String,
    /// The model that made it.
    pub model: String,
}

/// The plan of a project that was made last and has open items; of this plan, if one is given.
pub async fn newest_planned(
    store: &dyn Store,
    project: &str,
    only: Option<PlanId>,
) -> Result<Option<Planned>, Fail> {
    let filter =
        ConversationFilter { project: Some(project.to_owned()), ..ConversationFilter::default() };
    for conversation in store.conversations(filter).await? {
        for row in store.turns(conversation.id).await?.iter().rev() {
            let Some(plan) = waiting(store, row).await? else { continue };
            if only.is_some_and(|it| it != plan) {
                continue;
            }
            let request = words(store, conversation.id, row.number).await?;
            let model = stored_settings(&conversation)?.model;
            return Ok(Some(Planned { plan, request, model }));
        }
    }
    Ok(None)
}

/// The plan of a turn that only planned, if it has open items.
pub(super) async fn waiting(store: &dyn Store, row: &Row) -> Result<Option<PlanId>, Fail> {
    let Some(id) = row.plan.filter(|_| is_planned(row)) else { return Ok(None) };
    match store.whole(id).await {
        Ok(plan) => Ok(plan.listed().iter().any(|it| it.is_open()).then_some(id)),
        Err(Error::NoPlan(_)) => Ok(None),
        Err(why) => Err(why.into()),
    }
}

/// Whether a turn only planned.
pub(super) fn is_planned(row: &Row) -> bool {
    row.ending.as_deref() == Some(PLANNED)
}

/// What the user wants of a turn that goes on with the plan of the turn before it: the words of both.
pub(super) async fn joined(
    store: &dyn Store,
    id: ConversationId,
    before: &Row,
    text: &str,
) -> Result<String, Fail> {
    let before = words(store, id, before.number).await?;
    Ok(format!("{before}\n\n{text}").trim().to_owned())
}

/// What the user said in a turn.
async fn words(store: &dyn Store, id: ConversationId, turn: u32) -> Result<String, Fail> {
    let filter = EntryFilter { turn: Some(turn), ..EntryFilter::default() };
    let entries = entries(store, id, filter).await?;
    let said = entries.iter().filter_map(|it| match &it.entry {
        Entry::User { text } | Entry::Steering { text } => Some(text.trim()),
        Entry::Answer(_)
        | Entry::Result(_)
        | Entry::Told { .. }
        | Entry::Info { .. }
        | Entry::Summary { .. }
        | Entry::Used { .. }
        | Entry::Ended { .. } => None,
    });
    Ok(said.collect::<Vec<_>>().join("\n\n"))
}
