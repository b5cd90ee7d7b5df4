//! What follows from a key, a report or a message. No terminal, no programs.

use punchlist_agent::team::Report;
use punchlist_agent::workers::WorkerEnd;
use punchlist_formats::text::{Colour, Glyphs, Line, Style, many_lines, one_line};
use punchlist_formats::view::questions;
use punchlist_model::call::{Question, Standing};
use punchlist_streams::event::owned::{AgentEvent, Kind, Role};

use super::model::{Intent, Model, Msg, Turn};
use super::queue;
use super::route::{COMMANDS, Routed, route};
use crate::input::{Completion, Entered, Query, Typed};
use crate::keys::Key;
use crate::prompt::Pressed;
use crate::text::markdown;

/// Most bytes of a text that is kept while it arrives. More is printed at once.
const MOST_TEXT: usize = 16 << 10;

pub(super) fn update(model: &mut Model, msg: Msg) -> Vec<Intent> {
    match msg {
        Msg::Key(key) => pressed(model, &key),
        Msg::Enter(entered) => enter(model, &entered),
        Msg::Report(Report::Event { member, event }) => heard(model, member, *event),
        Msg::Report(Report::Ended { member, end, answer, .. }) => {
            ended(model, member, &end, answer)
        }
        Msg::Report(Report::Asked { member, asked }) => {
            // The text before it comes first.
            let intents = flush(model, member);
            model.asked_by.insert(asked.id, member);
            model.prompt.ask(*asked);
            intents
        }
        Msg::Report(Report::Settled { question }) => settled(model, &question),
        Msg::QueuedBefore(messages) => queue::found(model, messages),
        Msg::Queued(messages) => {
            model.waiting.extend(messages);
            Vec::new()
        }
        Msg::NotQueued(members, why) => queue::not_queued(model, &members, &why),
        Msg::TakenOut(why, message, is_out) => queue::taken_out(model, why, message, is_out),
        Msg::QueueFailed(why) => vec![Intent::Refuse(format!("the queue: {why}"))],
        Msg::Drawn => {
            model.prompt.was_drawn();
            model.typing.was_drawn(&model.prompt, model.now);
            Vec::new()
        }
        Msg::Resize(size) => {
            model.size = size;
            model.input.set_width(size.columns);
            Vec::new()
        }
        Msg::Tick(now) => {
            model.now = now;
            Vec::new()
        }
    }
}

fn pressed(model: &mut Model, key: &Key) -> Vec<Intent> {
    let was_leaving = std::mem::take(&mut model.is_leaving);
    let is_typing = !model.prompt.is_open() || model.holds_question_back();
    if !is_typing
        && !is_anywhere(model, key)
        && !model.typing.begin(key, &model.prompt, &model.input)
    {
        return answered(model, key);
    }
    if *key == Key::AltUp {
        return queue::edit_newest(model);
    }
    let typed = model.input.key(key);
    model.typing.typed(&model.input, model.now);
    match typed {
        Typed::Submit(entered) | Typed::Steer(entered) => enter(model, &entered),
        Typed::Shell(command) => enter(model, &Entered::typed(&format!("!{command}"))),
        Typed::Complete(query) => {
            let offered = completions(model, &query);
            model.input.offer(offered);
            Vec::new()
        }
        Typed::Leave => vec![Intent::Quit],
        Typed::Keys => vec![Intent::Print(help())],
        Typed::Refused(why) => vec![Intent::Refuse(why)],
        Typed::Changed | Typed::Nothing => Vec::new(),
        Typed::Ignored => ignored(model, key, was_leaving),
    }
}

/// Whether a key means the same while a question is open. Within an answer, such as a reason, Esc goes one
/// step back.
fn is_anywhere(model: &Model, key: &Key) -> bool {
    matches!(key, Key::Ctrl('c' | 'd' | 'l' | 'z'))
        || *key == Key::Escape && model.prompt.is_at_first_step()
}

/// A key for the question that is shown.
fn answered(model: &mut Model, key: &Key) -> Vec<Intent> {
    let Pressed::Answer(id, answer) = model.prompt.key(key) else { return Vec::new() };
    let member = model.settle(id);
    let name = model.names(&member.into_iter().collect::<Vec<_>>());
    let line = note(&format!("{name}: {}", questions::word(&answer)));
    vec![Intent::Print(vec![line]), Intent::Answer(id, answer)]
}

