//! The items by status, one column each.

use maud::{Markup, html};
use punchlist_model::{Item, Status};

use super::Here;
use super::tree::{label, note};
use crate::pages::view::acts;
use crate::pages::view::parts::item_sign;

/// The board. Items that can be worked on come first in their column.
pub(super) fn board(here: &Here<'_>) -> Markup {
    let listed = here.plan.listed();
    let columns = [Status::Pending, Status::InProgress, Status::Completed, Status::Cancelled];
    html! {
        div.board {
            @for status in columns {
                @let mut items: Vec<&Item> = listed.iter().copied().filter(|it| it.status == status).collect();
                @let () = order(here, &mut items);
                section.column.{"is-" (status)} aria-label=(status.words()) {
                    h2 { (status.words()) " " span.muted { (items.len()) } }
                    ul.cards data-list="hold" {
                        @for item in items {
                            li.card.current[here.is_open(item)] data-key=(item.number) {
                                a.main data-row data-item=(item.number) data-status=(item.status)
                                    href=(here.item_address(item.number)) {
                                    (item_sign(item)) span.number { (item.number) } span.title { (label(item)) }
                                }
                                (note(here, item))
                            }
                        }
                    }
                }
            }
        }
        (acts::key_form(here))
    }
}

/// Pending: ready ones first. Finished: the latest first.
fn order(here: &Here<'_>, items: &mut [&Item]) {
    items.sort_by_key(|it| match it.status {
        Status::Pending => (!here.plan.is_ready(it), 0),
        Status::InProgress | Status::Cancelled => (false, 0),
        Status::Completed => (false, it.completed_at.map_or(0, |at| -at.as_millisecond())),
    });
}
