//! `punchlist import`.

use std::fs;
use std::path::PathBuf;

use punchlist_engine::archive::import::{self, Imported};
use punchlist_engine::archive::origin::Claims;
use punchlist_model::MadeFor;

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::change::{Changing, Request};
use crate::fail::{Code, Fail};
use crate::print::Reply;
use crate::{archive, input, merge, person, plan_choice};

/// Import a Markdown checklist, or a plan from `export`
///
/// A checklist (`- [ ] title`, nested by indentation) is merged into the plan that `punchlist run`
/// made from that file, else into the plan that `punchlist list` shows. New items are added, ticked
/// items are completed, and nothing is removed or reopened. To replace the list instead, use
/// `punchlist replace < FILE`; to add every line, `punchlist add - < FILE`.
///
/// An exported plan keeps its id, numbers and history. It becomes a plan of this project, named by
/// `--plan` or by its own name. Plans from a file with several of them stay in their projects.
/// Before anything is stored, the whole file is validated: the journal must produce the items. A
/// plan that the database already has, with everything in the file, is left unchanged.
///
/// If the file says that a person typed commands, ran checks or approved items, you are asked at a
/// terminal whether to accept that. Otherwise the commands are stored as an agent's and the
/// evidence as reported.
#[derive(clap::Args)]
pub(crate) struct Import {
    /// The file; `-` reads stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Leave the plan in the project that it came from
    #[arg(long)]
    keep_project: bool,
    #[command(flatten)]
    changing: Changing,
}

impl Verb for Import {
    const NAME: &'static str = "import";
    const GROUP: Group = Group::Keep;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist import notes.md
  punchlist import plan.jsonl
  punchlist import - --plan release < plan.jsonl
  punchlist export --all | punchlist import - --db other.db";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let text = input::file(&self.file)?;
        if !archive::is_one(&text) {
            return self.merge(app, &text);
        }
        let plans = archive::read(&text)?;
        let several = plans.len() > 1;
        if several && app.globals.plan.is_some() {
            return Err(Fail::usage("the file has several plans, and --plan names one")
                .hint("import it without --plan; the plans keep their names."));
        }
        let name = app.globals.plan.as_deref().map(plan_choice::valid_name).transpose()?;
        // The plans of an export with several of them stay in their projects.
        let keeps_project = self.keep_project || several;
        let project = if keeps_project { None } else { Some(app.project()?.name.as_str()) };
        let called_by = person::called_by();
        let mut prepared = Vec::with_capacity(plans.len());
        for plan in plans {
            prepared.push(import::prepare(plan, project, name, called_by)?);
        }
        let store = app.store()?;
        let mut imported = Vec::with_capacity(prepared.len());
        for plan in prepared {
            imported.push(block_on(import::take_in(&*store, plan, called_by, &are_accepted))?);
        }
        let notes = imported.iter().flat_map(|it| it.notes.iter().cloned()).collect();
        if app.globals.json {
            let values: Vec<_> = imported.iter().map(Imported::json).collect();
            let value = match values.as_slice() {
                [one] => one.clone(),
                _ => serde_json::json!({"plans": values}),
            };
            return Ok(Reply { notes, changed: true, ..Reply::json(&value) });
        }
        let out = imported.iter().map(Imported::line).collect::<String>();
        Ok(Reply { notes, changed: true, ..Reply::text(out) })
    }
}

/// Shows the commands and evidence in the file, and asks a person whether to accept them.
fn are_accepted(claims: &Claims) -> bool {
    let Some(mut keyboard) = person::keyboard() else { return false };
    keyboard
        .say(&["This file has commands or evidence that this machine has not seen:".to_owned()]);
    keyboard.say(&claims.lines());
    keyboard.say(&[
        "If you answer no, the commands are imported as an agent's and the evidence as reported."
            .to_owned(),
    ]);
    keyboard.confirms("Accept them as your own?")
}

impl Import {
    /// Merges a checklist.
    fn merge(self, app: &App, text: &str) -> Result<Reply, Fail> {
        let name = match self.file.as_os_str() == "-" {
            true => "stdin".to_owned(),
            false => self.file.display().to_string(),
        };
        let file = merge::checklist(text, &name)?;
        let app = &self.target(app)?;
        let plan = match plan_choice::whole(app) {
            Err(fail) if fail.code == Code::NotFound => None,
            other => other?.map(|it| it.1),
        };
        let merge = merge::merge(&file, plan.as_ref(), &name, person::called_by().origin());
        let mut reply = if merge.ops.is_empty() {
            match app.globals.json {
                true => Reply::json(&serde_json::json!({
                    "revision": plan.map(|it| it.revision), "changed": [], "warnings": [],
                })),
                false => Reply::text("nothing changed: the list already has every item\n"),
            }
        } else {
            let request = Request::new(merge.ops, self.changing);
            Request { makes_plan: true, ..request }.answer(app)?
        };
        reply.notes.splice(0..0, merge.notes);
        Ok(reply)
    }

    /// The call, with the plan that `run` or an earlier import made from this file, if there is
    /// one.
    fn target(&self, app: &App) -> Result<App, Fail> {
        let mut globals = app.globals.clone();
        let path = fs::canonicalize(&self.file).ok().filter(|_| globals.plan.is_none());
        if let (Some(path), Some(store)) = (path, app.store_to_read()?) {
            let file = MadeFor::File(path.to_string_lossy().into_owned());
            if let Some(id) = block_on(store.plan_for(file))? {
                globals.plan = Some(id.0.simple().to_string());
            }
        }
        Ok(App::new(globals))
    }
}
