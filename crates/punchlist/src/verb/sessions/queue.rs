//! `punchlist sessions queue`: the messages that wait in a session.

use std::sync::Arc;

use punchlist_agent::session::{Queue, QueueView};

use super::{found, is_running};
use crate::app::App;
use crate::clock::Clock;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{block_on, person};

/// The arguments of `sessions queue`.
#[derive(clap::Args)]
#[group(id = "change", multiple = false)]
pub(super) struct QueueArgs {
    /// Add a message: a turn begins with it when the turn that runs has ended
    #[arg(long, value_name = "TEXT")]
    add: Option<String>,
    /// Add a message that the model hears at its next call
    #[arg(long, value_name = "TEXT")]
    steer: Option<String>,
    /// Replace the text of a message
    #[arg(long, num_args = 2, value_names = ["MESSAGE", "TEXT"])]
    edit: Option<Vec<String>>,
    /// Remove a message
    #[arg(long, value_name = "MESSAGE")]
    remove: Option<String>,
    /// Move a message before another one, or to the end
    #[arg(long = "move", num_args = 1..=2, value_names = ["MESSAGE", "BEFORE"])]
    move_before: Option<Vec<String>>,
    /// Take up the queue again after a pause
    #[arg(long)]
    go: bool,
    /// Pause the queue: no message begins a turn
    #[arg(long)]
    pause: bool,
}

impl QueueArgs {
    fn changes(&self) -> bool {
        let texts = [&self.add, &self.steer, &self.remove];
        texts.iter().any(|it| it.is_some())
            || self.edit.is_some()
            || self.move_before.is_some()
            || self.go
            || self.pause
    }
}

/// Shows or changes the queue of a session.
pub(super) fn queue(app: &App, id: Option<&str>, args: &QueueArgs) -> Result<Reply, Fail> {
    let store = app.store()?;
    let conversation = found(app, &*store, id)?;
    let queue = Queue::new(Arc::clone(&store), Arc::new(Clock), conversation.id);
    let done = if args.changes() {
        // A message is what the user says: the model must not speak in the user's place.
        person::not_an_agent("messages are queued")?;
        Some(block_on(change(&queue, args))?)
    } else {
        None
    };
    let changed = done.is_some();
    let shown = QueueView {
        session: conversation.id,
        is_running: is_running(&conversation),
        waiting: block_on(queue.waiting())?,
        is_paused: block_on(queue.is_paused())?,
    };
    if app.globals.json {
        return Ok(Reply { changed, ..Reply::json(&shown.json()) });
    }
    let first = done.map_or_else(|| shown.list(), |it| format!("{it}\n"));
    Ok(Reply { changed, ..Reply::prose(first + &shown.note()) })
}

/// Makes the change. Returns what was done, in words.
async fn change(queue: &Queue, args: &QueueArgs) -> Result<&'static str, Fail> {
    if let Some(text) = &args.add {
        queue.add(text.clone(), false).await?;
        return Ok("The message is queued.");
    }
    if let Some(text) = &args.steer {
        queue.add(text.clone(), true).await?;
        return Ok("The message is queued for the next call of the model.");
    }
    if let Some([message, text]) = args.edit.as_deref() {
        queue.edit(queue.find(message).await?, text.clone()).await?;
        return Ok("The message is changed.");
    }
    if let Some(message) = &args.remove {
        queue.remove(queue.find(message).await?).await?;
        return Ok("The message is removed.");
    }
    if let Some([message, before @ ..]) = args.move_before.as_deref() {
        let before = match before.first() {
            Some(before) => Some(queue.find(before).await?),
            None => None,
        };
        queue.move_before(queue.find(message).await?, before).await?;
        return Ok("The message is moved.");
    }
    queue.pause(args.pause).await?;
    Ok(if args.pause { "The queue is paused." } else { "The queue goes on." })
}
