//! Items that an agent does: its program runs headless on the item, and what it says is read as it comes.
//!
//! The agent is told the item and nothing of the plan. Its own list is kept under the item, as it stands.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_formats::stream::event::{Event, Kind as Said, Outcome, Role};
use punchlist_formats::stream::{Options, Source, Stream};
use punchlist_formats::text;
use punchlist_model::{Item, Status};
use punchlist_sched::access::Access;
use punchlist_sched::call::{Checked, Ended, Kind, Output};
use punchlist_sched::output::{Line, Stream as From};
use punchlist_sched::policy::Subject;
use punchlist_sched::process::Command;
use punchlist_sched::tool::{Preview, Tool, Work};
use serde_json::{Value, json};

use super::nest::Entry;
use super::step::{AGENT, Place, badly, item};

/// The agents that can be given an item.
pub(super) const KNOWN: [&str; 3] = ["claude", "codex", "gemini"];
/// How much of what it said on the side is kept, for when it fails.
const KEPT: usize = 8 << 10;

/// What an agent is asked.
pub(super) fn prompt(item: &Item) -> String {
    let mut parts = vec![item.title.clone()];
    if !item.context.trim().is_empty() {
        parts.push(item.context.clone());
    }
    if !item.completion_criteria.trim().is_empty() {
        parts.push(format!("It is done when: {}", item.completion_criteria));
    }
    parts.join("\n\n")
}

/// The arguments of an item's call.
pub(super) fn arguments(item: &Item, agent: &str) -> Value {
    json!({"item": item.number.0, "agent": agent, "prompt": prompt(item)})
}

/// The words that run an agent on a prompt, with a stream that can be read, and what that stream is.
fn words<'a>(agent: &str, prompt: &'a str) -> Option<(Vec<&'a str>, Source)> {
    match agent {
        "claude" => {
            let words = ["claude", "-p", prompt, "--output-format", "stream-json", "--verbose"];
            Some((words.to_vec(), Source::ClaudeCode))
        }
        "codex" => Some((vec!["codex", "exec", "--json", prompt], Source::Codex)),
        "gemini" => {
            Some((vec!["gemini", "-p", prompt, "--output-format", "stream-json"], Source::Gemini))
        }
        _ => None,
    }
}

fn text_of<'a>(arguments: &'a Value, key: &str) -> &'a str {
    arguments.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Has an agent do an item.
pub(super) struct Agent {
    place: Place,
    schema: Value,
}

impl Agent {
    pub(super) fn new(place: Place) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "item": {"type": "integer", "minimum": 1},
                "agent": {"type": "string"},
                "prompt": {"type": "string"},
            },
            "required": ["item", "agent", "prompt"],
            "additionalProperties": false,
        });
        Self { place, schema }
    }
}

impl Tool for Agent {
    fn name(&self) -> &str {
        AGENT
    }

    fn description(&self) -> &str {
        "Has an agent's program do an item."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, arguments: &Value) -> Result<Checked, String> {
        let job = item(arguments).and_then(|it| self.place.jobs.get(&it));
        let job = job.ok_or("this run has no such item")?;
        let agent = text_of(arguments, "agent");
        if !KNOWN.contains(&agent) {
            return Err(format!("there is no agent {agent:?}; there are: {}", KNOWN.join(", ")));
        }
        let subject = Subject {
            tool: AGENT.to_owned(),
            harmless: !job.approve,
            arguments: vec![("agent".to_owned(), agent.to_owned())],
            ..Subject::default()
        };
        Ok(Checked { access: Access::none(), kind: Kind::OTHER, subject })
    }

    fn preview(&self, arguments: &Value) -> Preview {
        let (agent, prompt) = (text_of(arguments, "agent"), text_of(arguments, "prompt"));
        let what = format!("be done by {agent}");
        Preview { what, command: Some(prompt.to_owned()), ..Preview::default() }
    }

    fn run(&self, arguments: Value, work: Work) -> BoxFuture<'static, Ended> {
        let place = self.place.clone();
        Box::pin(async move { place.have_done(&arguments, work).await })
    }
}

/// What an agent said so far.
#[derive(Default)]
struct Heard {
    /// What it does now, in a line.
    now: String,
    /// The last thing that it said.
    answer: String,
    list: Vec<Entry>,
    is_listed: bool,
    failed: Option<String>,
}

