//! Dialogs in the terminal UI: opening them, their keys, and what they want.

use punchlist_engine::fail::Fail;
use punchlist_engine::policy::rules::Whose;
use punchlist_model::Number;
use punchlist_model::store::Entry;

use super::intent::{Intent, Load};
use super::model::{Model, Pending};
use super::perform::Choice;
use super::update::options;
use super::{outcome, transcript};
use crate::dialog::{Dialog, DialogReply, PlanDialog, RowId, Want};
use crate::keys::Key;
use crate::theme::Theme;
use crate::watch::AgentsSeen;

/// Stands in the list of models for the name of any model of a provider.
const ANY_MODEL: char = '…';

/// Opens a dialog.
pub(super) fn open(model: &mut Model, mut dialog: Dialog) {
    dialog.resize(model.size.columns, model.size.rows);
    model.dialog = Some(dialog);
}

/// Opens the plan, or the list of plans if there is none.
pub(super) fn plan(model: &mut Model) -> Vec<Intent> {
    let Some(plan) = model.plan.clone() else { return vec![Intent::Load(Load::Plans)] };
    let options = model.view(model.size.columns);
    let dialog = PlanDialog::new(plan, model.person.clone(), options);
    open(model, Dialog::Plan(Box::new(dialog)));
    Vec::new()
}

/// Shows the plan as it is now, and its journal, if that is on the screen.
pub(super) fn refresh(model: &mut Model) -> Vec<Intent> {
    let options = model.view(model.size.columns);
    let (Some(Dialog::Plan(dialog)), Some(plan)) = (&mut model.dialog, &model.plan) else {
        return Vec::new();
    };
    dialog.set_options(options);
    dialog.set_plan(plan.clone());
    if dialog.shows_journal() { vec![Intent::Journal(plan.id)] } else { Vec::new() }
}

/// Handles a key.
pub(super) fn key(model: &mut Model, key: &Key) -> Vec<Intent> {
    let Some(dialog) = &mut model.dialog else { return Vec::new() };
    match dialog.key(key) {
        DialogReply::Stay => match dialog {
            Dialog::Agents(agents) => {
                vec![Intent::WatchAgent(agents.opened().map(str::to_owned))]
            }
            Dialog::Plan(_)
            | Dialog::List(_)
            | Dialog::Keys(_)
            | Dialog::Pager(_)
            | Dialog::Confirm(_) => Vec::new(),
        },
        DialogReply::Close => {
            let was = model.dialog.take();
            // Whoever asked for something that is dropped gets a no.
            model.pending = None;
            if matches!(was, Some(Dialog::Agents(_))) {
                return vec![Intent::EndWatch];
            }
            Vec::new()
        }
        DialogReply::Want(want) => wanted(model, want),
    }
}

fn wanted(model: &mut Model, want: Want) -> Vec<Intent> {
    let plan = model.plan.as_ref().map(|it| it.id);
    match want {
        Want::Plan(act) => plan.map(|id| Intent::Plan(id, act)).into_iter().collect(),
        Want::Journal => plan.map(Intent::Journal).into_iter().collect(),
        Want::Item(item) => plan
            .into_iter()
            .flat_map(|id| [Intent::Output(id, item), Intent::Journal(id)])
            .collect(),
        Want::Plans => vec![Intent::Load(Load::Plans)],
        Want::Open(row) => chosen(model, row),
        Want::Delete(RowId::Session(id)) => vec![Intent::ForgetSession(id)],
        Want::Delete(RowId::Rule(Whose::User, rule)) => vec![Intent::ForgetRule(rule)],
        Want::Delete(RowId::Consent(given)) => vec![Intent::TakeBack(given)],
        // A list only deletes the rows that say that it can.
        Want::Delete(_) => Vec::new(),
        Want::Answer(question, answer) => vec![Intent::AnswerAgent(question, answer)],
        Want::Reply(id, text) => vec![Intent::ReplyAgent(id, text)],
        Want::Confirmed(answers) => confirmed(model, &answers),
    }
}

