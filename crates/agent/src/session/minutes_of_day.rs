//! How long sessions have worked on a day, for a budget of minutes.

use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_model::session::Store;
use punchlist_model::store::turns::{Conversation, ConversationFilter, Turn as Row};
use punchlist_model::{ConversationId, Timestamp};

use super::listing::is_running;

/// How many minutes all turns since `since` have taken together. `here` is the turn that asks, if there
/// is one.
pub(super) async fn minutes(
    store: &dyn Store,
    around: &dyn Around,
    since: Timestamp,
    here: Option<(ConversationId, u32)>,
) -> Result<u64, Fail> {
    let now = around.now();
    let mut seconds = 0_u64;
    for conversation in store.conversations(ConversationFilter::default()).await? {
        let here = here.filter(|it| it.0 == conversation.id).map(|it| it.1);
        let is_here = here.is_some();
        if conversation.changed_at < since && !is_here {
            continue;
        }
        let runs = is_here || is_running(&conversation, around);
        for row in store.turns(conversation.id).await? {
            let is_now = runs && row.ending.is_none() || here == Some(row.number);
            let end = if is_now { now } else { end(&conversation, &row) };
            let taken = end.as_second() - row.began_at.max(since).as_second();
            seconds = seconds.saturating_add(u64::try_from(taken).unwrap_or(0));
        }
    }
    Ok(seconds / 60)
}

/// When a turn that nobody works on ended. One that was cut off, or that waits for the user, ended with
/// its last record.
fn end(conversation: &Conversation, row: &Row) -> Timestamp {
    row.ended_at.unwrap_or(conversation.changed_at)
}
