//! Search in plans, items and conversations.

use maud::{Markup, html};
use punchlist_formats::text::one_line;
use punchlist_model::store::turns::Conversation;
use punchlist_model::store::{FoundItem, Summary};

use super::parts::{ago, project, sign, text, title};
use super::plans;
use super::shell::{Live, Shell};

/// What the search found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Plans by title or name.
    pub(crate) plans: Vec<Summary>,
    /// Items by their texts.
    pub(crate) items: Vec<FoundItem>,
    /// Conversations in which the text occurs.
    pub(crate) conversations: Vec<Conversation>,
    /// Whether there is more than is shown.
    pub(crate) is_cut: bool,
}

/// The page of the search.
pub(crate) fn search(shell: &Shell, query: &str, found: &Found) -> Markup {
    let content = html! {
        h1 { "Search" }
        form.search role="search" method="get" action=(shell.to("search")) hx-get=(shell.to("search"))
            hx-trigger="submit, input delay:200ms from:#q" hx-target="#found" hx-select="#found" hx-swap="outerHTML"
            hx-sync="this:replace" {
            label.hidden for="q" { "Search for" }
            input #q type="search" name="q" value=(one_line(query)) autocomplete="off" placeholder="Plans, items, sessions" autofocus[query.is_empty()];
            button.primary { "Search" }
        }
        div #found aria-live="polite" { (results(shell, query, found)) }
    };
    shell.page("Search", Live::No, &content)
}

fn is_empty(found: &Found) -> bool {
    found.plans.is_empty() && found.items.is_empty() && found.conversations.is_empty()
}

fn results(shell: &Shell, query: &str, found: &Found) -> Markup {
    html! {
        @if query.trim().is_empty() {
            p.muted { "Finds plans by title, items by any of their texts, and sessions by what was said." }
        } @else if is_empty(found) {
            div.empty { h2 { "Nothing found" } p { "No plan, item or session contains “" (text(query)) "”. Fewer letters find more." } }
        }
        @if !found.plans.is_empty() {
            h2 { "Plans" }
            ul.rows { @for it in &found.plans {
                li.row.found {
                    a.main data-row href=(shell.to(&format!("plans/{}", it.id))) { span.name { bdi { (plans::heading(it)) } } span.doing { (project(&it.project)) } }
                    span.time { (ago(it.updated_at, shell.now)) }
                }
            } }
        }
        @if !found.items.is_empty() {
            h2 { "Items" }
            ul.rows { @for it in &found.items {
                li.row.found {
                    (sign(it.status.into()))
                    a.main data-row href=(shell.to(&format!("plans/{}/items/{}", it.at.plan, it.at.number))) {
                        span.name { (it.at.number) " " (title(&it.title)) } span.doing { (text(&it.plan_title)) }
                    }
                    span.time {}
                }
            } }
        }
        @if !found.conversations.is_empty() {
            h2 { "Sessions" }
            ul.rows { @for it in &found.conversations {
                li.row.found {
                    a.main data-row href=(shell.to(&format!("sessions/{}", it.id))) { span.name { (title(&punchlist_formats::text::secret::mask(&it.title))) } span.doing { (project(&it.project)) } }
                    span.time { (ago(it.changed_at, shell.now)) }
                }
            } }
        }
        @if found.is_cut { p.muted { "There is more; a longer text finds less." } }
    }
}
