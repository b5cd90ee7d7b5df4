//! Requests that the model got. Reads them, and judges nothing.

use serde_json::Value;

use super::Api;

/// A request for a message.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// The conversation: the text that identifies it, or empty.
    pub conversation: String,
    /// The API that was used.
    pub api: Api,
    /// The requested model.
    pub model: String,
    /// The header in which a key came. The key itself is not kept.
    pub key_header: Option<&'static str>,
    /// The whole body.
    pub body: Value,
}

/// The result of a tool, as the agent sent it to the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolResult {
    /// The tool.
    pub tool: String,
    /// The text of the result.
    pub text: String,
    /// Whether the agent calls it an error. Codex never does: only the text tells.
    pub is_error: bool,
}

/// Something that the model is shown, in any API.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// Instructions before the conversation.
    Prompt(String),
    /// A message of the user, or of the agent in the user's place.
    User(String),
    /// A message of the agent in its own name, in the middle of the conversation.
    Note(String),
    /// A message of the model.
    Said(String),
    /// A tool call of the model.
    Called { id: String, tool: String },
    /// The result of a call. The tool's name is empty if the API leaves it out.
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

    /// What is new since the model's last message, tool results included.
    #[must_use]
    pub fn news(&self) -> String {
        let entries = self.entries();
        joined(new(&entries).iter().filter(|it| !matches!(it, Entry::Prompt(_))))
    }

    /// What the user wrote before the model's first message. It identifies the conversation.
    #[must_use]
    pub fn opening(&self) -> String {
        let entries = self.entries();
        let before = entries.iter().take_while(|it| !it.is_of_the_model());
        joined(before.filter(|it| matches!(it, Entry::User(_))))
    }

    /// The names of the tools that the model may call. A tool in a namespace is `namespace.tool`.
    /// Tools that are called in code are named in the description of the tool that runs code, see
    /// [`Request::declares`].
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        self.api.tools(&self.body)
    }

    /// Whether the model may call this tool, or finds it in the description of a tool that runs
    /// code.
    #[must_use]
    pub fn declares(&self, tool: &str) -> bool {
        let is_there = self.tools().iter().any(|it| it == tool);
        is_there || self.body.to_string().contains(&format!("declare const tools: {{ {tool}("))
    }

    /// The results of the model's last tool calls.
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

/// The entries after the model's last message.
fn new(entries: &[Entry]) -> &[Entry] {
    let last = entries.iter().rposition(Entry::is_of_the_model);
    entries.get(last.map_or(0, |it| it + 1)..).unwrap_or_default()
}

/// The name of the tool that was called with this id.
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

/// The texts, each on its own lines.
fn joined<'a>(entries: impl Iterator<Item = &'a Entry>) -> String {
    let texts = entries.filter_map(Entry::text);
    texts.fold(String::new(), |mut all, text| {
        all.push_str(text);
        all.push('\n');
        all
    })
}