/// A question was answered or is no longer asked. What the person answered here is known already.
fn settled(model: &mut Model, question: &Question) -> Vec<Intent> {
    let Some(member) = model.settle(question.asked.id) else { return Vec::new() };
    let Standing::Answered(answered) = &question.standing else { return Vec::new() };
    let (name, by) = (model.names(&[member]), &answered.by.name);
    let text = format!("{name} was answered by {by}: {}", questions::word(&answered.answer));
    vec![Intent::Print(vec![note(&text)])]
}

/// A key that is not for the input.
fn ignored(model: &mut Model, key: &Key, was_leaving: bool) -> Vec<Intent> {
    let is_interrupt = *key == Key::Ctrl('c');
    if *key == Key::Escape || is_interrupt && model.is_busy() {
        stop(model, &all(model))
    } else if is_interrupt && was_leaving {
        vec![Intent::Quit]
    } else if is_interrupt {
        model.is_leaving = true;
        Vec::new()
    } else if *key == Key::Ctrl('z') {
        vec![Intent::Suspend]
    } else if *key == Key::Ctrl('l') {
        vec![Intent::Redraw]
    } else {
        Vec::new()
    }
}

fn all(model: &Model) -> Vec<usize> {
    (0..model.members.len()).collect()
}

fn enter(model: &mut Model, entered: &Entered) -> Vec<Intent> {
    let names: Vec<&str> = model.members.iter().map(|it| it.name.as_str()).collect();
    match route(entered, &names, &model.last) {
        Routed::Send { members, text, is_last } => send(model, &members, &text, is_last),
        Routed::Choose(members) => {
            let text = format!("further messages are for {}", model.names(&members));
            model.last = members;
            vec![Intent::Print(vec![note(&text)])]
        }
        Routed::Pass(to, text) => pass(model, &to, &text),
        Routed::Stop(members) => stop(model, &members),
        Routed::Queue(command) => queue::command(model, command),
        Routed::Members => vec![Intent::Print(members(model))],
        Routed::Help => vec![Intent::Print(help())],
        Routed::Quit => vec![Intent::Quit],
        Routed::Wrong(why) => {
            // The text can be corrected.
            model.input.restore();
            vec![Intent::Refuse(why)]
        }
    }
}

/// Gives members a message, or queues it for those that work.
fn send(model: &mut Model, members: &[usize], text: &str, is_last: bool) -> Vec<Intent> {
    members.clone_into(&mut model.last);
    let (busy, idle): (Vec<usize>, Vec<usize>) =
        members.iter().partition(|it| model.is_working(**it));
    let mut intents = Vec::new();
    if !idle.is_empty() {
        intents.push(Intent::Print(said(model, &idle, text, is_last)));
        intents.extend(begin(model, &idle, text));
    }
    if !busy.is_empty() {
        intents.push(Intent::Queue(busy, text.to_owned()));
    }
    intents
}

pub(super) fn begin(model: &mut Model, members: &[usize], text: &str) -> Vec<Intent> {
    if members.is_empty() {
        return Vec::new();
    }
    model.panels.begin(members);
    let since = model.now;
    for member in members {
        if let Some(seat) = model.members.get_mut(*member) {
            let (doing, text) = (String::new(), String::new());
            seat.turn = Some(Turn { since, doing, text, is_ending: false });
        }
    }
    members.iter().map(|it| Intent::Send(*it, text.to_owned())).collect()
}

/// Hands the last answer on.
fn pass(model: &mut Model, to: &[usize], text: &str) -> Vec<Intent> {
    let Some((from, answer)) = model.answer.clone() else {
        model.input.restore();
        return vec![Intent::Refuse("nobody has answered yet".to_owned())];
    };
    let to: Vec<usize> = to.iter().copied().filter(|it| *it != from).collect();
    if to.is_empty() {
        model.input.restore();
        return vec![Intent::Refuse("the last answer is that member's own".to_owned())];
    }
    let name = model.names(&[from]);
    let mut message = text.to_owned();
    if !message.is_empty() {
        message.push_str("\n\n");
    }
    message.push_str(&format!("{} answered:\n\n{answer}", one_line(&name)));
    let shown = if text.is_empty() { String::new() } else { format!(": {text}") };
    let line = note(&format!("{name}'s answer goes to {}{shown}", model.names(&to)));
    let mut intents = vec![Intent::Print(vec![line])];
    // The answer is on the screen already.
    let sent = send(model, &to, &message, false).into_iter();
    intents.extend(sent.filter(|it| !matches!(it, Intent::Print(_))));
    intents
}

