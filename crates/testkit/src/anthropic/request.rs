//! What the model was sent. Reads, and judges nothing.

use serde_json::Value;

/// A request for a message.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// The conversation that it belongs to: the text by which it was told apart, or empty.
    pub conversation: String,
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
    /// Whether the agent calls it an error.
    pub is_error: bool,
}

impl Request {
    /// Everything that the model is shown, system prompt included, as one text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        add(&mut text, &self.body["system"]);
        for message in self.messages() {
            add(&mut text, &message["content"]);
        }
        text
    }

    /// What is new to the model since it last said something, results of tools included.
    #[must_use]
    pub fn news(&self) -> String {
        let mut text = String::new();
        for message in self.new_messages() {
            add(&mut text, &message["content"]);
        }
        text
    }

    /// The first message of the user, by which conversations are told apart.
    #[must_use]
    pub fn opening(&self) -> String {
        let mut text = String::new();
        if let Some(first) = self.messages().find(|it| it["role"] == "user") {
            add(&mut text, &first["content"]);
        }
        text
    }

    /// The names of the tools that the model may call.
    #[must_use]
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        tools.filter_map(|it| it["name"].as_str()).collect()
    }

    /// The results of the tools that the model called last.
    #[must_use]
    pub fn results(&self) -> Vec<ToolResult> {
        let blocks = self.new_messages().into_iter().flat_map(|it| blocks(&it["content"]));
        let results = blocks.filter(|it| it["type"] == "tool_result");
        let result = |it: &Value| {
            let mut text = String::new();
            add(&mut text, &it["content"]);
            let is_error = it["is_error"] == true;
            ToolResult { tool: self.tool(&it["tool_use_id"]), text, is_error }
        };
        results.map(result).collect()
    }

    /// The name of the tool that was called under this id.
    fn tool(&self, id: &Value) -> String {
        let mut calls = self.messages().flat_map(|it| blocks(&it["content"]));
        let call = calls.find(|it| it["type"] == "tool_use" && it["id"] == *id);
        call.and_then(|it| it["name"].as_str()).unwrap_or_default().to_owned()
    }

    fn messages(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.body["messages"].as_array().into_iter().flatten()
    }

    fn new_messages(&self) -> Vec<&Value> {
        let mut new: Vec<&Value> =
            self.messages().rev().take_while(|it| it["role"] != "assistant").collect();
        new.reverse();
        new
    }
}

fn blocks(content: &Value) -> impl Iterator<Item = &Value> {
    content.as_array().into_iter().flatten()
}

/// Adds the texts of a content: a string, or blocks, of which results have contents in turn.
fn add(text: &mut String, content: &Value) {
    if let Some(plain) = content.as_str() {
        text.push_str(plain);
        text.push('\n');
    }
    for block in blocks(content) {
        add(text, &block["text"]);
        add(text, &block["content"]);
    }
}
