//! What a turn has used, with what its workers use while they work. What a worker uses is recorded as it
//! comes, so that a crash does not lose it. Budgets are held against both, before each model call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_model::session::Store;
use punchlist_model::store::turns::{Turn as Row, Used};
use punchlist_model::{ConversationId, Plan, Timestamp};

use super::entry::Entry;
use super::minutes_of_day;
use super::recorder::not_json;
use super::settings::{Allowance, Budget};
use super::turn_writer::TurnWriter;

/// Counts what a turn uses. Cheap to clone: the turn and its workers count together.
#[derive(Clone)]
pub(super) struct Meter {
    budget: Budget,
    /// The turn.
    turn: (ConversationId, u32),
    began: Timestamp,
    used: Arc<Mutex<Used>>,
    writer: TurnWriter,
}

impl Meter {
    /// The meter of a turn of a conversation.
    pub(super) fn new(
        budget: Budget,
        conversation: ConversationId,
        row: &Row,
        writer: TurnWriter,
    ) -> Self {
        Self {
            budget,
            turn: (conversation, row.number),
            began: row.began_at,
            used: Arc::new(Mutex::new(row.used)),
            writer,
        }
    }

    /// What the turn and its workers have used.
    pub(super) fn used(&self) -> Used {
        *self.lock()
    }

    /// The turn has used this, which is recorded.
    pub(super) fn add(&self, used: Used) {
        *self.lock() += used;
    }

    /// A worker has used this. It is recorded before this returns, and even if nobody waits for that.
    pub(super) async fn add_of_worker(&self, worker: &str, used: Used) -> Result<(), Fail> {
        if used == Used::default() {
            return Ok(());
        }
        self.add(used);
        let entry = Entry::Used { by: worker.to_owned(), used };
        let (writer, entry) = (self.writer.clone(), entry.to_new(used).map_err(not_json)?);
        let written = tokio::spawn(async move { writer.append(entry).await }).await;
        Ok(written.map_err(|why| Fail::ours(why.to_string()))??)
    }

    /// Which budget is used up: of the run, of the day, or of the goal of the turn's plan.
    pub(super) async fn reached(
        &self,
        store: &dyn Store,
        around: &dyn Around,
        plan: Option<&Plan>,
    ) -> Result<Option<String>, Fail> {
        let now = around.now();
        let spent = now.as_second().saturating_sub(self.began.as_second());
        let minutes = u64::try_from(spent).unwrap_or(0) / 60;
        if let Some(why) = self.budget.run.reached(&self.used(), minutes) {
            return Ok(Some(format!("the budget of this run is used up: {why}")));
        }
        let here = Some(self.turn);
        if let Some(why) = day_reached(&self.budget.day, store, around, here).await? {
            return Ok(Some(why));
        }
        let why = match plan {
            Some(plan) => goal_reached(store, plan, now).await?,
            None => None,
        };
        Ok(why.map(|why| format!("the budget of the goal is used up: {why}")))
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which part of the budget of a plan's goal is used up. All turns that have worked on the plan count.
async fn goal_reached(
    store: &dyn Store,
    plan: &Plan,
    now: Timestamp,
) -> Result<Option<String>, Fail> {
    let Some(budget) = plan.goal.as_ref().map(|it| it.budget) else { return Ok(None) };
    if plan.is_over_budget(now) {
        let (spent, most) = (plan.minutes_spent(now), budget.minutes);
        let (spent, most) = (spent.unwrap_or_default(), most.unwrap_or_default());
        return Ok(Some(format!("{spent} of {most} minutes are over")));
    }
    if budget.tokens.is_none() && budget.turns.is_none() {
        return Ok(None);
    }
    let (turns, used) = store.used_on(plan.id).await?;
    // This turn is among them.
    if let Some(most) = budget.turns.filter(|most| turns > *most) {
        let before = turns.saturating_sub(1);
        return Ok(Some(format!("{before} of {most} turns have worked on it")));
    }
    let allowance = Allowance { tokens: budget.tokens, ..Allowance::default() };
    Ok(allowance.reached(&used, 0))
}

/// Which budget of this day is used up, by all sessions together. `here` is the turn that asks, if it may
/// not be known as running.
pub(crate) async fn day_reached(
    day: &Allowance,
    store: &dyn Store,
    around: &dyn Around,
    here: Option<(ConversationId, u32)>,
) -> Result<Option<String>, Fail> {
    if *day == Allowance::default() {
        return Ok(None);
    }
    let since = day_begin(around.now());
    let used = store.used_since(since).await?;
    let minutes = match day.minutes {
        Some(_) => minutes_of_day::minutes(store, around, since, here).await?,
        None => 0,
    };
    let why = day.reached(&used, minutes);
    Ok(why.map(|why| format!("the budget of this day is used up: {why}")))
}

/// When the day began, in UTC.
fn day_begin(now: Timestamp) -> Timestamp {
    const DAY: i64 = 24 * 60 * 60;
    Timestamp::from_second(now.as_second().div_euclid(DAY) * DAY).unwrap_or(now)
}