fn stop(model: &mut Model, members: &[usize]) -> Vec<Intent> {
    let mut intents = Vec::new();
    for member in members {
        let Some(seat) = model.members.get_mut(*member) else { continue };
        if let Some(turn) = seat.turn.as_mut().filter(|it| !it.is_ending) {
            turn.is_ending = true;
            intents.push(Intent::Cancel(*member));
        }
    }
    intents
}

/// An event of a member.
fn heard(model: &mut Model, member: usize, event: AgentEvent) -> Vec<Intent> {
    // A sub-agent's name is its agent's name, a slash and its own.
    let is_sub = event.agent_id.contains('/');
    match event.kind {
        Kind::TodoList { items, unconfirmed: false, .. } if !is_sub => {
            model.panels.list(member, &items);
            flush(model, member)
        }
        Kind::Text { role: Role::Assistant, text, delta, .. } if !is_sub => {
            arrives(model, member, &text, delta)
        }
        Kind::ToolScheduled { name, .. } | Kind::ToolStarted { name: Some(name), .. } => {
            does(model, member, &name);
            flush(model, member)
        }
        Kind::Thinking { .. } if !is_sub => {
            does(model, member, "thinking");
            Vec::new()
        }
        Kind::Info { text } if !is_sub => {
            let text = format!("{}: {}", model.names(&[member]), text);
            vec![Intent::Print(vec![note(&text)])]
        }
        Kind::Error { message, recoverable: true, .. } if !is_sub => {
            let text = format!("{}: {message}", model.names(&[member]));
            vec![Intent::Print(vec![note(&text)])]
        }
        // The end of a turn is told with its reason, and the rest is not for the screen.
        Kind::SessionStarted { .. }
        | Kind::TurnStarted { .. }
        | Kind::Text { .. }
        | Kind::Thinking { .. }
        | Kind::Info { .. }
        | Kind::ToolWaiting { .. }
        | Kind::ToolAnswered { .. }
        | Kind::ToolStarted { .. }
        | Kind::ToolCompleted { .. }
        | Kind::MessageQueued { .. }
        | Kind::TodoList { .. }
        | Kind::Usage { .. }
        | Kind::TurnCompleted { .. }
        | Kind::Error { .. }
        | Kind::Warning { .. } => Vec::new(),
    }
}

fn does(model: &mut Model, member: usize, what: &str) {
    if let Some(turn) = model.members.get_mut(member).and_then(|it| it.turn.as_mut()) {
        turn.doing = one_line(what).into_owned();
    }
}

/// A text arrives, whole or in pieces.
fn arrives(model: &mut Model, member: usize, text: &str, is_piece: bool) -> Vec<Intent> {
    let mut intents = if is_piece { Vec::new() } else { flush(model, member) };
    let Some(turn) = model.members.get_mut(member).and_then(|it| it.turn.as_mut()) else {
        return intents;
    };
    turn.text.push_str(text);
    "writing".clone_into(&mut turn.doing);
    if !is_piece {
        intents.extend(flush(model, member));
        return intents;
    }
    let mut stable = markdown::stable_prefix(&turn.text);
    if turn.text.len() > MOST_TEXT {
        stable = turn.text.len();
    }
    let rest = turn.text.split_off(stable);
    let done = std::mem::replace(&mut turn.text, rest);
    intents.extend(speaks(model, member, &done));
    intents
}

/// Prints the text that has arrived.
fn flush(model: &mut Model, member: usize) -> Vec<Intent> {
    let turn = model.members.get_mut(member).and_then(|it| it.turn.as_mut());
    let text = turn.map(|it| std::mem::take(&mut it.text)).unwrap_or_default();
    speaks(model, member, &text).into_iter().collect()
}

/// A text of a member, with its name above where somebody else spoke last.
fn speaks(model: &mut Model, member: usize, text: &str) -> Option<Intent> {
    if text.trim().is_empty() {
        return None;
    }
    let seat = model.members.get(member)?;
    let mut lines = Vec::new();
    if model.speaker != Some(member) {
        let name = format!("{}:", one_line(&seat.shown.name));
        lines.extend([Line::new(), foreign(&name, Style::BoldIn(seat.shown.colour))]);
    }
    model.speaker = Some(member);
    let width = model.size.columns.saturating_sub(3).max(1);
    let shown = markdown::lines(text.trim_end(), width, model.glyphs());
    lines.extend(shown.into_iter().map(|it| it.indented(2)));
    Some(Intent::Print(lines))
}

