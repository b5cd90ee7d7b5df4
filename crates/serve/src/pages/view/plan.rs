//! One plan: its head, its four views, and beside them an item or the form for a new one.

mod board;
mod graph;
mod timeline;
mod tree;

use std::collections::BTreeSet;

use maud::{Markup, html};
use punchlist_formats::view::{Options, goal};
use punchlist_model::store::{AttachmentKey, Entry};
use punchlist_model::{Actor, End, Item, Number, Plan, Timestamp};

use super::item::{self, ItemParts};
use super::parts::{ago, count, plan_progress, text};
use super::shell::{Live, Shell};
use super::{acts, parts, plans};

/// The views of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum PlanView {
    /// Items below their parents.
    #[default]
    Tree,
    /// Items by status.
    Board,
    /// The journal.
    Timeline,
    /// The dependencies.
    Graph,
}

impl PlanView {
    const ALL: [Self; 4] = [Self::Tree, Self::Board, Self::Timeline, Self::Graph];

    fn name(self) -> &'static str {
        match self {
            Self::Tree => "Tree",
            Self::Board => "Board",
            Self::Timeline => "Timeline",
            Self::Graph => "Graph",
        }
    }

    /// The name in an address.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Board => "board",
            Self::Timeline => "timeline",
            Self::Graph => "graph",
        }
    }

    /// The view with that name in an address; the tree if there is none.
    pub(crate) fn parse(name: &str) -> Self {
        Self::ALL.into_iter().find(|it| it.as_str() == name).unwrap_or_default()
    }
}

/// What the page of a plan shows.
#[derive(Clone, Debug)]
pub(crate) struct PlanPage {
    /// The plan.
    pub(crate) plan: Plan,
    /// Whose plan it is, if a session is attached.
    pub(crate) key: Option<AttachmentKey>,
    /// Which view.
    pub(crate) view: PlanView,
    /// The entries of the journal that are shown, oldest first.
    pub(crate) journal: Vec<Entry>,
    /// The item beside the view, with its last output.
    pub(crate) item: Option<(Number, ItemParts)>,
    /// The items with stale evidence.
    pub(crate) stale: BTreeSet<Number>,
}

/// A plan together with what every part of its page needs.
pub(super) struct Here<'a> {
    pub(super) shell: &'a Shell,
    pub(super) page: &'a PlanPage,
    pub(super) plan: &'a Plan,
    pub(super) options: Options,
}

impl Here<'_> {
    pub(super) fn now(&self) -> Timestamp {
        self.shell.now
    }

    /// The address of the plan in a view.
    pub(super) fn plan_address(&self, view: PlanView) -> String {
        let query = if view == PlanView::Tree { "" } else { "?view=" };
        let view = if view == PlanView::Tree { "" } else { view.as_str() };
        self.shell.to(&format!("plans/{}{query}{view}", self.plan.id))
    }

    /// The address of an item, beside the current view.
    pub(super) fn item_address(&self, number: Number) -> String {
        let view = self.page.view;
        let view =
            if view == PlanView::Tree { String::new() } else { format!("?view={}", view.as_str()) };
        self.shell.to(&format!("plans/{}/items/{number}{view}", self.plan.id))
    }

    /// Whether the item is the one beside the view.
    pub(super) fn is_open(&self, item: &Item) -> bool {
        self.page.item.as_ref().is_some_and(|it| it.0 == item.number)
    }

    /// The name of an author: `you` for the person who reads.
    pub(super) fn author(&self, actor: &Actor) -> String {
        if *actor == Actor::person(self.shell.person.clone()) {
            return "you".to_owned();
        }
        punchlist_formats::text::one_line(&actor.name).into_owned()
    }

    /// The number and title of another item, as a link.
    pub(super) fn link(&self, number: Number) -> Markup {
        match self.plan.get(number) {
            Some(it) => {
                html! { a href=(self.item_address(number)) { (number) " " (parts::title(&it.title)) } }
            }
            None => html! { (number) },
        }
    }
}

/// The page of a plan.
pub(crate) fn plan(shell: &Shell, page: &PlanPage) -> Markup {
    let options = Options { stale: page.stale.clone(), ..Options::plain(shell.now) };
    let here = Here { shell, page, plan: &page.plan, options };
    let opened =
        page.item.as_ref().and_then(|(number, parts)| Some((page.plan.get(*number)?, parts)));
    let title = plans::named(&page.plan.title, page.plan.name.as_deref(), page.plan.id);
    let content = html! {
        div.plan-page.with-item[opened.is_some()] {
            div.plan-head {
                (head(&here, &title))
                (tabs(&here))
            }
            // Where there is no room beside the view, the form is above it and an item below it.
            @if opened.is_none() { aside aria-label="About the plan" { (beside(&here)) } }
            div.view.{"view-" (page.view.as_str())} {
                @match page.view {
                    PlanView::Tree => (tree::tree(&here)),
                    PlanView::Board => (board::board(&here)),
                    PlanView::Timeline => (timeline::timeline(&here)),
                    PlanView::Graph => (graph::graph(&here)),
                }
            }
            @if let Some((it, parts)) = opened {
                aside aria-label="Item" { (item::item(&here, it, parts)) }
            }
        }
    };
    let title = match opened {
        Some((it, _)) => format!("{} {}", it.number, it.title),
        None => title,
    };
    shell.page(&title, Live::Yes, &content)
}

fn head(here: &Here<'_>, title: &str) -> Markup {
    let plan = here.plan;
    html! {
        p.back { a data-back href=(here.shell.to("plans")) { "← Plans" } " " span.muted { (parts::project(&plan.project)) } }
        div.head {
            h1 { bdi { (title) } }
            p.sum {
                @if let Some(key) = &here.page.key { (text(&key.agent)) " · " }
                @if let Some(name) = &plan.name { (text(name)) " · " }
                @if plan.end == End::Stopped { span.warn { (plan.end.words()) } " · " }
                "changed " (ago(plan.updated_at, here.now()))
            }
            div.plan-progress { (plan_progress(plan.progress())) }
        }
    }
}

fn tabs(here: &Here<'_>) -> Markup {
    html! {
        nav.tabs aria-label="Views of the plan" {
            @for (view, key) in PlanView::ALL.into_iter().zip(1..) {
                a href=(here.plan_address(view)) data-go-view=(key)
                    aria-current=[(view == here.page.view).then_some("page")] { (view.name()) }
            }
        }
    }
}

/// Beside the view, if no item is open: a new item, the goal, facts.
fn beside(here: &Here<'_>) -> Markup {
    let plan = here.plan;
    let goal_lines = goal::footer(plan, &here.options.stale, here.now(), here.options.reader);
    let open = plan.items.values().filter(|it| it.is_open()).count();
    html! {
        (acts::add(here, None))
        @if !goal_lines.is_empty() {
            div.about { h2 { "Goal" } @for line in goal_lines { p { (text(&line.text)) } } }
        }
        div.about { h2 { "About" }
        dl.facts {
            dt { "Open" } dd { (count(open, "item", "items")) }
            dt { "State" } dd { (plan.end.words()) }
            dt { "Revision" } dd { (plan.revision) }
            @if let Some(demand) = plan.rules.demand { dt { "Demands" } dd { (demand.as_str()) } }
            dt { "Created" } dd { (ago(plan.created_at, here.now())) }
            dt { "In a terminal" } dd { code { "punchlist list --plan " (plan.id.short()) } }
        }
        (acts::undo(here, None)) }
    }
}
