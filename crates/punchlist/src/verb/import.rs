//! `punchlist import`.

use std::fs;
use std::path::PathBuf;

use punchlist_formats::planfile::{self, Severity};
use punchlist_model::event::PlanDelta;
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store::Entry;
use punchlist_model::{ActorKind, Event, Goal, MadeFor, Origin, Plan, PlanId, Revision};

use super::{Group, Verb};
use crate::app::App;
use crate::archive::origin::{self, Claims};
use crate::block_on;
use crate::change::{Changing, Request};
use crate::error::{Code, Fail};
use crate::print::Reply;
use crate::{archive, input, merge, person, plan_choice};

/// Take in a Markdown checklist, or a plan that `export` wrote
///
/// A checklist (`- [ ] title`, nested by indentation) is merged into the plan of that file if `punchlist
/// run` has made one, else into the list that `punchlist list` shows: new items are added, boxes that are
/// ticked count, and nothing is removed or opened again. To replace the list instead, use `punchlist
/// replace < FILE`; to add every line, `punchlist add - < FILE`.
///
/// An exported plan keeps its id, numbers and history and becomes a plan of this project, with the name
/// that `--plan` gives it or its own. A file of several plans leaves them in their projects. The file is
/// checked whole before anything is stored: the journal must lead to the items. A plan that is here already,
/// with all that the file has of it, is left as it is.
///
/// Commands that the file says a person typed, checks and approvals count only if you look at them and say
/// yes, at a terminal; else they are kept as an agent's commands and as reports.
#[derive(clap::Args)]
pub(crate) struct Import {
    /// The file; `-` is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Leave it in the project that it came from
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
        if !is_archive(&text) {
            return self.merge(app, &text);
        }
        let plans = archive::read(&text)?;
        let several = plans.len() > 1;
        if several && app.globals.plan.is_some() {
            return Err(Fail::usage("the file has several plans, and --plan names one")
                .hint("import it without --plan; they keep their names."));
        }
        let mut prepared = Vec::with_capacity(plans.len());
        for (plan, journal) in plans {
            // Those of several projects stay where they belong.
            let keeps = self.keep_project || several;
            prepared.push(self.prepare(app, plan, journal, keeps)?);
        }
        let store = app.store()?;
        let mut taken = Vec::with_capacity(prepared.len());
        let mut notes = Vec::new();
        for (plan, journal) in prepared {
            taken.push(take_in(&*store, plan, journal, &mut notes)?);
        }
        if app.globals.json {
            let values: Vec<_> = taken.iter().map(Taken::json).collect();
            let value = match values.as_slice() {
                [one] => one.clone(),
                _ => serde_json::json!({"plans": values}),
            };
            return Ok(Reply { notes, changed: true, ..Reply::json(&value) });
        }
        let out = taken.iter().map(Taken::line).collect::<String>();
        Ok(Reply { notes, changed: true, ..Reply::text(out) })
    }
}

impl Import {
    /// The plan as it is to be stored here.
    fn prepare(
        &self,
        app: &App,
        mut plan: Plan,
        journal: Vec<Entry>,
        keeps_project: bool,
    ) -> Result<(Plan, Vec<Entry>), Fail> {
        let is_persons = |goal: &Goal| goal.author != Some(ActorKind::Agent);
        if plan.goal.as_deref().is_some_and(is_persons) {
            // Whoever writes such a file could put words into a person's mouth.
            person::not_an_agent("plans with goals of people are imported")?;
        }
        if !keeps_project {
            plan.project.clone_from(&app.project()?.name);
        }
        if let Some(name) = &app.globals.plan {
            plan.name = Some(plan_choice::valid_name(name)?.to_owned());
            if journal.iter().flat_map(|entry| &entry.events).any(renames) {
                return Err(Fail::usage("this plan was renamed in its history and keeps its name")
                    .hint("import it without --plan."));
            }
        }
        Ok((plan, journal))
    }
}

/// What came of one plan.
struct Taken {
    plan: PlanId,
    items: usize,
    revision: Revision,
    /// It was here already, with all that the file has.
    is_known: bool,
    /// The commands that a person is said to have typed, and whether that counts here.
    commands: Vec<String>,
    is_believed: bool,
}

impl Taken {
    fn line(&self) -> String {
        let Self { plan, items, revision, is_known, .. } = self;
        let short = plan.short();
        if *is_known {
            return format!(
                "plan {short} is here already, with all {revision} changes of the file\n"
            );
        }
        format!("imported plan {short}: {items} items, {revision} changes\n")
    }

    fn json(&self) -> serde_json::Value {
        let Self { plan, items, revision, is_known, commands, is_believed } = self;
        let mut value = serde_json::json!({"plan": plan, "revision": revision, "items": items});
        if *is_known {
            value["known"] = true.into();
        } else {
            value["commands"] = commands.as_slice().into();
            value["believed"] = (*is_believed).into();
        }
        value
    }
}