fn ended(model: &mut Model, member: usize, end: &WorkerEnd, answer: String) -> Vec<Intent> {
    let mut intents = flush(model, member);
    model.ended(member, end);
    if *end == WorkerEnd::Well {
        if !answer.trim().is_empty() {
            model.answer = Some((member, answer));
        }
        intents.extend(queue::next(model, member));
        return intents;
    }
    let name = model.names(&[member]);
    let mut lines = vec![wrong(&format!("{name} {end}"))];
    model.speaker = None;
    // The turn has ended, and not what the person has queued.
    let count = model.waiting.iter().filter(|it| it.member == member).count();
    if count > 0 {
        let text = format!("{count} queued for {name}: /queue go sends, or its next turn does");
        lines.push(note(&text));
    }
    intents.push(Intent::Print(lines));
    intents
}

/// The person's message.
pub(super) fn said(model: &mut Model, members: &[usize], text: &str, is_last: bool) -> Vec<Line> {
    model.speaker = None;
    let mut head = Line::of("> ", Style::BoldIn(Colour::Cyan));
    for (at, seat) in members.iter().filter_map(|it| model.members.get(*it)).enumerate() {
        if at > 0 {
            head.push(", ", Style::Plain);
        }
        head.append(foreign(&seat.shown.name, Style::BoldIn(seat.shown.colour)));
    }
    if is_last {
        head.push(" (addressed last)", Style::Dim);
    }
    head.push(": ", Style::Plain);
    let text = many_lines(text);
    let mut rows = text.lines();
    head.push(rows.next().unwrap_or_default(), Style::Plain);
    let rest = rows.map(|it| Line::of(it, Style::Plain).indented(2));
    [Line::new(), head].into_iter().chain(rest).collect()
}

fn members(model: &Model) -> Vec<Line> {
    let line = |seat: &super::model::Seat| {
        let mut line = Line::of(&format!("@{}", seat.name), Style::BoldIn(seat.shown.colour));
        let state = if seat.turn.is_some() { "works" } else { "waits" };
        let name = one_line(&seat.shown.name);
        line.push(&format!("  {name}, {}, {state}", one_line(&seat.about)), Style::Plain);
        line
    };
    model.members.iter().map(line).collect()
}

fn help() -> Vec<Line> {
    let line = |what: &str, does: &str| {
        let mut line = Line::of(&format!("  {what}"), Style::Bold);
        line.fill(24).push(does, Style::Plain);
        line
    };
    let mut lines = vec![
        line("@name message", "a message for one member; several names for several"),
        line("@all message", "a message for every member, side by side"),
        line("message", "a message for whom the last one was for"),
    ];
    lines.extend(
        COMMANDS
            .map(|(name, arguments, does)| line(format!("/{name} {arguments}").trim_end(), does)),
    );
    lines.push(line("Esc", "end all turns; their lists go"));
    lines.push(line("Ctrl-D, Ctrl-C twice", "end the conversation"));
    lines
}

fn completions(model: &Model, query: &Query) -> Vec<Completion> {
    let names = || model.members.iter().map(|it| it.name.as_str());
    match query {
        Query::Mention(text) => names()
            .chain(["all"])
            .filter(|it| it.to_lowercase().starts_with(&text.to_lowercase()))
            .map(|it| Completion::new(&format!("@{it}"), it == text))
            .collect(),
        Query::Command(text) => match text.split_once(char::is_whitespace) {
            None => COMMANDS
                .iter()
                .filter(|it| format!("/{}", it.0).starts_with(text.as_str()))
                .map(|it| Completion {
                    description: it.2.to_owned(),
                    ..Completion::new(&format!("/{}", it.0), text[1..] == *it.0)
                })
                .collect(),
            Some(("/pass" | "/stop", word)) if !word.contains(char::is_whitespace) => names()
                .filter(|it| it.to_lowercase().starts_with(&word.to_lowercase()))
                .map(|it| Completion::new(it, it == word))
                .collect(),
            Some(_) => Vec::new(),
        },
    }
}

/// A remark.
pub(super) fn note(text: &str) -> Line {
    foreign(text, Style::Dim)
}

/// What went wrong.
pub(super) fn wrong(text: &str) -> Line {
    foreign(text, Style::In(Colour::Red))
}

/// Text from elsewhere on one line.
fn foreign(text: &str, style: Style) -> Line {
    let mut line = Line::new();
    line.push_text(&one_line(text), usize::MAX, Glyphs::Unicode, style);
    line
}
