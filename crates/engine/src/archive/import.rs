//! Importing a plan from a file: how it is stored here, and which of its claims are believed.

use punchlist_model::event::PlanDelta;
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store::Entry;
use punchlist_model::{ActorKind, Event, Goal, Plan, PlanId, Revision};
use serde_json::{Value, json};

use super::origin::{self, Claims};
use crate::fail::Fail;
use crate::policy::human::CalledBy;

/// A plan and its journal.
pub type Archived = (Plan, Vec<Entry>);

/// The plan as it will be stored: in the given project and with the given name, or with its own.
pub fn prepare(
    (mut plan, journal): Archived,
    project: Option<&str>,
    name: Option<&str>,
    called_by: CalledBy,
) -> Result<Archived, Fail> {
    let is_persons = |goal: &Goal| goal.author != Some(ActorKind::Agent);
    if plan.goal.as_deref().is_some_and(is_persons) {
        // Otherwise an agent could write such a file and put words into a person's mouth.
        called_by.not_an_agent("plans with goals of people are imported")?;
    }
    if let Some(project) = project {
        project.clone_into(&mut plan.project);
    }
    if let Some(name) = name {
        plan.name = Some(name.to_owned());
        if journal.iter().flat_map(|entry| &entry.events).any(renames) {
            return Err(Fail::usage("this plan was renamed in its history and keeps its name")
                .hint("import it without --plan."));
        }
    }
    Ok((plan, journal))
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

/// The result of importing one plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Imported {
    /// The plan.
    pub plan: PlanId,
    /// How many items it has.
    pub items: usize,
    /// Its revision.
    pub revision: Revision,
    /// Whether the plan was here already, with all changes that the file has.
    pub is_known: bool,
    /// The commands that, according to the file, a person typed.
    pub commands: Vec<String>,
    /// Whether these commands are trusted as a person's.
    pub is_believed: bool,
    /// Notes for the user who imports the plan.
    pub notes: Vec<String>,
}

/// Stores a plan, unless it is here already with all changes of the file. Claims in it that this
/// machine has not recorded itself are kept as an agent's, unless a person takes them over;
/// `is_taken_over` asks that person.
pub async fn take_in(
    store: &dyn Store,
    (mut plan, mut journal): Archived,
    called_by: CalledBy,
    is_taken_over: &dyn Fn(&Claims) -> bool,
) -> Result<Imported, Fail> {
    let id = plan.id;
    let is_known = match store.read(id, Needs::header()).await {
        Ok(here) if here.project == plan.project => {
            let most = u32::try_from(journal.len()).unwrap_or(u32::MAX);
            store.journal(id, Revision(0), most).await? == journal
        }
        Ok(_) | Err(_) => false,
    };
    let mut imported = Imported {
        plan: id,
        items: plan.items.len(),
        revision: plan.revision,
        is_known,
        commands: Vec::new(),
        is_believed: true,
        notes: Vec::new(),
    };
    if is_known {
        return Ok(imported);
    }
    origin::without_places(&mut plan, &mut journal);
    let claims = Claims::of(&plan, &journal);
    let is_agent = called_by.is_agent();
    // Otherwise an agent could write such a file and put words into a person's mouth.
    imported.is_believed = !is_agent && (claims.is_empty() || is_taken_over(&claims));
    if !imported.is_believed {
        origin::distrust(&mut plan, &mut journal, is_agent);
        imported.notes = not_believed(&claims, is_agent);
    }
    imported.commands = claims.commands.into_iter().map(|it| it.1).collect();
    store.import(plan, journal).await?;
    Ok(imported)
}

/// The notes for a user who imports a plan whose claims are not believed.
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

impl Imported {
    /// For people.
    pub fn line(&self) -> String {
        let Self { plan, items, revision, is_known, .. } = self;
        let short = plan.short();
        if *is_known {
            return format!(
                "plan {short} is here already, with all {revision} changes of the file\n"
            );
        }
        format!("imported plan {short}: {items} items, {revision} changes\n")
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let Self { plan, items, revision, is_known, commands, is_believed, .. } = self;
        let mut value = json!({"plan": plan, "revision": revision, "items": items});
        if *is_known {
            value["known"] = true.into();
        } else {
            value["commands"] = commands.as_slice().into();
            value["believed"] = (*is_believed).into();
        }
        value
    }
}
