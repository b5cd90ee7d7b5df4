//! The list of plans: open ones first, then those that changed last.

use maud::{Markup, html};
use punchlist_formats::text::one_line;
use punchlist_model::PlanId;
use punchlist_model::plan::{End, MadeFor};
use punchlist_model::store::Summary;

use super::parts::{ago, plan_progress, project};
use super::shell::{Live, Shell};

/// What the list of plans shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlansPage {
    /// The plans, most recently changed first.
    pub(crate) plans: Vec<Summary>,
    /// Whether archived plans are among them.
    pub(crate) with_archived: bool,
    /// How many archived plans there are.
    pub(crate) archived: u32,
    /// How many plans have open items, archived ones aside.
    pub(crate) unfinished: u32,
    /// How many plans there are in all.
    pub(crate) all: u32,
    /// How many other plans are left out, because there are too many.
    pub(crate) others: u32,
}

/// The list of plans.
pub(crate) fn plans(shell: &Shell, page: &PlansPage) -> Markup {
    let finished = page.all.saturating_sub(page.archived).saturating_sub(page.unfinished);
    let content = html! {
        div.head { h1 { "Plans" } p.sum { (page.unfinished) " open · " (finished) " finished" } }
        @if page.plans.is_empty() { (empty()) }
        // One list, so that a new plan comes last and no other one moves.
        @if !page.plans.is_empty() {
            ul.rows.plans data-list="hold" { @for plan in &page.plans { (line(shell, plan)) } }
        }
        @if page.others > 0 { p.muted { (page.others) " older plans are not listed; the search finds them." } }
        @if page.archived > 0 || page.with_archived {
            p.muted {
                @if page.with_archived { a href=(shell.to("plans")) { "Leave out archived plans" } }
                @else { a href=(shell.to("plans?archived=yes")) { "Show " (page.archived) " archived" } }
            }
        }
    };
    shell.page("Plans", Live::Yes, &content)
}

fn line(shell: &Shell, plan: &Summary) -> Markup {
    html! {
        li.row.plan data-key=(plan.id) {
            (super::parts::sign(sign(plan)))
            a.main data-row href=(shell.to(&format!("plans/{}", plan.id))) {
                span.name { bdi { (heading(plan)) } }
                span.doing { (about(plan)) }
            }
            span.list { (plan_progress(plan.progress)) }
            span.time { (ago(plan.updated_at, shell.now)) }
        }
    }
}

/// The plan's title, else its name, else its id.
pub(super) fn heading(plan: &Summary) -> String {
    named(&plan.title, plan.name.as_deref(), plan.id)
}

/// The name of a plan, the same wherever it is shown.
pub(super) fn named(title: &str, name: Option<&str>, id: PlanId) -> String {
    let title = one_line(title);
    match name {
        _ if !title.is_empty() => title.into_owned(),
        Some(name) => one_line(name).into_owned(),
        None => format!("Plan {}", id.short()),
    }
}

fn sign(plan: &Summary) -> punchlist_formats::text::glyph::Sign {
    use punchlist_formats::text::glyph::Sign;
    match plan.end {
        End::Drained => Sign::Done,
        End::Stopped => Sign::Waiting,
        End::Open if plan.progress.completed > 0 => Sign::Active,
        End::Open => Sign::Open,
    }
}

/// Where it belongs, and whose it is.
fn about(plan: &Summary) -> Markup {
    let whose = match (&plan.attachment, &plan.made_for) {
        (Some(key), _) => one_line(&key.agent).into_owned(),
        (None, Some(MadeFor::File(file))) => file_name(&one_line(file)).to_owned(),
        (None, Some(MadeFor::Project(_))) => "of the project".to_owned(),
        (None, Some(MadeFor::Conversation(key))) => one_line(&key.agent).into_owned(),
        (None, None) => String::new(),
    };
    html! {
        b { (project(&plan.project)) }
        @if !whose.is_empty() { " · " bdi { (whose) } }
        @if plan.end == End::Stopped { span.warn { " stopped with open items" } }
        @if plan.archived { " archived" }
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn empty() -> Markup {
    html! {
        div.empty {
            h2 { "There is no plan yet" }
            ol {
                li { "By hand: " code { "punchlist add \"First item\"" } "." }
                li { "From a file: " code { "punchlist run plan.md" } "." }
                li { "By an agent: " code { "punchlist install claude" } ", then let it work." }
            }
        }
    }
}
