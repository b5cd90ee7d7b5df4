//! A session as a document: JSON lines, Markdown or HTML. Pure.
//!
//! Texts of models and tools are data: Markdown fences them, HTML escapes them. Secrets are masked.

use std::str::FromStr;

use punchlist_formats::prompt::fence;
use punchlist_formats::text::secret::mask;
use punchlist_formats::text::{escape, many_lines, one_line};
use punchlist_model::store::turns::{Conversation, Turn};
use serde_json::{Value, json};

use super::entry::{Entry, Recorded};
use crate::provider::{Arguments, Citation, ModelCall, ThinkingBlock};

/// A format of an exported session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// One JSON object for each entry.
    Jsonl,
    /// A document to read.
    Markdown,
    /// A page that loads nothing.
    Html,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "jsonl" => Ok(Self::Jsonl),
            "markdown" | "md" => Ok(Self::Markdown),
            "html" => Ok(Self::Html),
            _ => Err("it is jsonl, markdown or html".to_owned()),
        }
    }
}

/// Writes a session in a format.
pub fn export(
    format: Format,
    conversation: &Conversation,
    turns: &[Turn],
    entries: &[Recorded],
) -> String {
    match format {
        Format::Jsonl => jsonl(conversation, turns, entries),
        Format::Markdown => markdown(conversation, entries),
        Format::Html => html(conversation, entries),
    }
}

/// The session and each turn and entry as a JSON object, one per line.
fn jsonl(conversation: &Conversation, turns: &[Turn], entries: &[Recorded]) -> String {
    let session = json!({
        "type": "session",
        "id": conversation.id.to_string(),
        "project": conversation.project,
        "title": conversation.title,
        "createdAt": conversation.created_at.to_string(),
        "used": conversation.used,
    });
    let turn = |it: &Turn| {
        json!({
            "type": "turn",
            "turn": it.number,
            "id": it.id,
            "plan": it.plan.map(|plan| plan.to_string()),
            "beganAt": it.began_at.to_string(),
            "endedAt": it.ended_at.map(|at| at.to_string()),
            "ending": it.ending,
            "used": it.used,
        })
    };
    let entry = |it: &Recorded| {
        let entry = serde_json::to_value(&it.entry).unwrap_or(Value::Null);
        json!({"type": "entry", "number": it.number, "turn": it.turn, "at": it.at.to_string(), "entry": masked(entry)})
    };
    let mut out = format!("{session}\n");
    for turn in turns.iter().map(turn) {
        out.push_str(&format!("{turn}\n"));
    }
    for entry in entries.iter().map(entry) {
        out.push_str(&format!("{entry}\n"));
    }
    escape::json(&out).into_owned()
}

