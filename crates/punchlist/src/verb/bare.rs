//! `punchlist` without a verb: the terminal UI; off a terminal the list, and what comes next.

use punchlist_engine::next::nothing_ready;
use punchlist_formats::text;
use punchlist_model::Status;
use punchlist_tui::app::Choice;

use super::list::List;
use super::{Verb, next};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{plan_choice, terminal_ui};

/// Opens the terminal UI for a person at a terminal. Elsewhere shows the list and the next item;
/// without a plan, how to start one.
pub(crate) fn run(app: &App, model: Option<&str>) -> Result<Reply, Fail> {
    if app.globals.json {
        return List::default().run(app);
    }
    if terminal_ui::can_open(app) {
        return terminal_ui::open(app, &Choice { model: model.map(str::to_owned), session: None });
    }
    let Some((store, plan)) = plan_choice::whole(app)? else { return begin(app) };
    let mut reply = List::default().run(app)?;
    let line = match next::picked(app, &*store, &plan)? {
        Some(item) => {
            let (number, title) = (item.number, text::one_line(&item.title));
            match item.status {
                Status::InProgress => {
                    format!("In progress: {number}  {title}  (punchlist done {number})")
                }
                Status::Pending | Status::Completed | Status::Cancelled => {
                    format!("Next: {number}  {title}  (punchlist start {number})")
                }
            }
        }
        None => sentence(&nothing_ready(&plan).message),
    };
    reply.out.push_str(&format!("\n{line}\n"));
    Ok(reply)
}

/// Turns a message into a sentence.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// Shows how to start.
fn begin(app: &App) -> Result<Reply, Fail> {
    let project = &app.project()?.name;
    Ok(Reply::text(format!(
        "No plan here yet ({}).\n\n  \
         punchlist add \"Fix the failing tests\"   put the first item on the list\n  \
         punchlist import notes.md               take a Markdown checklist\n  \
         punchlist run plan.md                   work off a plan file\n  \
         punchlist install claude                give an agent its plan\n  \
         punchlist help                          every verb\n",
        text::one_line(project)
    )))
}
