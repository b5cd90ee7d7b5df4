//! `punchlist questions`.

use punchlist_formats::view::{json, questions};
use punchlist_model::call::{Question, QuestionFilter, Standing};

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::person;
use crate::print::Reply;

/// Maximum of closed questions to show.
const MOST: u32 = 50;

/// Show the open questions
///
/// Before a call runs that no rule allows, Punchlist asks a person: which command would run, or
/// what it would change. The question is stored in the database, so that it can be answered from
/// any terminal. The newest question comes last.
#[derive(clap::Args)]
pub(crate) struct Questions {
    /// Also show questions that are no longer open, with their answers
    #[arg(long)]
    all: bool,
    /// Show the questions of every project
    #[arg(long)]
    everywhere: bool,
}

impl Verb for Questions {
    const NAME: &'static str = "questions";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist questions
  punchlist questions --all
  punchlist questions --everywhere --json";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let project = if self.everywhere { None } else { Some(app.project()?.name.clone()) };
        let most = self.all.then_some(MOST);
        let filter = QuestionFilter { project, waiting: !self.all, most, ..Default::default() };
        let found = match app.store_to_read()? {
            Some(store) => block_on(store.questions(filter))?,
            None => Vec::new(),
        };
        if app.globals.json {
            let questions: Vec<_> = found.iter().map(json::question).collect();
            return Ok(Reply::json(&serde_json::json!({ "questions": questions })));
        }
        if found.is_empty() {
            let what = if self.all { "No question was asked" } else { "No open question" };
            let place = if self.everywhere { "anywhere" } else { "here" };
            return Ok(Reply::text(format!("{what} {place}.\n")));
        }
        let screen = app.screen();
        let mut out = screen.drawn(&questions::questions(&found, &app.view(screen)));
        let waiting: Vec<&Question> =
            found.iter().filter(|it| it.standing == Standing::Waiting).collect();
        if let Some(last) = waiting.last().filter(|_| !person::is_agent()) {
            let id = last.asked.id.short();
            out.push_str(&format!("\nAnswer with: punchlist answer {id} yes\n"));
        }
        Ok(Reply::text(out))
    }
}
