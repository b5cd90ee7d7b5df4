//! `punchlist plans`.

use std::collections::BTreeSet;

use punchlist_formats::text;
use punchlist_formats::view::json;
use punchlist_formats::view::plans::{self, Folded};
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store::{Filter, Summary};
use punchlist_model::{Op, PlanId, PlanPatch, Rules};

use super::forget::Forget;
use super::{Group, Verb};
use crate::app::App;
use crate::args::Globals;
use crate::block_on;
use crate::change::{self, Changing, Request};
use crate::fail::Fail;
use crate::print::Reply;
use crate::{person, plan_choice, repository};

pub(super) use punchlist_formats::view::plans::called;

/// Show the plans of this project, or of all
///
/// The plan that changed last comes first. A plan that an agent's session works on now is marked as
/// live. Finished and archived plans are only counted unless `--finished` or `--all` is given. With
/// `--all`, directories that are gone are listed below, with the command that moves their plans to
/// the new path. The commands below rename, archive and delete plans.
#[derive(clap::Args)]
pub(crate) struct Plans {
    /// Show the plans of every project, finished and archived ones too
    #[arg(long)]
    all: bool,
    /// Also show finished and archived plans
    #[arg(long)]
    finished: bool,
    #[command(subcommand)]
    act: Option<Act>,
}

/// The commands of `plans`.
#[derive(clap::Subcommand)]
enum Act {
    /// Rename a plan
    Rename {
        /// The plan's name or id
        #[arg(value_name = "OLD")]
        old: String,
        /// The new name
        #[arg(value_name = "NEW")]
        new: String,
        #[command(flatten)]
        changing: Changing,
    },
    /// Archive a plan: `plans` no longer shows it, but nothing is lost
    Archive {
        /// The plan's name or id
        #[arg(value_name = "PLAN")]
        plan: String,
        #[command(flatten)]
        changing: Changing,
    },
    /// Take a plan out of the archive
    Unarchive {
        /// The plan's name or id
        #[arg(value_name = "PLAN")]
        plan: String,
        #[command(flatten)]
        changing: Changing,
    },
    /// Erase every text of a plan for good, like `punchlist forget PLAN`
    Delete {
        /// The plan's name or id
        #[arg(value_name = "PLAN")]
        plan: String,
    },
}

impl Verb for Plans {
    const NAME: &'static str = "plans";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist plans
  punchlist plans --finished
  punchlist plans --all --json
  punchlist plans rename 7f3a release
  punchlist plans archive release
  punchlist plans delete release";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        if let Some(act) = self.act {
            return act.run(app);
        }
        let project = if self.all { None } else { Some(app.project()?.name.clone()) };
        let (mut summaries, mut alive) = (Vec::new(), BTreeSet::new());
        if let Some(store) = app.store_to_read()? {
            summaries = block_on(store.plans(Filter { project, ..Filter::default() }))?;
            alive = live(app, &*store, &summaries)?;
        }
        let folded = match self.all || self.finished {
            true => Folded::default(),
            false => Folded::away(&mut summaries, &alive),
        };
        if app.globals.json {
            let plan = |it: &Summary| {
                let mut value = json::summary(it);
                value["live"] = serde_json::json!(alive.contains(&it.id));
                value["gone"] = serde_json::json!(repository::is_gone(&it.project));
                value
            };
            let plans: Vec<_> = summaries.iter().map(plan).collect();
            let value = serde_json::json!({ "plans": plans, "folded": folded.json() });
            return Ok(Reply::json(&value));
        }
        if summaries.is_empty() {
            let place = if self.all { "anywhere" } else { "here" };
            let none = match folded == Folded::default() {
                true => format!("No plan {place} yet. Start one: punchlist add \"…\"\n"),
                false => "No open plan here. Start one: punchlist add \"…\"\n".to_owned(),
            };
            return Ok(Reply::text(none + &folded.line()));
        }
        let gone = if self.all { repository::gone(&summaries) } else { String::new() };
        for plan in &mut summaries {
            if plan.title.is_empty() && plan.name.is_none() && plan.attachment.is_none() {
                plan.title = called(plan).into_owned();
            }
        }
        let screen = app.screen();
        let lines = plans::plans(&summaries, &alive, &app.view(screen));
        Ok(Reply::text(screen.drawn(&lines) + &folded.line() + &gone))
    }
}

/// The plans that live sessions work on.
pub(super) fn live(
    app: &App,
    store: &dyn Store,
    summaries: &[Summary],
) -> Result<BTreeSet<PlanId>, Fail> {
    let projects: BTreeSet<&str> = summaries.iter().map(|it| it.project.as_str()).collect();
    let mut live = BTreeSet::new();
    for project in
        projects.into_iter().filter(|_| app.current_session(store).is_ok_and(|it| it.any))
    {
        live.extend(plan_choice::live_plans(app, store, project)?);
    }
    Ok(live)
}

impl Act {
    fn run(self, app: &App) -> Result<Reply, Fail> {
        match self {
            Self::Rename { old, new, changing } => {
                person::not_an_agent("plans are renamed")?;
                let name = plan_choice::valid_name(&new)?.to_owned();
                let patch = |_| PlanPatch { name: Some(Some(name)), ..PlanPatch::default() };
                change(app, old, patch, changing, "renamed")
            }
            Self::Archive { plan, changing } => {
                person::not_an_agent("plans are archived")?;
                change(app, plan, |rules| archived(rules, true), changing, "archived")
            }
            Self::Unarchive { plan, changing } => {
                person::not_an_agent("plans are archived")?;
                let words = "taken out of the archive";
                change(app, plan, |rules| archived(rules, false), changing, words)
            }
            Self::Delete { plan } => Forget::plan().run(&of(app, plan)),
        }
    }
}

fn archived(rules: Rules, archived: bool) -> PlanPatch {
    PlanPatch { rules: Some(Rules { archived, ..rules }), ..PlanPatch::default() }
}

/// The same call with another plan.
fn of(app: &App, plan: String) -> App {
    App::new(Globals { plan: Some(plan), ..app.globals.clone() })
}

/// Renames or archives a plan, and reports it.
fn change(
    app: &App,
    plan: String,
    patch: impl FnOnce(Rules) -> PlanPatch,
    changing: Changing,
    words: &str,
) -> Result<Reply, Fail> {
    let app = of(app, plan);
    let (store, before) = plan_choice::read_there(&app, &Needs::header())?;
    drop(store);
    let op = Op::Plan(Box::new(patch(before.rules)));
    let (store, applied) = Request::new(vec![op], changing).make(&app)?;
    let (was, now) = (before.name.as_deref(), applied.plan.name.as_deref());
    let id = before.id.short();
    let quoted = |name: &str| format!(" \"{}\"", text::one_line(name));
    let mut line = format!("{words}: plan {id}{}", was.map(quoted).unwrap_or_default());
    if let Some(now) = now.filter(|_| was != now) {
        line.push_str(&format!(" is{} now", quoted(now)));
    }
    let reply = change::report(&app, &*store, applied)?;
    Ok(if app.globals.json { reply } else { Reply { out: line + "\n", ..reply } })
}