/// Stores a plan, unless it is here with all that the file has of it. What of it nobody here has seen is an
/// agent's word, unless a person takes it over.
fn take_in(
    store: &dyn Store,
    mut plan: Plan,
    mut journal: Vec<Entry>,
    notes: &mut Vec<String>,
) -> Result<Taken, Fail> {
    let (id, items, revision) = (plan.id, plan.items.len(), plan.revision);
    let is_known = match block_on(store.read(id, Needs::header())) {
        Ok(here) if here.project == plan.project => {
            let most = u32::try_from(journal.len()).unwrap_or(u32::MAX);
            block_on(store.journal(id, Revision(0), most))? == journal
        }
        Ok(_) | Err(_) => false,
    };
    let mut taken =
        Taken { plan: id, items, revision, is_known, commands: Vec::new(), is_believed: true };
    if is_known {
        return Ok(taken);
    }
    origin::without_places(&mut plan, &mut journal);
    let claims = Claims::of(&plan, &journal);
    let is_agent = person::is_agent();
    // Whoever writes such a file could put words into a person's mouth.
    taken.is_believed = !is_agent && (claims.is_empty() || is_taken_over(&claims));
    if !taken.is_believed {
        origin::distrust(&mut plan, &mut journal, is_agent);
        notes.extend(not_believed(&claims, is_agent));
    }
    taken.commands = claims.commands.into_iter().map(|it| it.1).collect();
    block_on(store.import(plan, journal))?;
    Ok(taken)
}

/// Whether a person has seen what a file claims, and takes it over.
fn is_taken_over(claims: &Claims) -> bool {
    let Some(mut keyboard) = person::keyboard() else { return false };
    keyboard
        .say(&["This file has commands or evidence that this machine has not seen:".to_owned()]);
    keyboard.say(&claims.lines());
    keyboard.say(&[
        "With a no the plan is imported, its commands as an agent's and its evidence as reports."
            .to_owned(),
    ]);
    keyboard.confirms("Take them over as your own?")
}

/// What somebody is told who imports a plan that is not believed.
fn not_believed(claims: &Claims, is_agent: bool) -> Vec<String> {
    if claims.is_empty() {
        return Vec::new();
    }
    let mut notes = vec![
        "the commands in this file are kept as an agent's, its checks and approvals as reports"
            .to_owned(),
    ];
    notes.extend(claims.lines());
    if !is_agent {
        notes.push("import it at a terminal, into another database, to take them over".to_owned());
    }
    notes
}

/// Whether a text is what `export` writes: an object a line.
fn is_archive(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

impl Import {
    /// Merges a checklist.
    fn merge(self, app: &App, text: &str) -> Result<Reply, Fail> {
        let name = match self.file.as_os_str() == "-" {
            true => "stdin".to_owned(),
            false => self.file.display().to_string(),
        };
        let file = planfile::read(text);
        if file.items.is_empty() {
            return Err(Fail::usage(format!("{name} has no item of a checklist")).hint(
                "an item is a line like `- [ ] Build`; `punchlist add -` takes a title a line.",
            ));
        }
        let problems = file.problems.iter().filter(|it| it.severity == Severity::Error);
        let drawn: Vec<String> =
            problems.map(|it| planfile::draw(&name, text, it)).take(10).collect();
        if !drawn.is_empty() {
            return Err(Fail::usage(format!("{name} has mistakes in it; nothing was imported"))
                .details(drawn)
                .hint("put that right and import it again."));
        }
        let app = &self.target(app)?;
        let plan = plan_choice::whole(app);
        let plan = match plan {
            Err(fail) if fail.code == Code::NotFound => None,
            other => other?.map(|it| it.1),
        };
        let origin = if person::is_agent() { Origin::Agent } else { Origin::Person };
        let merge = merge::merge(&file, plan.as_ref(), &name, origin);
        let mut reply = if merge.ops.is_empty() {
            match app.globals.json {
                true => Reply::json(&serde_json::json!({
                    "revision": plan.map(|it| it.revision), "changed": [], "warnings": [],
                })),
                false => Reply::text("nothing changed: the list has all of it\n"),
            }
        } else {
            let request = Request::new(merge.ops, self.changing);
            Request { makes_plan: true, ..request }.answer(app)?
        };
        reply.notes.splice(0..0, merge.notes);
        Ok(reply)
    }

    /// The call, about the plan that the file has become before, if it has.
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

fn renames(event: &Event) -> bool {
    match event {
        Event::PlanChanged { deltas } => {
            deltas.iter().any(|delta| matches!(delta, PlanDelta::Name { .. }))
        }
        Event::Added { .. }
        | Event::Changed { .. }
        | Event::Moved { .. }
        | Event::Superseded { .. }
        | Event::Restored { .. }
        | Event::Forgotten { .. } => false,
    }
}
