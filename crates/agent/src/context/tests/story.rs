//! Records for tests, told entry by entry.

use punchlist_model::Timestamp;

use super::super::{Instructions, SystemFacts, WorkerFacts};
use crate::provider::{
    Arguments, Assistant, CallResult, Message, ModelCall, ModelCallId, ModelName, TokenUsage,
};
use crate::session::{Answer, CallEnd, Entry, Recorded};
use crate::turn::{Ask, Offered, Purpose};

/// A record that grows.
#[derive(Clone, Debug)]
pub(super) struct Story {
    pub(super) entries: Vec<Recorded>,
    turn: u32,
}

impl Story {
    /// A turn. The numbers of its entries begin after those of the turns before.
    pub(super) fn new(turn: u32) -> Self {
        Self { entries: Vec::new(), turn }
    }

    pub(super) fn and(mut self, entry: Entry) -> Self {
        let next = |it: &Recorded| it.number + 1;
        let number = self.entries.last().map_or(u64::from(self.turn) * 1000 + 1, next);
        let at = Timestamp::default();
        self.entries.push(Recorded { number, turn: self.turn, at, entry });
        self
    }

    /// The entries of the next turn follow.
    pub(super) fn next_turn(mut self) -> Self {
        self.turn += 1;
        self
    }

    pub(super) fn user(self, text: &str) -> Self {
        self.and(Entry::User { text: text.to_owned() })
    }

    pub(super) fn steering(self, text: &str) -> Self {
        self.and(Entry::Steering { text: text.to_owned() })
    }

    pub(super) fn told(self, text: &str) -> Self {
        self.and(Entry::Told { text: text.to_owned() })
    }

    pub(super) fn summary(self, text: &str, through: u64) -> Self {
        self.and(Entry::Summary { text: text.to_owned(), through })
    }

    pub(super) fn says(self, purpose: Purpose, text: &str) -> Self {
        self.and(Entry::Answer(answer(purpose, text, "", &[], 0)))
    }

    /// An answer of this name with calls of these tools.
    pub(super) fn calls(self, name: &str, tools: &[&str]) -> Self {
        self.calls_with(name, tools, 0)
    }

    /// The same, with the tokens that the provider counted.
    pub(super) fn calls_with(self, name: &str, tools: &[&str], input: u64) -> Self {
        self.and(Entry::Answer(answer(Purpose::Work, "", name, tools, input)))
    }

    pub(super) fn result(self, call: &str, text: &str) -> Self {
        self.and(result(call, text, None))
    }

    pub(super) fn result_kept(self, call: &str, text: &str, whole: &str) -> Self {
        self.and(result(call, text, Some(whole.to_owned())))
    }

    /// The number of the last entry.
    pub(super) fn last(&self) -> u64 {
        self.entries.last().map_or(0, |it| it.number)
    }
}

pub(super) fn result(call: &str, text: &str, whole: Option<String>) -> Entry {
    let call = ModelCallId(call.to_owned());
    let result = CallResult { call, text: text.to_owned(), is_error: false };
    Entry::Result(CallEnd { result, whole })
}

pub(super) fn answer(
    purpose: Purpose,
    text: &str,
    name: &str,
    tools: &[&str],
    input: u64,
) -> Answer {
    let call = |(at, tool): (usize, &&str)| ModelCall {
        id: ModelCallId::new(name, at + 1),
        provider_id: String::new(),
        tool: (*tool).to_owned(),
        arguments: Arguments::Object(serde_json::json!({"path": "src/parser.rs"})),
        signatures: Vec::new(),
    };
    Answer {
        purpose,
        message: Assistant {
            model: ModelName { provider: "test".to_owned(), name: "model".to_owned() },
            text: text.to_owned(),
            thinking: Vec::new(),
            calls: tools.iter().enumerate().map(call).collect(),
        },

        stop: crate::provider::Stop::Finished,
        citations: Vec::new(),
        usage: TokenUsage { input, ..TokenUsage::default() },
    }
}

pub(super) fn ask(purpose: Purpose, tools: Offered) -> Ask {
    Ask { purpose, tools }
}

pub(super) fn facts() -> SystemFacts<'static> {
    SystemFacts {
        directory: "/home/ada/parser",
        operating_system: "Linux",
        date: "2026-11-17",
        branch: Some("main"),
        instructions: &[
            Instructions { path: "/home/ada/AGENTS.md", text: "Write tests." },
            Instructions { path: "/home/ada/parser/AGENTS.md", text: "Use tabs." },
        ],
        plan_section: Some("## Task planning\nPlan first."),
        plan_tool: "todo_manager",
        workers: &[
            WorkerFacts { name: "researcher", description: "Reads and searches." },
            WorkerFacts { name: "coder", description: "" },
        ],
        output_schema: None,
    }
}

/// Messages as one text.
pub(super) fn shown(messages: &[Message]) -> String {
    let mut lines = Vec::new();
    for message in messages {
        match message {
            Message::User(text) => lines.push(format!("user: {text}")),
            Message::Assistant(said) => {
                let calls: Vec<String> =
                    said.calls.iter().map(|it| format!(" [{} {}]", it.id, it.tool)).collect();
                lines.push(format!("assistant: {}{}", said.text, calls.concat()));
            }
            Message::Results(results) => {
                for it in results {
                    let error = if it.is_error { " (error)" } else { "" };
                    lines.push(format!("result of {}{error}: {}", it.call, it.text));
                }
            }
        }
    }
    lines.join("\n")
}
