//! Calls of tools that are not todo tools.

use crate::event::joined;
use crate::event::{Kind, Outcome, Text};
use crate::json::{Object, Str};
use crate::parse::emit::Emit;

/// Reports a call, and its result if it has one already.
pub(super) fn called(update: &Object<'_>, emit: &mut Emit<'_>) {
    let Some(id) = update.text("toolCallId") else {
        return emit.warn("a tool call without id");
    };
    let title = update.text("title").or_else(|| update.text("kind"));
    let input = update.get("rawInput").and_then(|it| emit.input(it));
    let name = title.map_or(Text::from("tool"), Text::raw);
    emit.event(Kind::ToolScheduled { call_id: Text::raw(id), name, input });
    moved(id, update, emit);
}

/// Reports an update of a call, which may not have been announced.
pub(super) fn updated(update: &Object<'_>, emit: &mut Emit<'_>) {
    match update.text("toolCallId") {
        Some(id) => moved(id, update, emit),
        None => emit.warn("a tool call without id"),
    }
}

fn moved(id: Str<'_>, update: &Object<'_>, emit: &mut Emit<'_>) {
    let name = update.text("title").map(Text::raw);
    let call_id = Text::raw(id);
    let ended = match update.text("status").map_or("", |it| it.literal()) {
        "\"in_progress\"" => {
            return emit.event(Kind::ToolStarted { call_id, name, input: None });
        }
        "\"completed\"" => Outcome::Success,
        "\"failed\"" => Outcome::Error,
        _ => return,
    };
    let output = output(update);
    // Gemini CLI reports a call that the user stopped as completed.
    let is_stopped = |it: &Text<'_>| it.to_str().starts_with("Command cancelled by user");
    let status = if output.as_ref().is_some_and(is_stopped) { Outcome::Cancelled } else { ended };
    emit.event(Kind::ToolCompleted { call_id, name, status, output });
}

/// The texts of a call's output, in any wrapper.
fn output<'a>(update: &Object<'a>) -> Option<Text<'a>> {
    let mut texts = Vec::new();
    for block in update.items("content") {
        texts.extend(block.get("content").and_then(joined));
    }
    if texts.len() > 1 {
        let all: Vec<_> = texts.iter().map(Text::to_str).collect();
        return Some(Text::from(all.join("\n")));
    }
    texts.pop().or_else(|| update.get("rawOutput").and_then(joined))
}
