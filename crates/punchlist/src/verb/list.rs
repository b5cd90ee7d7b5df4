//! `punchlist list`.

use std::collections::BTreeSet;

use punchlist_formats::text;
use punchlist_formats::text::glyph::marker;
use punchlist_formats::view::{self, json};
use punchlist_model::needs::Needs;
use punchlist_model::store::{AttachmentKey, Filter, PlanStore};
use punchlist_model::{Number, Plan, Status};
use serde_json::Value;

use super::{Group, Verb};
use crate::app::App;
use crate::error::Fail;
use crate::evidence;
use crate::print::Reply;
use crate::settle::settle;
use crate::which;

/// Show the list
///
/// On a terminal it is drawn as a box, into a pipe it is plain text. `✓` is completed, `▶` in
/// progress, `○` pending, `◔` waiting, `✗` cancelled.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct List {
    /// How to draw it
    #[arg(long, value_enum, value_name = "VIEW")]
    view: Option<View>,
    /// Only items that stand like this: pending, in_progress, completed or cancelled
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    status: Vec<Status>,
    /// Superseded items too
    #[arg(long)]
    all: bool,
    /// Draw it this many columns wide
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(1..=1000))]
    width: Option<u16>,
}

/// How a list is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum View {
    /// What a terminal gets: a box with numbers, owners, evidence and a bar
    List,
    /// A box with titles only
    Box,
    /// What a pipe gets: one line an item, with numbers
    Plain,
    /// As the `TodoWrite` tool answers
    Text,
    /// A checklist
    Markdown,
    /// As `--json`
    Json,
    /// As the `todo_manager` tool answers
    Xml,
    /// The dependencies, for Graphviz
    Dot,
    /// The dependencies, for Mermaid
    Mermaid,
}

impl Verb for List {
    const NAME: &'static str = "list";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist list
  punchlist list --status pending,in_progress
  punchlist list --view markdown > plan.md
  punchlist list --json | jq '.items[] | select(.ready) | .title'";

    fn plain(arguments: &[&str]) -> Option<Self> {
        arguments.is_empty().then(Self::default)
    }

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let screen = app.screen();
        let view = match self.view {
            _ if app.globals.json => View::Json,
            Some(view) => view,
            None if screen.is_terminal => View::List,
            None => View::Plain,
        };
        let Some((store, plan)) = which::read(app, &Needs::whole())? else {
            return none_yet(app, view);
        };
        if view == View::Json {
            let key = attachment(&store, &plan)?;
            let stale = evidence::stale(&plan);
            let mut value = self.json(&plan, key.as_ref(), &stale);
            if plan.goal.is_some() {
                value["goal"] = json::aim(&plan, &stale, app.now);
            }
            return Ok(Reply::json(&value));
        }
        store.let_go();
        let superseded = if self.all { superseded(&plan) } else { String::new() };
        if self.view.is_none() && !self.status.is_empty() {
            return Ok(Reply::text(self.lines(&plan) + &superseded));
        }
        let below = match view {
            View::Box | View::Plain => below(app, &plan),
            View::List
            | View::Text
            | View::Markdown
            | View::Json
            | View::Xml
            | View::Dot
            | View::Mermaid => String::new(),
        };
        let shown = if self.status.is_empty() { plan } else { self.only(plan) };
        let mut options = app.view(screen);
        if view == View::List {
            options.stale = evidence::stale(&shown);
        }
        options.width = self.width.unwrap_or(options.width);
        let mut out = match view {
            View::List => view::list::list(&shown, &options),
            View::Box => view::boxed::boxed(&shown, &options),
            View::Plain => view::plain::numbered(&shown),
            View::Text => view::plain::text(&shown),
            View::Markdown => view::markdown::markdown(&shown),
            View::Xml => view::xml::xml(&shown),
            View::Dot => view::graph::dot(&shown),
            View::Mermaid => view::graph::mermaid(&shown),
            View::Json => String::new(),
        };
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        // The other views are notations of their own, in which there is no room for more.
        if matches!(view, View::List | View::Box | View::Plain) {
            out.push_str(&superseded);
            out.push_str(&below);
        }
        // The process ends with this, and the system frees a large plan for less than we would.
        std::mem::forget(shown);
        Ok(Reply::text(out))
    }
}

