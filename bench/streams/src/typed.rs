//! The baseline: each line into typed structs by sonic-rs, as a reader of plans would declare them.
//!
//! It does less than we do: it matches no results to calls and writes nothing.

use std::borrow::Cow;
use std::hint::black_box;

use serde::Deserialize;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    uuid: Cow<'a, str>,
    #[serde(borrow, default)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(rename = "toolUseResult", borrow)]
    result: Option<Outcome<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Content<'a>,
}

#[derive(Deserialize, Default)]
#[serde(untagged)]
enum Content<'a> {
    #[default]
    None,
    Many(#[serde(borrow)] Vec<Block<'a>>),
    Text(#[serde(borrow)] Cow<'a, str>),
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(rename = "newTodos", borrow)]
    todos: Option<Vec<Todo<'a>>>,
}

#[derive(Deserialize)]
struct Todo<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
}

/// How many lists there are.
pub(crate) fn lists(bytes: &[u8]) -> u64 {
    let (mut at, mut lists) = (0, 0);
    for end in memchr::memchr_iter(b'\n', bytes) {
        let line: Result<Line<'_>, _> = sonic_rs::from_slice(&bytes[at..end]);
        at = end + 1;
        let Ok(line) = line else { continue };
        black_box((&line.kind, &line.uuid, &line.timestamp));
        match line.message.as_ref().map(|it| &it.content) {
            Some(Content::Many(blocks)) => {
                for block in blocks {
                    black_box((&block.kind, &block.name, &block.text, &block.content));
                }
            }
            Some(Content::Text(text)) => {
                black_box(text);
            }
            Some(Content::None) | None => {}
        }
        if let Some(todos) = line.result.and_then(|it| it.todos) {
            lists += 1;
            for todo in &todos {
                black_box((&todo.content, &todo.status));
            }
        }
    }
    lists
}