/// A row of a list was chosen.
fn chosen(model: &mut Model, row: RowId) -> Vec<Intent> {
    if let RowId::Theme(name) = &row {
        model.dialog = None;
        return match Theme::named(name) {
            Some(theme) => outcome::choose_theme(model, theme),
            None => Vec::new(),
        };
    }
    let is_busy = model.turn.is_some();
    match row {
        RowId::Plan(id) => {
            model.dialog = None;
            if is_busy {
                model.note("the plan of the turn is shown until it has ended");
            } else {
                model.is_own_plan = false;
                model.note("Ctrl-T opens the plan");
            }
            vec![Intent::ChoosePlan(id)]
        }
        RowId::Session(_) | RowId::Model(_) if is_busy => {
            model.dialog = None;
            model.note("wait until the turn has ended, or end it with Esc");
            Vec::new()
        }
        RowId::Session(id) => {
            model.dialog = None;
            vec![Intent::Open(Choice { model: None, session: Some(id) })]
        }
        // A provider without a model: the person types the rest.
        RowId::Model(name) if name.ends_with(ANY_MODEL) => {
            model.dialog = None;
            model.input.set_text(&format!("/model {}", name.trim_end_matches(ANY_MODEL)));
            model.note("type the name of the model");
            Vec::new()
        }
        RowId::Model(name) => {
            model.dialog = None;
            vec![Intent::Open(Choice { model: Some(name), session: model.session })]
        }
        // The question itself is on the main screen.
        RowId::Question(_) => {
            model.dialog = None;
            Vec::new()
        }
        RowId::New => {
            model.dialog = None;
            model.input.set_text("/plan new ");
            model.note("type the title of the new plan");
            Vec::new()
        }
        RowId::PlanFile => {
            model.dialog = None;
            model.input.set_text("/run ");
            model.note("type the name of the plan file; Tab completes it");
            Vec::new()
        }
        RowId::Team | RowId::Member(_) => {
            model.dialog = None;
            vec![Intent::Verb(vec!["team".to_owned()])]
        }
        RowId::Theme(_) | RowId::Rule(..) | RowId::Consent(_) => Vec::new(),
    }
}

/// The person has answered a confirmation.
fn confirmed(model: &mut Model, answers: &[bool]) -> Vec<Intent> {
    model.dialog = None;
    match model.pending.take() {
        Some(Pending::Shell(shell)) => match shell.allowed(answers) {
            Ok(allowed) => vec![Intent::RunShell(allowed)],
            Err(why) => {
                model.note(why);
                Vec::new()
            }
        },
        Some(Pending::Allow(command, typed)) if answers == [true] => {
            vec![Intent::AllowCommand(command, typed)]
        }
        Some(Pending::Run(answer)) => {
            answer.send(answers == [true]).ok();
            Vec::new()
        }
        Some(Pending::Allow(..)) | None => Vec::new(),
    }
}

/// What was read of all agents.
pub(super) fn agents(model: &mut Model, seen: Result<AgentsSeen, Fail>) -> Vec<Intent> {
    let Some(Dialog::Agents(dialog)) = &mut model.dialog else { return Vec::new() };
    match seen {
        Ok(seen) => dialog.set(seen, model.now),
        Err(why) => dialog.tell(&why.message),
    }
    Vec::new()
}

/// A line for the dialog with all agents; for the scrollback, if it is closed.
pub(super) fn told_agents(model: &mut Model, text: &str) -> Vec<Intent> {
    match &mut model.dialog {
        Some(Dialog::Agents(dialog)) => {
            dialog.tell(text);
            Vec::new()
        }
        Some(_) | None => vec![Intent::Print(transcript::aside(text, &options(model)))],
    }
}

/// What became of an act on the plan.
pub(super) fn acted(model: &mut Model, acted: Result<String, Fail>) -> Vec<Intent> {
    if let Some(Dialog::Plan(dialog)) = &mut model.dialog {
        match acted {
            Ok(text) => dialog.told(&text),
            Err(why) => dialog.refused(&why.message),
        }
    }
    Vec::new()
}

/// The journal was read.
pub(super) fn journal(model: &mut Model, entries: Vec<Entry>) -> Vec<Intent> {
    if let Some(Dialog::Plan(dialog)) = &mut model.dialog {
        dialog.set_journal(entries);
    }
    Vec::new()
}

/// The output of an item was read.
pub(super) fn output(model: &mut Model, item: Number, text: &str) -> Vec<Intent> {
    if let Some(Dialog::Plan(dialog)) = &mut model.dialog {
        dialog.set_output(item, text);
    }
    Vec::new()
}
