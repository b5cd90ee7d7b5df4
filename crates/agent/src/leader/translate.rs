//! Translates the stream of a leading program to the events of a session. Pure.

use std::collections::HashMap;

use punchlist_streams::event::{self, Kind, Outcome, RawJson, Role, Text};
use serde_json::Value;

use crate::provider::{Arguments, ModelCall, ModelCallId};
use crate::session::{Event, LeaderEvent};
use crate::turn::Purpose;

/// How Gemini CLI reports a refused stop. It is shown from the store, as for every agent.
const REFUSED: &str = "Agent execution blocked";

/// Translates one stream after the other, of the same session.
#[derive(Default)]
pub(super) struct Translator {
    session: Option<String>,
    /// The calls that have not ended.
    calls: HashMap<String, ModelCall>,
    /// Whether the next text may continue the last one.
    is_open: bool,
}

impl Translator {
    /// What an event of the stream means.
    pub(super) fn translate(&mut self, event: &event::Event<'_>, out: &mut Vec<Event>) {
        // The name of a sub-agent is its agent's name, a slash and its own.
        let is_sub = event.agent.as_str().contains('/');
        match &event.kind {
            Kind::SessionStarted { model, version, .. } if !is_sub => {
                let session = event.agent.as_str().to_owned();
                if self.session.as_ref() != Some(&session) {
                    let text =
                        |it: &Option<Text<'_>>| it.as_ref().map(|it| it.to_str().into_owned());
                    let (model, version) = (text(model), text(version));
                    self.session = Some(session.clone());
                    out.push(Event::Leader(LeaderEvent::Began { session, model, version }));
                }
            }
            Kind::Text { role: Role::Assistant, text, delta, .. } if !is_sub => {
                if !(*delta && self.is_open) {
                    out.push(Event::Calling(Purpose::Work));
                }
                self.is_open = *delta;
                out.push(Event::Text(text.to_str().into_owned()));
            }
            Kind::Thinking { text, .. } if !is_sub => {
                out.push(Event::Thinking(text.to_str().into_owned()));
            }
            Kind::ToolScheduled { call_id, name, input } => {
                self.called(call_id, Some(name), *input, out);
            }
            Kind::ToolStarted { call_id, name, input } => {
                self.called(call_id, name.as_ref(), *input, out);
            }
            Kind::ToolCompleted { call_id, name, status, output } => {
                self.called(call_id, name.as_ref(), None, out);
                let Some(call) = self.calls.remove(&*call_id.to_str()) else { return };
                let text = output.as_ref().map(|it| it.to_str().into_owned());
                let is_error = *status != Outcome::Success;
                let is_cancelled = *status == Outcome::Cancelled;
                let text = text.unwrap_or_default();
                out.push(Event::CallEnded { call, is_error, is_cancelled, text });
            }
            Kind::Usage(usage) => out.push(Event::Leader(LeaderEvent::Used(*usage))),
            Kind::Info { text } if !is_sub => out.push(Event::Info(text.to_str().into_owned())),
            Kind::Error { message, .. } if !is_sub => {
                self.is_open = false;
                let message = message.to_str();
                if !message.starts_with(REFUSED) {
                    out.push(Event::Info(message.into_owned()));
                }
            }
            // The plan comes from the store, and how the program ended from its exit code too.
            Kind::SessionStarted { .. }
            | Kind::TurnStarted { .. }
            | Kind::Text { .. }
            | Kind::Thinking { .. }
            | Kind::Info { .. }
            | Kind::ToolWaiting { .. }
            | Kind::ToolAnswered { .. }
            | Kind::MessageQueued { .. }
            | Kind::TodoList { .. }
            | Kind::TurnCompleted { .. }
            | Kind::Error { .. }
            | Kind::Warning { .. } => {}
        }
    }

    /// A call is told once, whether the stream first says that it is wanted or that it runs.
    fn called(
        &mut self,
        id: &Text<'_>,
        name: Option<&Text<'_>>,
        input: Option<RawJson<'_>>,
        out: &mut Vec<Event>,
    ) {
        self.is_open = false;
        let id = id.to_str();
        let Some(name) = name.filter(|_| !self.calls.contains_key(&*id)) else { return };
        let input = input.and_then(|it| serde_json::from_str(it.get()).ok());
        let call = ModelCall {
            id: ModelCallId(id.clone().into_owned()),
            provider_id: String::new(),
            tool: name.to_str().into_owned(),
            arguments: Arguments::Object(input.unwrap_or(Value::Object(serde_json::Map::new()))),
            signatures: Vec::new(),
        };
        out.push(Event::Leader(LeaderEvent::Call(call.clone())));
        out.push(Event::CallStarted(call.clone()));
        self.calls.insert(id.into_owned(), call);
    }
}
