//! `punchlist list`.

mod all_plans;
mod filter;

use std::borrow::Cow;
use std::collections::BTreeSet;

use punchlist_engine::plan_service;
use punchlist_formats::text;
use punchlist_formats::view::{self, json};
use punchlist_model::session::Store;
use punchlist_model::store::{self, PlanStore};
use punchlist_model::{Number, Plan};
use serde_json::Value;

use self::filter::Filter;
use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{evidence, person, plan_choice};

/// Show the list
///
/// The list is drawn as a box on a terminal, and printed as plain text into a pipe. `✓` is
/// completed, `▶` in progress, `○` pending, `◔` waiting, `✗` cancelled; `P0` is a priority. Also
/// called `ls`.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct List {
    #[command(flatten)]
    filter: Filter,
    /// Show every plan of this project that is neither finished nor archived
    #[arg(long, conflicts_with_all = ["plan", "view"])]
    all_plans: bool,
    /// Also show dropped items
    #[arg(long)]
    all: bool,
    /// The format
    #[arg(long, value_enum, value_name = "VIEW")]
    view: Option<View>,
    /// The width in columns
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(1..=1000))]
    width: Option<u16>,
}

/// The formats of `--view`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum View {
    /// A box with numbers, owners, evidence and a progress bar (default on a terminal)
    List,
    /// A box with titles only
    Box,
    /// One line per item, with numbers (default in a pipe)
    Plain,
    /// The answer of the `TodoWrite` tool
    Text,
    /// A Markdown checklist
    Markdown,
    /// The same as `--json`
    Json,
    /// The answer of the `todo_manager` tool
    Xml,
    /// The dependency graph, for Graphviz
    Dot,
    /// The dependency graph, for Mermaid
    Mermaid,
}

impl Verb for List {
    const NAME: &'static str = "list";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist list
  punchlist list --open --search parser
  punchlist list --ready --mine
  punchlist list --all-plans
  punchlist list --view markdown > plan.md
  punchlist list --json | jq '.items[] | select(.ready) | .title'";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let screen = app.screen();
        let view = match self.view {
            _ if app.globals.json => View::Json,
            Some(view) => view,
            None if screen.is_terminal => View::List,
            None => View::Plain,
        };
        if self.all_plans {
            return all_plans::run(&self, app, view);
        }
        let Some((store, plan)) = plan_choice::whole(app)? else {
            return none_yet(app, view);
        };
        let only = self.only(app, &*store, &plan)?;
        if view == View::Json {
            let value = self.json(app, &*store, &plan, only.as_ref())?;
            return Ok(Reply::json(&value));
        }
        Ok(Reply::text(self.drawn(app, view, &plan, only.as_ref())))
    }
}

impl List {
    /// The items that the filter selects; `None` for all.
    fn only(
        &self,
        app: &App,
        store: &dyn Store,
        plan: &Plan,
    ) -> Result<Option<BTreeSet<Number>>, Fail> {
        let me = self.filter.mine.then(|| app.actor(store)).transpose()?;
        Ok(self.filter.wanted(me.as_ref().map(|it| it.name.as_str())).of(plan))
    }

    /// Draws the list in any view but JSON.
    fn drawn(&self, app: &App, view: View, plan: &Plan, only: Option<&BTreeSet<Number>>) -> String {
        let screen = app.screen();
        let mut options = app.view(screen);
        if view == View::List {
            options.stale = evidence::stale(plan);
        }
        options.width = self.width.unwrap_or(options.width);
        let reduced = || match only {
            Some(only) => {
                let mut plan = plan.clone();
                plan.items.retain(|number, _| only.contains(number));
                Cow::Owned(plan)
            }
            None => Cow::Borrowed(plan),
        };
        let mut out = match (view, only) {
            (View::List, _) => screen.drawn(&view::list::part(plan, only, &options)),
            (View::Plain, Some(only)) => view::plain::part(plan, only),
            (View::Plain, None) => view::plain::numbered(plan),
            (View::Box, _) => screen.drawn(&view::boxed::boxed(&reduced(), &options)),
            (View::Text, _) => view::plain::text(&reduced()),
            (View::Markdown, _) => view::markdown::markdown(&reduced()),
            (View::Xml, _) => view::xml::xml(&reduced()),
            (View::Dot, _) => view::graph::dot(&reduced()),
            (View::Mermaid, _) => view::graph::mermaid(&reduced()),
            (View::Json, _) => String::new(),
        };
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        // The other views have a fixed syntax.
        if matches!(view, View::List | View::Box | View::Plain) && self.all {
            out.push_str(&view::plain::dropped(plan, only));
        }
        if matches!(view, View::Box | View::Plain) && only.is_none() {
            let stale = evidence::stale(plan);
            out.push_str(&view::plain::below(plan, &stale, app.now, person::reader()));
        }
        out
    }

    /// The selected items as JSON; the progress is that of the whole plan.
    fn json(
        &self,
        app: &App,
        store: &dyn PlanStore,
        plan: &Plan,
        only: Option<&BTreeSet<Number>>,
    ) -> Result<Value, Fail> {
        let key = block_on(plan_service::attachment(store, plan.id))?;
        let stale = evidence::stale(plan);
        let mut value = json::list(plan, key.as_ref(), &stale);
        let mut items: Vec<_> = plan.listed();
        if self.all {
            items.extend(plan.items.values().filter(|item| item.is_superseded()));
        }
        items.retain(|item| only.is_none_or(|only| only.contains(&item.number)));
        value["items"] = json::items(plan, items, &stale).into();
        if plan.goal.is_some() {
            value["goal"] = json::aim(plan, &stale, app.now, person::reader());
        }
        Ok(value)
    }
}

/// The answer if there is no plan yet, which is not an error.
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
    let filter = store::Filter { project: Some(project.clone()), ..store::Filter::default() };
    if let Some(store) = app.store_to_read()?
        && !block_on(store.plans(filter))?.is_empty()
    {
        out.push_str("Others have plans here: punchlist plans\n");
    }
    Ok(Reply::text(out))
}
