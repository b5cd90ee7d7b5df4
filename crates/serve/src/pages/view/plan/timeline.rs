//! The journal of the plan, oldest first: new entries are added at the end, so nothing moves.

use maud::{Markup, html};
use punchlist_formats::view::log;
use punchlist_model::{ActorKind, Revision};

use super::Here;
use crate::pages::view::parts::{ago, text};

/// The timeline.
pub(super) fn timeline(here: &Here<'_>) -> Markup {
    let entries = &here.page.journal;
    let words = log::phrases_of(here.plan, entries, None);
    let first = entries.first().map_or(Revision(0), |it| it.revision);
    let mut day = String::new();
    html! {
        @if entries.is_empty() { div.empty { h2 { "Nothing has happened yet" } p { "Every change of the plan appears here, with its author." } } }
        @else if first.0 > 1 {
            p { a.button href=(format!("{}&before={first}", here.plan_address(super::PlanView::Timeline))) { "Earlier changes" } }
        }
        ol.timeline data-list="follow" data-end {
            @for (entry, words) in entries.iter().zip(&words) {
                @let this = entry.at.strftime("%A, %-d %B %Y").to_string();
                @let is_new = this != day;
                @let () = { day.clone_from(&this) };
                @if is_new { li.day data-key=(format!("day {this}")) { h2 { (this) } } }
                li.change data-key=(entry.revision) {
                    span.revision { (entry.revision) }
                    span.who.{"by-" (kind(entry.actor.kind))} { bdi { (here.author(&entry.actor)) } }
                    span.what { @for words in words { span.phrase { (text(words)) } } }
                    span.time { (ago(entry.at, here.now())) }
                }
            }
        }
    }
}

fn kind(kind: ActorKind) -> &'static str {
    kind.as_str()
}
