//! What follows from a message: changes of the model, and intents.

pub(super) mod plan_run;
mod report;

use punchlist_agent::session::Input;
use punchlist_engine::fail::Fail;
use punchlist_engine::overview::Overview;
use punchlist_formats::text::{Line, one_line};
use punchlist_formats::view::questions;
use punchlist_model::call::{Message, Question, Standing};

use super::intent::{Intent, QueueAct};
use super::keymap::{self, Act};
use super::model::Model;
use super::msg::Msg;
use super::{complete, dialogs, outcome, transcript};
use crate::commands::Parsed;
use crate::dialog::{Dialog, KeysDialog, PagerDialog};
use crate::input::{Entered, Typed};
use crate::keys::Key;
use crate::prompt::Pressed;

/// How long a notice is shown, and how long Ctrl-C waits for a second one, in milliseconds.
const NOTICE_MS: i64 = 4_000;

/// Handles a message.
pub(crate) fn update(model: &mut Model, msg: Msg) -> Vec<Intent> {
    let intents = handle(model, msg);
    for intent in &intents {
        if let Intent::Print(lines) = intent
            && let Some(last) = lines.last()
        {
            model.is_after_blank = last.width() == 0;
        }
    }
    intents
}

fn handle(model: &mut Model, msg: Msg) -> Vec<Intent> {
    match msg {
        Msg::Key(key) => pressed(model, key),
        Msg::Report(report) => report::report(model, report),
        Msg::Overview(overview, gone) => shown(model, overview, &gone),
        Msg::Resize(size) => {
            model.size = size;
            model.input.set_width(size.columns);
            if let Some(dialog) = &mut model.dialog {
                dialog.resize(size.columns, size.rows);
            }
            Vec::new()
        }
        Msg::Tick(now) => {
            model.now = now;
            let is_over = |at: punchlist_model::Timestamp| {
                now.as_millisecond().saturating_sub(at.as_millisecond()) >= NOTICE_MS
            };
            model.notice.take_if(|(_, at)| is_over(*at));
            model.leaving.take_if(|at| is_over(*at));
            Vec::new()
        }
        Msg::Drawn => {
            match &mut model.dialog {
                Some(dialog) => dialog.drawn(),
                None => {
                    model.prompt.was_drawn();
                    model.typing.was_drawn(&model.prompt, model.now);
                }
            }
            Vec::new()
        }
        Msg::Told(text) => vec![Intent::Print(transcript::aside(&text, &options(model)))],
        Msg::Failed(fail) => vec![failed(model, &fail)],
        Msg::Opened(dialog) => {
            dialogs::open(model, *dialog);
            Vec::new()
        }
        Msg::PlanActed(acted) => dialogs::acted(model, acted),
        Msg::PlanMade(id) => {
            model.is_own_plan = false;
            model.note("Ctrl-T opens the new plan; a adds an item there");
            vec![Intent::ChoosePlan(id)]
        }
        Msg::Journal(entries) => dialogs::journal(model, entries),
        Msg::Output(item, text) => dialogs::output(model, item, &text),
        Msg::Commands(found) => outcome::commands(model, found),
        Msg::Mentions(mentions) => {
            model.mentions = mentions;
            Vec::new()
        }
        Msg::Choices(what, all) => {
            complete::read(model, what, all);
            Vec::new()
        }
        Msg::Session(agent, is) => outcome::session(model, *agent, is),
        Msg::Agents(seen) => dialogs::agents(model, seen),
        Msg::ToldAgents(text) => dialogs::told_agents(model, &text),
        Msg::Run(report) => plan_run::report(model, report),
        Msg::Unqueued(text) => {
            if model.input.is_empty() {
                model.input.set_message(&text);
                return Vec::new();
            }
            // The person typed meanwhile: nothing is lost.
            send(model, Entered { text, is_pasted: true }, false)
        }
        Msg::Submit(text) => send(model, Entered { text, is_pasted: true }, false),
        Msg::Command(text) => submit(model, Entered::typed(&text)),
        Msg::ShellEnded(_, Ok(0)) => Vec::new(),
        Msg::ShellEnded(command, Ok(code)) => {
            let text = format!("{}: exit code {code}", one_line(&command));
            vec![Intent::Print(transcript::wrong(&text, &options(model)))]
        }
        Msg::ShellEnded(_, Err(why)) => {
            vec![Intent::Print(transcript::wrong(&why, &options(model)))]
        }
    }
}

/// What is printed first.
pub(crate) fn begin(model: &Model) -> Vec<Intent> {
    if model.agent.model.is_some() || model.facts.no_model.is_empty() {
        return Vec::new();
    }
    vec![Intent::Print(greeting(model))]
}

/// How to configure a model.
fn greeting(model: &Model) -> Vec<Line> {
    transcript::aside(&model.facts.no_model.join("\n"), &options(model))
}

pub(super) fn options(model: &Model) -> punchlist_formats::view::Options {
    model.view(model.width())
}

/// An error, with what to do about it.
fn failed(model: &Model, fail: &Fail) -> Intent {
    let mut text = fail.message.clone();
    for line in &fail.details {
        text.push_str(&format!("\n  {line}"));
    }
    if let Some(hint) = &fail.hint {
        text.push_str(&format!("\nhint: {hint}"));
    }
    Intent::Print(transcript::wrong(&text, &options(model)))
}

