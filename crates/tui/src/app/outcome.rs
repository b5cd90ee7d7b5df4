//! What slash commands do: turns each of the eight results into changes of the model and intents.

use punchlist_agent::session::Input;
use punchlist_engine::custom_commands::{CustomCommand, CustomCommands};
use punchlist_formats::text::{Line, Style, one_line};
use punchlist_formats::view::list;

use super::dialogs;
use super::intent::{Intent, Load, QueueAct};
use super::model::{Agent, Model, Pending, SessionIs, Streaming};
use super::perform::Choice;
use super::transcript;
use super::update::{options, plan_run, send};
use crate::commands::{
    Deed, Dialog as Wanted, History, Message, Outcome, Prompt, QueueChange, Registry, ShellQuestion,
};
use crate::dialog::{ConfirmDialog, Dialog, ListDialog, PagerDialog};
use crate::input::Entered;
use crate::theme::Theme;

/// Performs the result of a command.
pub(super) fn perform(model: &mut Model, outcome: Outcome) -> Vec<Intent> {
    match outcome {
        Outcome::Schedule(request) if request.tool == "run" => {
            let path = request.input.get("path").and_then(|it| it.as_str());
            let fresh = request.input.get("fresh").and_then(|it| it.as_bool());
            plan_run::begin(model, path.unwrap_or_default(), fresh.unwrap_or_default())
        }
        Outcome::Schedule(request) => match model.session {
            Some(id) => {
                let path = request.input.get("path").and_then(|it| it.as_str());
                vec![Intent::Export(id, path.map(str::to_owned))]
            }
            None => refused(model, "there is nothing to export yet"),
        },
        Outcome::Message(message) => show(model, message),
        Outcome::Quit => vec![Intent::Quit],
        Outcome::Dialog(dialog) => open(model, dialog),
        Outcome::LoadHistory(History::Session(name)) => vec![Intent::Resume(name)],
        Outcome::LoadHistory(History::Empty) => {
            vec![Intent::Open(Choice { model: model.agent.model.clone(), session: None })]
        }
        Outcome::Submit(Prompt::Compact(keep)) => compact(model, keep),
        Outcome::Submit(Prompt::Goal(goal)) => match model.agent.model {
            Some(_) => vec![Intent::Session(Input::Goal(goal))],
            None => without_model(model),
        },
        Outcome::Submit(Prompt::Custom(text)) => {
            send(model, Entered { text, is_pasted: true }, false)
        }
        Outcome::ConfirmShell(ShellQuestion::Checks(item)) => {
            // The verb shows each command and asks before it runs.
            plan_verb(model, "verify", item.as_deref())
        }
        Outcome::ConfirmShell(ShellQuestion::Custom(shell)) => {
            let title = format!("/{} runs these commands", shell.command().name);
            let dialog = ConfirmDialog::commands(title, &shell.commands(), model.view(80).glyphs);
            model.pending = Some(Pending::Shell(shell));
            dialogs::open(model, Dialog::Confirm(dialog));
            Vec::new()
        }
        // The verb says what it erases and asks before it does.
        Outcome::Confirm(Deed::Forget(items)) => plan_verb(model, "forget", Some(&items)),
        Outcome::Confirm(Deed::AllowCommand { command, arguments }) => {
            let text = command_file(&command);
            let title = format!("Use /{} in this project?", command.name);
            model.pending = Some(Pending::Allow(command, arguments));
            let dialog = ConfirmDialog::action(title, &text, model.view(80).glyphs);
            dialogs::open(model, Dialog::Confirm(dialog));
            Vec::new()
        }
    }
}

fn refused(model: &mut Model, why: &str) -> Vec<Intent> {
    model.input.restore();
    model.note(why);
    Vec::new()
}

/// What a person reads before they allow a command of the project: its file, the shell commands in it, and
/// what a yes means.
fn command_file(command: &CustomCommand) -> String {
    let indented = |text: &str| -> String { text.lines().map(|it| format!("  {it}\n")).collect() };
    let mut text = format!("{}\n", indented(&command.text));
    let shell: String = command.file.shell().map(indented).collect();
    if !shell.is_empty() {
        text.push_str(&format!("In a shell, if you allow it at each use:\n{shell}\n"));
    }
    text + &command.meaning().join("\n")
}

/// Says how to choose a model. What was typed is in the history.
pub(super) fn without_model(model: &mut Model) -> Vec<Intent> {
    model.note("no model: /model chooses one; Up brings your text back");
    Vec::new()
}

/// Runs a verb on the plan that is shown.
fn plan_verb(model: &mut Model, verb: &str, items: Option<&str>) -> Vec<Intent> {
    let Some(plan) = &model.plan else { return refused(model, "there is no plan") };
    let mut words = vec![verb.to_owned(), "--plan".to_owned(), plan.id.to_string()];
    words.extend(items.into_iter().flat_map(str::split_whitespace).map(str::to_owned));
    vec![Intent::Verb(words)]
}

/// Has the session summarise the conversation.
fn compact(model: &mut Model, keep: Option<String>) -> Vec<Intent> {
    if model.session.is_none() {
        return refused(model, "there is nothing to compact yet");
    }
    vec![Intent::Session(Input::Compact(keep))]
}

