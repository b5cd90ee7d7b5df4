//! What the model was sent. Reads, and judges nothing.

use serde_json::Value;

use super::Api;

/// A request for a message.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// The conversation that it belongs to: the text by which it was told apart, or empty.
    pub conversation: String,
    /// How it was asked.
    pub api: Api,
    /// The model that was asked for.
    pub model: String,
    /// The header in which a key came. The key itself is not kept.
    pub key_header: Option<&'static str>,
    /// The whole body.
    pub body: Value,
}

/// What a tool gave back to the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolResult {
    /// The tool.
    pub tool: String,
    /// What it said.
    pub text: String,
    /// Whether the agent calls it an error. Codex never does: the text has to tell.
    pub is_error: bool,
}

/// Something that the model is shown, whichever the API.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// Instructions that stand before the conversation.
    Prompt(String),
    /// Something said by the user, or by the agent in the user's place.
    User(String),
    /// Something said by the agent in its own name, in mid-conversation.
    Note(String),
    /// Something that the model said.
    Said(String),
    /// A tool that the model called.
    Called { id: String, tool: String },
    /// What came of a call. The name of the tool is empty where the API leaves it out.
    Result { id: String, tool: String, text: String, is_error: bool },
}

impl Entry {
    fn is_of_the_model(&self) -> bool {
        match self {
            Self::Said(_) | Self::Called { .. } => true,
            Self::Prompt(_) | Self::User(_) | Self::Note(_) | Self::Result { .. } => false,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Prompt(text)
            | Self::User(text)
            | Self::Note(text)
            | Self::Said(text)
            | Self::Result { text, .. } => Some(text),
            Self::Called { .. } => None,
        }
    }
}

impl Request {
    /// Everything that the model is shown, instructions included, as one text.
    #[must_use]
    pub fn text(&self) -> String {
        joined(self.entries().iter())
    }

    /// What is new to the model since it last said something, results of tools included.
    #[must_use]
    pub fn news(&self) -> String {
        let entries = self.entries();
        joined(new(&entries).iter().filter(|it| !matches!(it, Entry::Prompt(_))))
    }

    /// What the user said before the model said anything, by which conversations are told apart.
    #[must_use]
    pub fn opening(&self) -> String {
        let entries = self.entries();
        let before = entries.iter().take_while(|it| !it.is_of_the_model());
        joined(before.filter(|it| matches!(it, Entry::User(_))))
    }

    /// The names of the tools that the model may call. One in a namespace is `namespace.tool`; what
    /// a model calls in a language is named by the tool that runs it, see [`Request::declares`].
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        self.api.tools(&self.body)
    }

    /// Whether the model may call this tool, or is told of it in the description of one that runs
    /// code.
    #[must_use]
    pub fn declares(&self, tool: &str) -> bool {
        let is_there = self.tools().iter().any(|it| it == tool);
        is_there || self.body.to_string().contains(&format!("declare const tools: {{ {tool}("))
    }

    /// The results of the tools that the model called last.
    #[must_use]
    pub fn results(&self) -> Vec<ToolResult> {
        let entries = self.entries();
        let result = |entry: &Entry| match entry {
            Entry::Result { id, tool, text, is_error } => {
                let tool = if tool.is_empty() { called(&entries, id) } else { tool.clone() };
                Some(ToolResult { tool, text: text.clone(), is_error: *is_error })
            }
            Entry::Prompt(_)
            | Entry::User(_)
            | Entry::Note(_)
            | Entry::Said(_)
            | Entry::Called { .. } => None,
        };
        new(&entries).iter().filter_map(result).collect()
    }

    fn entries(&self) -> Vec<Entry> {
        self.api.entries(&self.body)
    }
}

/// What came after the model's last word.
fn new(entries: &[Entry]) -> &[Entry] {
    let last = entries.iter().rposition(Entry::is_of_the_model);
    entries.get(last.map_or(0, |it| it + 1)..).unwrap_or_default()
}

/// The name of the tool that was called under this id.
fn called(entries: &[Entry], id: &str) -> String {
    let name = entries.iter().find_map(|it| match it {
        Entry::Called { id: own, tool } if own == id => Some(tool.clone()),
        Entry::Called { .. }
        | Entry::Prompt(_)
        | Entry::User(_)
        | Entry::Note(_)
        | Entry::Said(_)
        | Entry::Result { .. } => None,
    });
    name.unwrap_or_default()
}

/// The texts, each on lines of its own.
fn joined<'a>(entries: impl Iterator<Item = &'a Entry>) -> String {
    let texts = entries.filter_map(Entry::text);
    texts.fold(String::new(), |mut all, text| {
        all.push_str(text);
        all.push('\n');
        all
    })
}