/// Masks secrets in all texts of a value.
fn masked(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(mask(&text).into_owned()),
        Value::Array(all) => Value::Array(all.into_iter().map(masked).collect()),
        Value::Object(all) => {
            Value::Object(all.into_iter().map(|(key, value)| (key, masked(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// A part of a document: a heading, and text that is quoted as it is or belongs to the conversation.
struct Part {
    heading: String,
    text: String,
    is_code: bool,
}

fn parts(entries: &[Recorded]) -> Vec<Part> {
    let mut parts = Vec::new();
    for it in entries {
        match &it.entry {
            Entry::User { text } => parts.push(said("User", text)),
            Entry::Steering { text } => parts.push(said("User, while it ran", text)),
            Entry::Answer(answer) => {
                for block in &answer.message.thinking {
                    if let ThinkingBlock::Text(text) | ThinkingBlock::Signed { text, .. } = block
                        && !text.trim().is_empty()
                    {
                        parts.push(said("Thinking", text));
                    }
                }
                if !answer.message.text.trim().is_empty() {
                    let model = answer.message.model.to_string();
                    parts.push(said(&model, &answer.message.text));
                }
                let sources: Vec<String> = answer.citations.iter().map(Citation::line).collect();
                if !sources.is_empty() {
                    parts.push(said("Sources", &sources.join("\n")));
                }
                parts.extend(answer.message.calls.iter().map(call));
            }
            Entry::Result(end) => {
                let failed = if end.result.is_error { ", failed" } else { "" };
                parts.push(code(
                    &format!("Result of {}{failed}", end.result.call),
                    &end.result.text,
                ));
            }
            Entry::Told { text } => parts.push(said("Told the model", text)),
            Entry::Info { text } => parts.push(said("Info", text)),
            Entry::Summary { text, .. } => parts.push(said("Summary of older parts", text)),
            Entry::Used { .. } => {}
            Entry::Ended { ending } => parts.push(said("End", &ending.words())),
        }
    }
    parts
}

fn said(heading: &str, text: &str) -> Part {
    // A document may be printed to a terminal, so it contains no control characters.
    let text = many_lines(&mask(text)).into_owned();
    Part { heading: heading.to_owned(), text, is_code: false }
}

fn code(heading: &str, text: &str) -> Part {
    Part { is_code: true, ..said(heading, text) }
}

fn call(call: &ModelCall) -> Part {
    let arguments = match &call.arguments {
        Arguments::Object(value) => format!("{value:#}"),
        Arguments::Invalid(text) => text.clone(),
    };
    code(&format!("Call {} of {}", call.id, call.tool), &arguments)
}

fn markdown(conversation: &Conversation, entries: &[Recorded]) -> String {
    let mut out = format!("# {}\n", escape::markdown(&one_line(&conversation.title)));
    for part in parts(entries) {
        out.push_str(&format!("\n## {}\n\n", escape::markdown(&one_line(&part.heading))));
        // What a model or a tool wrote is shown as it is, and cannot end its block.
        out.push_str(&fence("text", &part.text));
        out.push('\n');
    }
    out
}

fn html(conversation: &Conversation, entries: &[Recorded]) -> String {
    let title = one_line(&conversation.title);
    let title = escape::html(&title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>body{{font:16px/1.5 system-ui;max-width:50rem;margin:2rem auto;padding:0 1rem}}\
         h2{{font-size:1rem;color:#666;margin:1.5rem 0 .25rem}}pre{{white-space:pre-wrap;overflow-wrap:anywhere;\
         background:#8881;padding:.5rem;margin:0}}p{{white-space:pre-wrap;margin:0}}</style>\n<h1>{title}</h1>\n"
    );
    for part in parts(entries) {
        let tag = if part.is_code { "pre" } else { "p" };
        let (heading, text) = (escape::html(&part.heading), escape::html(&part.text));
        out.push_str(&format!("<h2>{heading}</h2>\n<{tag}>{text}</{tag}>\n"));
    }
    out.push_str("</html>\n");
    out
}

#[cfg(test)]
mod tests {
    use punchlist_model::store::turns::Used;
    use punchlist_model::{ConversationId, Timestamp};

    use super::*;
    use crate::provider::{Assistant, CallResult, ModelCallId, Stop, TokenUsage};
    use crate::session::listing::transcript;
    use crate::session::{Answer, CallEnd};
    use crate::turn::Purpose;

    fn session() -> (Conversation, Vec<Recorded>) {
        let at = Timestamp::UNIX_EPOCH;
        let mut conversation = Conversation::new(ConversationId::NIL, "/p", at);
        conversation.title = "<b>hostile</b> # title".to_owned();
        let entries = [
            Entry::User {
                text: "<script>alert(1)</script> ghp_0123456789abcdef0123456789abcdef0123"
                    .to_owned(),
            },
            Entry::Result(CallEnd {
                result: CallResult {
                    call: ModelCallId("t1a1-1".to_owned()),
                    text: "```\n# not a heading\n</pre><script>".to_owned(),
                    is_error: false,
                },
                whole: None,
            }),
        ];
        let entries = entries.into_iter().zip(1..).map(|(entry, number)| Recorded {
            number,
            turn: 1,
            at,
            entry,
        });
        (conversation, entries.collect())
    }

    #[test]
    fn what_models_and_tools_wrote_cannot_leave_its_place() {
        let (conversation, entries) = session();
        let page = export(Format::Html, &conversation, &[], &entries);
        assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
        let document = export(Format::Markdown, &conversation, &[], &entries);
        assert!(document.contains("````text\n```\n# not a heading"), "{document}");
        for line in export(Format::Jsonl, &conversation, &[], &entries).lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
    }

    #[test]
    fn the_sources_of_an_answer_are_shown() {
        let (conversation, mut entries) = session();
        let page = Citation {
            title: "The manual".to_owned(),
            url: "https://example.org/manual".to_owned(),
            quote: "Turn it\noff.".to_owned(),
        };
        let answer = Answer {
            purpose: Purpose::Work,
            message: Assistant {
                model: "test/model".parse().unwrap(),
                text: "Turn it off.".to_owned(),
                thinking: Vec::new(),
                calls: Vec::new(),
            },
            stop: Stop::Finished,
            citations: vec![page],
            usage: TokenUsage::default(),
        };
        entries[0].entry = Entry::Answer(answer);
        let line =
            "The manual \u{b7} https://example.org/manual \u{b7} \u{201c}Turn it off.\u{201d}";
        for format in [Format::Markdown, Format::Html] {
            let text = export(format, &conversation, &[], &entries);
            assert!(text.contains(line), "{format:?} {text}");
        }
        let turn = Turn {
            number: 1,
            id: "t".to_owned(),
            plan: None,
            machine: String::new(),
            began_at: Timestamp::UNIX_EPOCH,
            ended_at: None,
            ending: None,
            used: Used::default(),
        };
        let shown = transcript(&conversation, &[turn], &entries);
        let shown: Vec<String> = shown
            .iter()
            .map(|it| it.spans().iter().map(|span| span.text.as_str()).collect())
            .collect();
        assert!(shown.contains(&format!("  source: {line}")), "{shown:?}");
    }

    #[test]
    fn secrets_are_masked_in_every_format() {
        let (conversation, entries) = session();
        for format in [Format::Jsonl, Format::Markdown, Format::Html] {
            let text = export(format, &conversation, &[], &entries);
            assert!(!text.contains("ghp_0123456789abcdef"), "{format:?} {text}");
        }
    }
}