/// What stands below a list that is not drawn with it.
fn below(app: &App, plan: &Plan) -> String {
    let mut lines = String::new();
    if let Some(words) = view::list::ending(plan) {
        lines.push_str(words);
        lines.push('\n');
    }
    if plan.goal.is_some() {
        lines.push_str(&view::goal::news(plan, &evidence::stale(plan), app.now));
    }
    lines
}

impl List {
    fn fits(&self, status: Status) -> bool {
        self.status.is_empty() || self.status.contains(&status)
    }

    /// The lines of the wanted items; what each of them is blocked by is told from the whole.
    fn lines(&self, plan: &Plan) -> String {
        let markers: Vec<_> = self.status.iter().map(|it| marker((*it).into())).collect();
        let whole = view::plain::numbered(plan);
        let wanted = |line: &&str| markers.iter().any(|it| line.trim_start().starts_with(it));
        whole.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
    }

    /// The plan with the wanted items only.
    fn only(&self, mut plan: Plan) -> Plan {
        plan.items.retain(|_, item| self.fits(item.status));
        plan
    }

    /// The wanted items; the plan's progress stays that of the whole.
    fn json(
        &self,
        plan: &Plan,
        attachment: Option<&AttachmentKey>,
        stale: &BTreeSet<Number>,
    ) -> Value {
        let mut value = json::list(plan, attachment, stale);
        let mut items: Vec<_> = plan.listed();
        if self.all {
            items.extend(plan.items.values().filter(|item| item.is_superseded()));
        }
        let items = items.into_iter().filter(|item| self.fits(item.status));
        value["items"] =
            items.map(|item| json::item(plan, item, stale.contains(&item.number))).collect();
        value
    }
}

/// The newest conversation that is attached to a plan. A plan made by hand has none.
pub(super) fn attachment(
    store: &dyn PlanStore,
    plan: &Plan,
) -> Result<Option<AttachmentKey>, Fail> {
    let id = Some(plan.id.0.simple().to_string());
    let summaries = settle(store.plans(Filter { id, ..Filter::default() }))?;
    Ok(summaries.into_iter().next().and_then(|summary| summary.attachment))
}

fn superseded(plan: &Plan) -> String {
    let mut out = String::new();
    for item in plan.items.values().filter(|item| item.is_superseded()) {
        let Number(number) = item.number;
        out.push_str(&format!("superseded {number}  {}\n", text::one_line(&item.title)));
    }
    out
}

/// No plan is no error: there is just nothing on the list.
fn none_yet(app: &App, view: View) -> Result<Reply, Fail> {
    if view == View::Json {
        let value = serde_json::json!({
            "plan": null,
            "items": [],
            "progress": {"completed": 0, "total": 0, "percent": 0},
        });
        return Ok(Reply::json(&value));
    }
    let project = &app.project()?.name;
    let mut out =
        format!("No plan here yet ({}). Start one: punchlist add \"…\"\n", text::one_line(project));
    let filter = Filter { project: Some(project.clone()), ..Filter::default() };
    if let Some(store) = app.store_to_read()?
        && !settle(store.plans(filter))?.is_empty()
    {
        out.push_str("Others have plans here: punchlist plans\n");
    }
    Ok(Reply::text(out))
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;
    use crate::{args, verb};

    #[test]
    fn no_arguments_mean_what_the_parser_takes_them_for() {
        let row = verb::find(List::NAME).unwrap();
        let mut parsed = args::alone(row).try_get_matches_from([""; 0]).unwrap();
        let same = List::from_arg_matches_mut(&mut parsed).unwrap();
        assert_eq!(format!("{:?}", List::plain(&[]).unwrap()), format!("{same:?}"));
        assert!(args::plain(row, &["--all".into()]).is_none());
    }
}
