//! The front end of a worker: one line, or one JSON object, per event; signals stop the worker.

use futures_core::future::BoxFuture;
use punchlist_engine::fail::Fail;
use punchlist_engine::work::{Event, FrontEnd};
use punchlist_formats::view::json;
use punchlist_model::Timestamp;

use crate::terminal::output;
use crate::terminal::signals::{Request, Signals};

/// Writes down what a worker does.
pub struct WorkLog {
    is_json: bool,
    signals: Signals,
}

impl WorkLog {
    /// Begins to hear signals. Needs a tokio runtime.
    pub fn new(is_json: bool) -> Result<Self, Fail> {
        Ok(Self { is_json, signals: Signals::hear()? })
    }
}

impl FrontEnd for WorkLog {
    fn event(&mut self, event: Event<'_>, now: Timestamp) -> Result<(), Fail> {
        let line = if self.is_json {
            json::render(&event.json(now)) + "\n"
        } else {
            let at = Timestamp::from_second(now.as_second()).unwrap_or(now);
            format!("{at}  {}\n", event.words())
        };
        // A worker goes on if nobody reads its output any more.
        output::live(&line).map(drop)
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            loop {
                match self.signals.next().await {
                    Request::Leave(_) => return,
                    Request::Pause | Request::Resize | Request::Resume => {}
                }
            }
        })
    }
}