impl Heard {
    fn event(&mut self, event: &Event<'_>) {
        match &event.kind {
            Said::Text { role: Role::Assistant, text, delta: false } => {
                self.answer = text.to_str().into_owned();
                let line = self.answer.lines().find(|it| !it.trim().is_empty()).unwrap_or_default();
                self.now = text::one_line(line).into_owned();
            }
            Said::ToolScheduled { name, .. } | Said::ToolStarted { name: Some(name), .. } => {
                self.now = text::one_line(&name.to_str()).into_owned();
            }
            Said::TodoList { items, .. } => {
                let entry = |it: &punchlist_formats::stream::event::Item<'_>| Entry {
                    title: it.text.to_str().into_owned(),
                    status: match it.status {
                        punchlist_formats::stream::event::Status::Pending => Status::Pending,
                        punchlist_formats::stream::event::Status::InProgress => Status::InProgress,
                        punchlist_formats::stream::event::Status::Completed => Status::Completed,
                        punchlist_formats::stream::event::Status::Cancelled => Status::Cancelled,
                    },
                };
                self.list = items.iter().map(entry).collect();
                self.is_listed = true;
            }
            Said::TurnCompleted { status: Outcome::Error | Outcome::Cancelled, reason } => {
                let reason = reason.as_ref().map(|it| it.to_str().into_owned());
                self.failed = Some(reason.unwrap_or_else(|| "its turn failed".to_owned()));
            }
            Said::TurnCompleted { status: Outcome::Success, .. } => self.failed = None,
            Said::Error { message, recoverable: false, .. } => {
                self.failed = Some(message.to_str().into_owned());
            }
            Said::SessionStarted { .. }
            | Said::TurnStarted { .. }
            | Said::Text { .. }
            | Said::Thinking { .. }
            | Said::ToolWaiting { .. }
            | Said::ToolAnswered { .. }
            | Said::ToolStarted { name: None, .. }
            | Said::ToolCompleted { .. }
            | Said::MessageQueued { .. }
            | Said::Usage(_)
            | Said::Error { .. }
            | Said::Warning { .. } => {}
        }
    }

    /// `Reading CHANGELOG.md (2/4)`
    fn line(&self) -> String {
        let done = self.list.iter().filter(|it| it.status == Status::Completed).count();
        match self.list.len() {
            0 => self.now.clone(),
            all => format!("{} ({done}/{all})", self.now),
        }
    }
}

impl Place {
    async fn have_done(&self, arguments: &Value, work: Work) -> Ended {
        let Some(number) = item(arguments).filter(|it| self.jobs.contains_key(it)) else {
            return badly("this run has no such item", Output::default());
        };
        if let Some(said) = self.shared.lock().taken.get(&number) {
            return Ended::Declined(said.clone());
        }
        let (agent, prompt) = (text_of(arguments, "agent"), text_of(arguments, "prompt"));
        let Some((words, source)) = words(agent, prompt) else {
            return badly(&format!("there is no agent {agent:?}"), Output::default());
        };
        let (program, rest) = words.split_first().map_or(("", &[][..]), |(it, rest)| (*it, rest));
        let mut command = Command::new(program, &self.directory)
            .envs(self.environment.iter().cloned())
            .env("PUNCHLIST_ITEM", number.to_string());
        for word in rest {
            command = command.arg(*word);
        }
        command.apart = true;
        let running = match work.spawn(command).await {
            Ok(running) => running,
            Err(why) => return badly(&format!("{agent} did not start: {why}"), Output::default()),
        };
        let mut stream = Stream::new(source, Options::default());
        let mut heard = Heard::default();
        let mut aside: Vec<u8> = Vec::new();
        let exit = running
            .finish(|from, bytes| match from {
                From::Err => {
                    aside.extend_from_slice(bytes);
                    if aside.len() > 2 * KEPT {
                        aside.drain(..aside.len() - KEPT);
                    }
                }
                From::Out => {
                    stream.push(bytes, &mut |event: &Event<'_>| heard.event(event));
                    self.hear(number, &mut heard, &work);
                }
            })
            .await;
        stream.end(&mut |event: &Event<'_>| heard.event(event));
        self.hear(number, &mut heard, &work);
        let aside = String::from_utf8_lossy(&aside).into_owned();
        let output = |text: String| Output { text, ..Output::default() };
        match exit {
            Ok(exit) if !exit.is_success() => {
                let said = if aside.trim().is_empty() { heard.answer } else { aside };
                return badly(&format!("{agent}: {exit}"), output(said));
            }
            Err(why) => return badly(&format!("{agent}: {why}"), output(aside)),
            Ok(_) => {}
        }
        if let Some(why) = heard.failed {
            return badly(&format!("{agent}: {}", text::one_line(&why)), output(heard.answer));
        }
        self.verified(number, output(heard.answer), &work).await
    }

    /// Passes on what was heard.
    fn hear(&self, number: punchlist_model::Number, heard: &mut Heard, work: &Work) {
        if std::mem::take(&mut heard.is_listed) {
            self.shared.lock().lists.insert(number, heard.list.clone());
        }
        let line = heard.line();
        if !line.trim().is_empty() {
            work.say(Line { stream: From::Out, text: line });
        }
    }
}

/// The tool, ready to be called.
pub(super) fn tool(place: &Place) -> Arc<dyn Tool> {
    Arc::new(Agent::new(place.clone()))
}

#[cfg(test)]
mod tests {
    use punchlist_model::{IdSource, ItemId, Number, Timestamp};

    use super::*;

    #[test]
    fn an_agent_is_told_the_item_and_when_it_is_done() {
        let at = Timestamp::UNIX_EPOCH;
        let mut item =
            Item::new(ItemId(IdSource::fixed(at, 1).nth(0)), Number(2), "Write the notes", at);
        assert_eq!(prompt(&item), "Write the notes");
        item.context = "They are for users.".to_owned();
        item.completion_criteria = "CHANGELOG.md has a section 1.2".to_owned();
        let expected = "Write the notes\n\nThey are for users.\n\n\
                        It is done when: CHANGELOG.md has a section 1.2";
        assert_eq!(prompt(&item), expected);
    }

    #[test]
    fn every_known_agent_has_words_and_no_other_has() {
        for agent in KNOWN {
            let (words, source) = words(agent, "do it").unwrap();
            assert_eq!((words[0], source.name()), (agent, agent));
            assert!(words.contains(&"do it"));
        }
        assert!(words("moon", "do it").is_none());
    }
}