fn pressed(model: &mut Model, key: Key) -> Vec<Intent> {
    let act = keymap::act(model, key);
    if act != Act::Leave {
        model.leaving = None;
    }
    match act {
        Act::Focus(has_focus) => {
            model.has_focus = has_focus;
            Vec::new()
        }
        Act::Redraw => vec![Intent::Redraw],
        Act::Suspend => vec![Intent::Suspend],
        Act::Leave if model.leaving.is_some() => vec![Intent::Quit],
        Act::Leave => {
            model.leaving = Some(model.now);
            model.note("Ctrl-C again leaves");
            Vec::new()
        }
        Act::EndTurn => end_turn(model),
        Act::Plan => dialogs::plan(model),
        Act::Dialog(key) => dialogs::key(model, &key),
        Act::EditNewest => edit_newest(model),
        Act::Question(key) => match model.prompt.key(&key) {
            Pressed::Answer(id, answer) => {
                let asked = model.prompt.settle(id);
                let line = asked.map(|it| questions::answered(&it, &answer)).unwrap_or_default();
                let line = transcript::aside(&line, &options(model));
                vec![Intent::Print(line), Intent::Answer(id, answer)]
            }
            Pressed::View => {
                let options = options(model);
                if let Some((title, lines)) = model.prompt.whole(&options) {
                    let pager = PagerDialog::lines_of(title, lines, options.glyphs);
                    dialogs::open(model, Dialog::Pager(pager));
                }
                Vec::new()
            }
            Pressed::Nothing => Vec::new(),
        },
        Act::Input(key) => typed(model, &key),
    }
}

/// Takes the newest message out of the queue, to edit it.
fn edit_newest(model: &mut Model) -> Vec<Intent> {
    let Some(newest) = model.queue.iter().max_by_key(|it| it.at) else { return Vec::new() };
    if !model.input.is_empty() {
        model.note("send or clear what you typed first");
        return Vec::new();
    }
    vec![Intent::Queue(QueueAct::Edit(newest.id))]
}

fn typed(model: &mut Model, key: &Key) -> Vec<Intent> {
    let typed = model.input.key(key);
    model.typing.typed(&model.input, model.now);
    match typed {
        Typed::Nothing | Typed::Changed => Vec::new(),
        Typed::Complete(query) => complete::complete(model, &query),
        Typed::Refused(why) => {
            model.note(why);
            Vec::new()
        }
        Typed::Ignored if *key == Key::Escape => end_turn(model),
        Typed::Ignored => Vec::new(),
        Typed::Submit(entered) => {
            let mut intents = remembered(&entered);
            intents.extend(submit(model, entered));
            intents
        }
        Typed::Steer(entered) => {
            let mut intents = remembered(&entered);
            intents.extend(send(model, entered, true));
            intents
        }
        Typed::Shell(command) => {
            let is_kept = !command.starts_with(char::is_whitespace);
            let kept = is_kept.then(|| Intent::Remember(format!("!{command}")));
            kept.into_iter().chain([Intent::Shell(command)]).collect()
        }
        Typed::Keys => {
            dialogs::open(model, Dialog::Keys(KeysDialog::main(model.view(80).glyphs)));
            Vec::new()
        }
        Typed::Leave => vec![Intent::Quit],
    }
}

/// Ends the turn; without one, the run of a plan file.
fn end_turn(model: &mut Model) -> Vec<Intent> {
    let Some(turn) = &mut model.turn else { return plan_run::stop(model) };
    turn.is_ending = true;
    vec![Intent::Session(Input::Abort)]
}

/// Keeps what was entered, for the next start. A text that begins with a blank is not kept.
fn remembered(entered: &Entered) -> Vec<Intent> {
    let is_kept = !entered.text.starts_with(char::is_whitespace);
    is_kept.then(|| Intent::Remember(entered.for_history())).into_iter().collect()
}

/// What was entered: a command or a message.
fn submit(model: &mut Model, entered: Entered) -> Vec<Intent> {
    match model.registry.parse(&entered) {
        Parsed::Text => send(model, entered, false),
        Parsed::Unknown(why) => {
            model.input.restore();
            model.note(why);
            Vec::new()
        }
        Parsed::Command(invocation) => match invocation.outcome(model.turn.is_some()) {
            Ok(outcome) => outcome::perform(model, outcome),
            Err(why) => {
                model.input.restore();
                model.note(why);
                Vec::new()
            }
        },
    }
}

/// Sends a message, or queues it while a turn runs.
pub(super) fn send(model: &mut Model, entered: Entered, steers: bool) -> Vec<Intent> {
    let text = entered.text;
    if model.agent.model.is_none() {
        return outcome::without_model(model);
    }
    if let Err(why) = Message::check(&text) {
        model.input.restore();
        model.note(why.to_string());
        return Vec::new();
    }
    let input = if steers { Input::Steer(text) } else { Input::Queue(text) };
    vec![Intent::Session(input)]
}

/// Shows the questions that wait, and says what became of those that wait no longer.
fn shown(model: &mut Model, overview: Overview, gone: &[Question]) -> Vec<Intent> {
    let known = model.prompt.ids();
    for question in overview.questions {
        if !known.contains(&question.asked.id) {
            model.prompt.ask(question.asked);
        }
    }
    let mut lines = Vec::new();
    for question in gone {
        let Some(asked) = model.prompt.settle(question.asked.id) else { continue };
        if let Standing::Answered(answered) = &question.standing {
            let (title, word) = (one_line(&asked.title), questions::word(&answered.answer));
            let by = one_line(&answered.by.name);
            let text = format!("{title} was answered by {by}: {word}");
            lines.extend(transcript::aside(&text, &options(model)));
        }
    }
    if !model.is_own_plan {
        if let (Some(before), Some(now)) = (&model.plan, &overview.plan)
            && before.id == now.id
        {
            lines.extend(transcript::transitions(Some(before), now, &options(model)));
        }
        model.plan = overview.plan;
    }
    let mut intents = dialogs::refresh(model);
    if !lines.is_empty() {
        intents.push(Intent::Print(lines));
    }
    intents
}