fn show(model: &mut Model, message: Message) -> Vec<Intent> {
    match message {
        Message::Lines(lines) => vec![Intent::Print(lines)],
        Message::Todo => {
            let Some(plan) = &model.plan else { return refused(model, "there is no plan") };
            let view = model.view(model.width().min(100));
            // A list never enters the scrollback.
            let pager = PagerDialog::lines_of("To-do list", list::list(plan, &view), view.glyphs);
            dialogs::open(model, Dialog::Pager(pager));
            Vec::new()
        }
        Message::Queue(change) => queue(model, change),
        Message::Tools => vec![Intent::ShowTools],
        Message::Mcp => vec![Intent::ShowServers],
        Message::Doctor => vec![Intent::Verb(vec!["doctor".to_owned()])],
        Message::Reload => vec![Intent::ReadCommands],
    }
}

fn queue(model: &mut Model, change: QueueChange) -> Vec<Intent> {
    let number = match change {
        QueueChange::Show => return vec![Intent::Print(queued(model))],
        QueueChange::Go if model.queue.is_empty() && !model.is_paused => {
            return vec![Intent::Print(queued(model))];
        }
        QueueChange::Go => return vec![Intent::Queue(QueueAct::Go(None))],
        QueueChange::Edit(number)
        | QueueChange::Remove(number)
        | QueueChange::Send(number)
        | QueueChange::Move { number, .. } => number,
    };
    let Some(message) = model.queue.get(number.saturating_sub(1)).cloned() else {
        return refused(model, &format!("there is no message {number} in the queue"));
    };
    match change {
        QueueChange::Remove(_) => vec![Intent::Queue(QueueAct::Remove(message.id))],
        QueueChange::Edit(_) => vec![Intent::Queue(QueueAct::Edit(message.id))],
        QueueChange::Send(_) if model.turn.is_some() => {
            refused(model, "a turn runs; the message waits until it has ended")
        }
        QueueChange::Send(_) => vec![Intent::Queue(QueueAct::Go(Some(message.id)))],
        QueueChange::Move { to, .. } => {
            let others: Vec<_> = model.queue.iter().filter(|it| it.id != message.id).collect();
            let before = others.get(to.saturating_sub(1)).map(|it| it.id);
            vec![Intent::Queue(QueueAct::Move(message.id, before))]
        }
        QueueChange::Show | QueueChange::Go => Vec::new(),
    }
}

/// The queue, with numbers.
fn queued(model: &Model) -> Vec<Line> {
    let options = options(model);
    if model.queue.is_empty() {
        return transcript::aside("nothing is queued", &options);
    }
    let mut lines = Vec::new();
    for (at, message) in model.queue.iter().enumerate() {
        let steers = if message.steer { "steers: " } else { "" };
        let text = format!("{:>3}  {steers}{}", at + 1, one_line(&message.text));
        let mut line = Line::new();
        line.push_text(&text, usize::from(options.width), options.glyphs, Style::Plain);
        lines.push(line);
    }
    if model.is_paused {
        lines.extend(transcript::aside("the queue is paused: /queue go", &options));
    }
    lines
}

fn open(model: &mut Model, dialog: Wanted) -> Vec<Intent> {
    match dialog {
        Wanted::Plan => return dialogs::plan(model),
        Wanted::NewPlan(title) => return vec![Intent::NewPlan(title)],
        Wanted::Model(None) => return vec![Intent::Load(Load::Models)],
        Wanted::Model(Some(_)) if model.turn.is_some() => {
            return refused(model, "wait until the turn has ended, or end it with Esc");
        }
        Wanted::Model(name) => {
            return vec![Intent::Open(Choice { model: name, session: model.session })];
        }
        Wanted::Approvals => return vec![Intent::Load(Load::Approvals)],
        Wanted::Sessions => return vec![Intent::Load(Load::Sessions)],
        Wanted::Watch => return vec![Intent::Watch],
        Wanted::Team => return vec![Intent::Load(Load::Team)],
        Wanted::Theme(None) => {
            let list = ListDialog::themes(model.theme.name(), model.view(80).glyphs);
            dialogs::open(model, Dialog::List(list));
        }
        Wanted::Theme(Some(name)) => match Theme::named(&name) {
            Some(theme) => return choose_theme(model, theme),
            None => {
                let names = Theme::NAMES.join(", ");
                return refused(model, &format!("there is no theme {name}; there are {names}"));
            }
        },
    }
    Vec::new()
}

/// Uses a theme, and remembers it.
pub(super) fn choose_theme(model: &mut Model, theme: Theme) -> Vec<Intent> {
    let name = theme.name().to_owned();
    model.theme = theme;
    vec![Intent::ChooseTheme(name), Intent::Redraw]
}

/// The custom commands were read.
pub(super) fn commands(model: &mut Model, found: CustomCommands) -> Vec<Intent> {
    model.registry = Registry::with_custom(found.commands);
    let lines: Vec<Line> =
        found.skipped.iter().flat_map(|it| transcript::aside(it, &options(model))).collect();
    if lines.is_empty() { Vec::new() } else { vec![Intent::Print(lines)] }
}

/// A session is open.
pub(super) fn session(model: &mut Model, agent: Agent, is: SessionIs) -> Vec<Intent> {
    model.agent = agent;
    model.set_hint();
    if is == SessionIs::Same {
        let name = model.agent.model.as_deref().unwrap_or_default();
        let text = format!("the model is {} from now on", one_line(name));
        return vec![Intent::Print(transcript::aside(&text, &options(model)))];
    }
    model.session = None;
    (model.plan, model.is_own_plan) = (None, false);
    model.queue.clear();
    model.used = Default::default();
    model.context_used = 0;
    model.is_paused = false;
    model.answer = Streaming::default();
    model.turn = None;
    if is == SessionIs::Other {
        return Vec::new();
    }
    vec![Intent::Print(transcript::aside("a new conversation begins", &options(model)))]
}
