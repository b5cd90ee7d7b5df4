//! What follows from a run of a plan file inside the UI.

use punchlist_formats::text::one_line;

use super::super::intent::Intent;
use super::super::model::{ActiveRun, Model, Pending};
use super::super::plan_run::RunReport;
use super::super::{dialogs, transcript};
use super::{failed, options};
use crate::dialog::{ConfirmDialog, Dialog};

/// Runs a plan file, unless one runs already. `fresh`: it starts over.
pub(crate) fn begin(model: &mut Model, file: &str, fresh: bool) -> Vec<Intent> {
    if model.run.is_some() {
        model.input.restore();
        model.note("a plan file runs already: wait for its end, or stop it with Esc");
        return Vec::new();
    }
    let file = file.trim().trim_start_matches('@').trim_matches('"').to_owned();
    let text = format!("running {}", one_line(&file));
    model.run = Some(ActiveRun { file: file.clone(), ..ActiveRun::default() });
    vec![Intent::Print(transcript::aside(&text, &options(model))), Intent::RunFile(file, fresh)]
}

/// Stops the run; a second time, at once.
pub(super) fn stop(model: &mut Model) -> Vec<Intent> {
    let Some(run) = &mut model.run else { return Vec::new() };
    run.stops += 1;
    vec![Intent::StopRun]
}

/// The run reports something.
pub(super) fn report(model: &mut Model, report: RunReport) -> Vec<Intent> {
    match report {
        RunReport::Began(id) => {
            if let Some(run) = &mut model.run {
                run.id = Some(id);
            }
            Vec::new()
        }
        RunReport::Stands(stands) => {
            if let Some(run) = &mut model.run {
                run.stands = Some(*stands);
            }
            Vec::new()
        }
        // The questions come from the store, as those of others do.
        RunReport::Asked(_) => Vec::new(),
        RunReport::Said(text) => vec![Intent::Print(transcript::aside(&text, &options(model)))],
        RunReport::Confirm(question, answer) => {
            let glyphs = model.view(80).glyphs;
            let dialog = ConfirmDialog::action("Before the run", &question, glyphs);
            model.pending = Some(Pending::Run(answer));
            dialogs::open(model, Dialog::Confirm(dialog));
            Vec::new()
        }
        RunReport::Ended(ended) => {
            model.run = None;
            match ended {
                Ok(ended) => {
                    let mut text = ended.words().trim_end().to_owned();
                    for note in &ended.notes {
                        text.push_str(&format!("\n{note}"));
                    }
                    let lines = match ended.code() {
                        None => transcript::aside(&text, &options(model)),
                        Some(_) => transcript::wrong(&text, &options(model)),
                    };
                    vec![Intent::Print(lines)]
                }
                Err(why) => vec![failed(model, &why)],
            }
        }
    }
}
