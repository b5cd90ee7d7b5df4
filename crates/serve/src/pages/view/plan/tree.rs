//! The items below their parents, one row each.

use maud::{Markup, html};
use punchlist_formats::text::{Colour, Style};
use punchlist_formats::view::list;
use punchlist_model::Item;

use super::Here;
use crate::pages::view::acts;
use crate::pages::view::parts::{item_sign, text};

/// The tree.
pub(super) fn tree(here: &Here<'_>) -> Markup {
    let rows = here.plan.nested();
    html! {
        @if rows.is_empty() {
            div.empty {
                h2 { "The plan has no items yet" }
                p { "Add the first one here, or let an agent plan." }
            }
        } @else {
            ul.rows.items data-list="follow" {
                @for (depth, item) in rows { (row(here, depth, item)) }
            }
        }
        (acts::key_form(here))
    }
}

/// One item in a row.
fn row(here: &Here<'_>, depth: usize, item: &Item) -> Markup {
    html! {
        li.row.item.{"d" (depth.min(8))}.dropped[item.is_superseded()].current[here.is_open(item)]
            data-key=(item.number) {
            (item_sign(item))
            span.number { (item.number) }
            a.main data-row data-item=(item.number) data-status=(item.status) href=(here.item_address(item.number))
                aria-current=[here.is_open(item).then_some("true")] { (label(item)) }
            (note(here, item))
            span.time { (list::spent(item, &here.options)) }
        }
    }
}

/// The active form while in progress, otherwise the title.
pub(super) fn label(item: &Item) -> Markup {
    crate::pages::view::parts::title(item.label())
}

/// Evidence, owner, dependencies or reason.
pub(super) fn note(here: &Here<'_>, item: &Item) -> Markup {
    let (words, style) = list::note(here.plan, item, &here.options);
    let classes = [(Colour::Green, "good"), (Colour::Yellow, "warn"), (Colour::Red, "bad")];
    let class = classes.iter().find(|it| style == Style::In(it.0)).map_or("", |it| it.1);
    html! { span.note.(class) data-words { (text(&words)) } }
}
