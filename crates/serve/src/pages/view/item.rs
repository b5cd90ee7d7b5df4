//! One item in full: what it is, how it stands, why it is believed, and what happened to it.

use maud::{Markup, html};
use punchlist_formats::text::one_line;
use punchlist_formats::view::{detail, log};
use punchlist_model::store::Entry;
use punchlist_model::{Evidence, Item, Status, Verification};

use super::acts;
use super::parts::{ago, block, code, item_sign, text, title};
use super::plan::Here;

/// What an item's details need besides the plan.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ItemParts {
    /// The entries of the journal that concern the item, oldest first.
    pub(crate) history: Vec<Entry>,
    /// The last output of its calls.
    pub(crate) output: Option<String>,
}

/// The details. They are blocks: when one changes, the others stay where they are.
pub(super) fn item(here: &Here<'_>, item: &Item, parts: &ItemParts) -> Markup {
    html! {
        article.item-detail data-list="blocks" data-item=(item.number) data-status=(item.status) {
            p.back data-key="back" { a data-back href=(here.plan_address(here.page.view)) { "← The plan" } }
            h2.item-title data-key="title" { (item_sign(item)) span.number { (item.number) } (title(&item.title)) }
            p.standing data-key="standing" { (standing(here, item)) }
            div.to-change data-key="acts" { (acts::acts(here, item)) }
            @if let Some(outcome) = &item.outcome {
                (part("outcome", if item.status == Status::Cancelled { "Reason" } else { "Outcome" }, &block(outcome)))
            }
            @if !item.context.trim().is_empty() { (part("context", "Context", &block(&item.context))) }
            @if !item.completion_criteria.trim().is_empty() {
                (part("criteria", "Done when", &block(&item.completion_criteria)))
            }
            @if let Some(run) = &item.run { (part("run", "Runs", &code("Command", &run.command))) }
            @if let Some(check) = &item.check {
                (part("check", "Check", &html! {
                    (code("Check", &check.command))
                    @if !check.covers.is_empty() { p.muted { "covers " (text(&check.covers.join(", "))) } }
                }))
            }
            @if !item.evidence.is_empty() {
                (part("evidence", "Evidence", &html! {
                    ul.evidence { @for it in item.evidence.iter().rev() { (evidence(here, it)) } }
                }))
            }
            @if let Some(output) = &parts.output { (part("output", "Last output", &code("Last output", output))) }
            (links(here, item))
            (facts(here, item))
            (history(here, item, &parts.history))
        }
    }
}

/// A block with a heading.
fn part(key: &str, heading: &str, content: &Markup) -> Markup {
    html! { section.piece data-key=(key) { h3 { (heading) } (content) } }
}

fn standing(here: &Here<'_>, item: &Item) -> Markup {
    let plan = here.plan;
    let stale = here.options.stale.contains(&item.number);
    let verification = plan.verification(item, stale);
    html! {
        (item.status.words())
        @if item.is_superseded() { ", dropped" }
        @else if plan.is_ready(item) { ", ready" }
        @else if plan.is_blocked(item) { ", blocked" }
        @if item.is_interrupted() { span.warn { ", interrupted" } }
        @if let Some(on) = &item.waiting_on { " · " span.warn { "waiting for: " (text(on)) } }
        @match verification {
            Verification::None => {},
            Verification::Passed => { " · " span.good { "verified" } },
            Verification::Required => { " · " span.warn { "not verified yet" } },
            Verification::Failed => { " · " span.bad { "the last check failed" } },
            Verification::Stale => { " · " span.warn { "stale: files changed since the check" } },
        }
        @if let Some(claim) = &item.claim { " · held by " (text(&claim.holder.name)) }
        @else if let Some(owner) = &item.owner { " · " (text(owner)) }
    }
}

fn evidence(here: &Here<'_>, it: &Evidence) -> Markup {
    html! {
        li {
            span.(if it.passed() { "good" } else { "bad" }) { (it.level.as_str()) @if !it.passed() { ", failed" } }
            " by " (text(&it.by)) " " (ago(it.at, here.now()))
            @if let Some(run) = &it.run {
                br; code { (one_line(&run.command)) }
                " " (match run.exit_code { Some(code) => format!("exit {code}"), None => "killed".to_owned() })
                @if !run.covered.is_empty() { " · " (super::parts::count(run.covered.len(), "file", "files")) " covered" }
            }
        }
    }
}

fn links(here: &Here<'_>, item: &Item) -> Markup {
    let children = here.plan.children(item.number);
    let dependants: Vec<&Item> =
        here.plan.listed().into_iter().filter(|it| it.depends_on.contains(&item.number)).collect();
    html! {
        @if item.parent.is_some() || !item.depends_on.is_empty() || !children.is_empty() || !dependants.is_empty() {
            dl.facts data-key="links" {
                @if let Some(parent) = item.parent { dt { "Under" } dd { (here.link(parent)) } }
                @if !item.depends_on.is_empty() {
                    dt { "After" } dd { @for number in &item.depends_on { div { (here.link(*number)) } } }
                }
                @if !dependants.is_empty() {
                    dt { "Before" } dd { @for it in dependants { div { (here.link(it.number)) } } }
                }
                @if !children.is_empty() {
                    dt { "Contains" } dd { @for it in children { div { (here.link(it.number)) " " span.muted { (it.status.words()) } } } }
                }
            }
        }
    }
}

fn facts(here: &Here<'_>, item: &Item) -> Markup {
    let now = here.now();
    let marks: Vec<&str> = item.marks.iter().map(|it| detail::mark(*it)).collect();
    html! {
        dl.facts data-key="facts" {
            @if let Some(it) = &item.agent_type { dt { "For" } dd { (text(it)) } }
            @if let Some(it) = item.priority { dt { "Priority" } dd { (it) } }
            @if item.approve { dt { "Asks first" } dd { "yes" } }
            @if let Some(it) = item.retry { dt { "Retries" } dd { (it) } }
            @if let Some(it) = item.timeout { dt { "Timeout" } dd { (it) " s" } }
            @if !marks.is_empty() { dt { "Marks" } dd { (marks.join(", ")) } }
            dt { "Created" } dd { (ago(item.created_at, now)) }
            @if let Some(at) = item.started_at { dt { "Started" } dd { (ago(at, now)) } }
            @if let Some(at) = item.completed_at { dt { (if item.status == Status::Cancelled { "Cancelled" } else { "Completed" }) } dd { (ago(at, now)) } }
            @if let Some(at) = item.superseded_at { dt { "Dropped" } dd { (ago(at, now)) } }
        }
    }
}

/// Oldest first: what is new comes last, so nothing moves.
fn history(here: &Here<'_>, item: &Item, entries: &[Entry]) -> Markup {
    let words = log::phrases_of(here.plan, entries, Some(item.number));
    html! {
        section.piece data-key="history" {
            h3 { "History" }
            ol.timeline.short data-list="follow" {
                @for (entry, words) in entries.iter().zip(&words).filter(|it| !it.1.is_empty()) {
                    li.change data-key=(entry.revision) {
                        span.who { bdi { (here.author(&entry.actor)) } }
                        span.what { @for words in words { span.phrase { (text(words)) } } }
                        span.time { (ago(entry.at, here.now())) }
                    }
                }
            }
        }
    }
}
