//! `punchlist sessions show --todos`: the to-dos of each turn.

use punchlist_agent::session::AGENT;
use punchlist_formats::text::one_line;
use punchlist_formats::view::json::time;
use punchlist_model::session::SessionKey;
use punchlist_model::store::turns::Turn;
use punchlist_model::store::{AttachmentKey, PlanStore};
use punchlist_model::{ConversationId, Status};
use serde_json::{Value, json};

use super::found;
use crate::app::App;
use crate::block_on;
use crate::database::{Counts, TurnTodo, TurnTodos};
use crate::fail::Fail;
use crate::print::Reply;

/// Which to-dos are shown.
#[derive(clap::Args)]
pub(super) struct TodoArgs {
    /// Show the to-dos of each turn instead of what was said
    #[arg(long)]
    pub(super) todos: bool,
    /// Only those of this turn
    #[arg(long, value_name = "N", requires = "todos")]
    turn: Option<u32>,
    /// Only those with this status; may be repeated
    #[arg(long, value_name = "STATUS", requires = "todos", value_parser = status)]
    status: Vec<Status>,
}

/// The to-dos of one turn.
struct OfTurn {
    turn: Turn,
    todos: Vec<TurnTodo>,
    counts: Counts,
}

fn status(text: &str) -> Result<Status, String> {
    let all = [Status::Pending, Status::InProgress, Status::Completed, Status::Cancelled];
    let names = all.map(Status::as_str).join(", ");
    let found = all.into_iter().find(|it| it.as_str() == text);
    found.ok_or_else(|| format!("it is one of: {names}"))
}

/// Shows the to-dos of a session's turns.
pub(super) fn show(app: &App, id: Option<&str>, args: &TodoArgs) -> Result<Reply, Fail> {
    let store = app.store()?;
    let conversation = found(app, &*store, id)?;
    let mut turns = block_on(store.turns(conversation.id))?;
    turns.retain(|it| args.turn.is_none_or(|wanted| wanted == it.number));
    if let (true, Some(wanted)) = (turns.is_empty(), args.turn) {
        let short = conversation.id.short();
        return Err(Fail::not_found(format!("session {short} has no turn {wanted}"))
            .hint(format!("it has {}.", conversation.turns)));
    }
    let mut all = Vec::new();
    for turn in turns {
        let key = key(&conversation.project, conversation.id, &turn);
        all.push(block_on(of_turn(&*store, key, turn, &args.status))?);
    }
    if app.globals.json {
        let turns: Vec<Value> = all.iter().map(turn_json).collect();
        let session = conversation.id.to_string();
        return Ok(Reply::json(&json!({ "session": session, "turns": turns })));
    }
    let text: String = all.iter().map(lines).collect();
    let text = if text.is_empty() { "No turn yet.\n".to_owned() } else { text };
    Ok(Reply::text(text))
}

fn key(project: &str, session: ConversationId, turn: &Turn) -> AttachmentKey {
    let key = SessionKey { agent: AGENT.to_owned(), id: session.to_string() };
    AttachmentKey { turn: turn.id.clone(), ..key.attachment(project, "") }
}

async fn of_turn(
    store: &dyn PlanStore,
    key: AttachmentKey,
    turn: Turn,
    statuses: &[Status],
) -> Result<OfTurn, Fail> {
    let todos = TurnTodos::new(store, key);
    let counts = todos.count_by_status().await?;
    Ok(OfTurn { turn, todos: todos.find(statuses).await?, counts })
}

fn lines(it: &OfTurn) -> String {
    let Counts { pending, in_progress, completed, cancelled } = it.counts;
    let mut text = format!(
        "Turn {}: {pending} pending, {in_progress} in progress, {completed} completed, \
         {cancelled} cancelled\n",
        it.turn.number
    );
    for todo in &it.todos {
        text.push_str(&format!("  {:<11}  {}\n", todo.status.as_str(), one_line(&todo.title)));
    }
    text
}

fn turn_json(it: &OfTurn) -> Value {
    json!({
        "turn": it.turn.number,
        "id": it.turn.id,
        "counts": {
            "pending": it.counts.pending,
            "in_progress": it.counts.in_progress,
            "completed": it.counts.completed,
            "cancelled": it.counts.cancelled,
        },
        "todos": it.todos.iter().map(todo_json).collect::<Vec<_>>(),
    })
}

/// A to-do with the column names of the view `turn_todos`.
fn todo_json(it: &TurnTodo) -> Value {
    json!({
        "id": it.id.to_string(),
        "conversationId": it.conversation,
        "turnId": it.turn,
        "title": it.title,
        "context": it.context,
        "completionCriteria": it.completion_criteria,
        "agentType": it.agent_type,
        "status": it.status.as_str(),
        "priority": it.priority,
        "outcome": it.outcome,
        "createdAt": time(it.created_at),
        "startedAt": it.started_at.map(time),
        "completedAt": it.completed_at.map(time),
    })
}
