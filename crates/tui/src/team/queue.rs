//! What follows for the queue: messages for members that work wait, and are sent one by one when a turn has
//! ended well. Pure: the queue itself is in the store.

use punchlist_agent::team::TeamMessage;
use punchlist_formats::text::{Line, Style, one_line};

use super::model::{Intent, Model, TakeOut};
use super::route::QueueCommand;
use super::update::{begin, note, said};

/// What the person wants of the queue.
pub(super) fn command(model: &mut Model, command: QueueCommand) -> Vec<Intent> {
    if model.waiting.is_empty() {
        return vec![Intent::Print(vec![note("nothing is queued")])];
    }
    let (number, why) = match command {
        QueueCommand::Show => return vec![Intent::Print(listed(model))],
        QueueCommand::Go => return go(model),
        QueueCommand::Edit(number) => (number, TakeOut::Edit),
        QueueCommand::Remove(number) => (number, TakeOut::Remove),
    };
    match number.checked_sub(1).and_then(|it| model.waiting.get(it)) {
        Some(message) => vec![Intent::TakeOut(why, message.clone())],
        None => {
            model.input.restore();
            vec![Intent::Refuse(format!("there is no message {number} in the queue"))]
        }
    }
}

/// Takes the newest message out of the queue, to edit it.
pub(super) fn edit_newest(model: &Model) -> Vec<Intent> {
    let Some(newest) = model.waiting.last() else { return Vec::new() };
    if !model.input.is_empty() {
        return vec![Intent::Refuse("send or clear what you typed first".to_owned())];
    }
    vec![Intent::TakeOut(TakeOut::Edit, newest.clone())]
}

/// Messages wait since an earlier start.
pub(super) fn found(model: &mut Model, messages: Vec<TeamMessage>) -> Vec<Intent> {
    if messages.is_empty() {
        return Vec::new();
    }
    let text = match messages.len() {
        1 => "1 message waits since the last time: /queue go sends it".to_owned(),
        count => format!("{count} messages wait since the last time: /queue go sends them"),
    };
    model.waiting = messages;
    vec![Intent::Print(vec![note(&text)])]
}

/// A message could not be queued. The text comes back, unless others got it already.
pub(super) fn not_queued(model: &mut Model, members: &[usize], why: &str) -> Vec<Intent> {
    if members == model.last {
        model.input.restore();
    }
    vec![Intent::Refuse(format!("not queued for {}: {why}", model.names(members)))]
}

/// The next message for a member, if one waits.
pub(super) fn next(model: &Model, member: usize) -> Option<Intent> {
    let next = model.waiting.iter().find(|it| it.member == member)?;
    Some(Intent::TakeOut(TakeOut::Send, next.clone()))
}

/// A message was taken out of the queue, or (`is_out` is `false`) somebody else was faster.
pub(super) fn taken_out(
    model: &mut Model,
    why: TakeOut,
    message: TeamMessage,
    is_out: bool,
) -> Vec<Intent> {
    model.waiting.retain(|it| it.id != message.id);
    let TeamMessage { member, text, .. } = message;
    let name = model.names(&[member]);
    if !is_out {
        let text = format!("a message for {name} was taken or removed meanwhile: {text}");
        let mut intents = vec![Intent::Print(vec![note(&text)])];
        intents.extend(next(model, member).filter(|_| why == TakeOut::Send));
        return intents;
    }
    match why {
        TakeOut::Remove => vec![Intent::Print(vec![note(&format!("removed for {name}: {text}"))])],
        TakeOut::Edit => {
            let to = model.members.get(member).map(|it| it.name.as_str()).unwrap_or_default();
            model.input.set_text(&format!("@{to} {text}"));
            Vec::new()
        }
        TakeOut::Send => {
            let mut intents = vec![Intent::Print(said(model, &[member], &text, false))];
            intents.extend(begin(model, &[member], &text));
            intents
        }
    }
}

/// Sends the first message of each member that does not work.
fn go(model: &Model) -> Vec<Intent> {
    let idle = (0..model.members.len()).filter(|it| !model.is_working(*it));
    let intents: Vec<Intent> = idle.filter_map(|it| next(model, it)).collect();
    if intents.is_empty() {
        let text = "the members work: a message is sent when its member's turn has ended";
        return vec![Intent::Print(vec![note(text)])];
    }
    intents
}

/// The queue, with numbers.
fn listed(model: &Model) -> Vec<Line> {
    let columns = usize::from(model.size.columns);
    let line = |(number, it): (usize, &TeamMessage)| {
        let name = model.names(&[it.member]);
        let text = format!("{number:>3}  {}: {}", one_line(&name), one_line(&it.text));
        let mut line = Line::new();
        line.push_text(&text, columns, model.glyphs(), Style::Plain);
        line
    };
    (1..).zip(&model.waiting).map(line).collect()
}
