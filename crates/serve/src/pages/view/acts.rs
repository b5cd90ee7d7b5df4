//! What a person can do to an item or a plan: one form for each act, which also works without
//! scripts.

use maud::{Markup, html};
use punchlist_formats::text::{many_lines, one_line};
use punchlist_model::{Item, Status};

use super::plan::Here;

fn action(here: &Here<'_>) -> String {
    here.shell.to(&format!("plans/{}/act", here.plan.id))
}

/// The fields that say which act, on which item, seen in which view.
fn fields(here: &Here<'_>, act: &str, item: Option<&Item>) -> Markup {
    html! {
        input type="hidden" name="act" value=(act);
        input type="hidden" name="view" value=(here.page.view.as_str());
        @if let Some(item) = item {
            input type="hidden" name="item" value=(item.number);
            input type="hidden" name="item_id" value=(item.id);
        }
    }
}

/// A new item: at the end, or after or under the item that is open.
pub(super) fn add(here: &Here<'_>, item: Option<&Item>) -> Markup {
    html! {
        form.act-form method="post" action=(action(here)) data-act="add" {
            (fields(here, "add", item))
            label for="add-title" { "New item" }
            div.line {
                input #add-title name="text" required maxlength="500" autocomplete="off" placeholder="What is to be done";
                @if item.is_some() {
                    button name="where" value="after" { "Add after" }
                    button name="where" value="under" { "Add under" }
                } @else { button.primary name="where" value="end" { "Add" } }
            }
        }
    }
}

/// Undoes the person's last change.
pub(super) fn undo(here: &Here<'_>, item: Option<&Item>) -> Markup {
    html! {
        form.act-form method="post" action=(action(here)) data-act="undo" {
            (fields(here, "undo", item))
            button title="Undoes your last change of this plan" { "Undo" }
        }
    }
}

/// Everything that can be done to an item. Each act has a place of its own, also while it cannot be done, so
/// that no button moves when the item changes.
pub(super) fn acts(here: &Here<'_>, item: &Item) -> Markup {
    let is_open = item.is_open();
    if item.is_superseded() {
        return html! { p.muted { "The item was dropped from the list. Its history stays." } };
    }
    html! {
        div.acts role="group" aria-label="Change the item" {
            @match item.status {
                Status::Pending => (plain(here, item, "start", "Start", if here.plan.is_ready(item) { "primary" } else { "" })),
                Status::InProgress => (plain(here, item, "release", "Release", "")),
                Status::Completed | Status::Cancelled => (plain(here, item, "reopen", "Reopen", "")),
            }
            @if is_open { (with_text(here, item, "done", "Done", "Outcome (optional)", "", false)) }
            @else { (off("done", "Done", "The item is not open")) }
            @if is_open { (with_text(here, item, "skip", "Skip", "Reason", "", false)) }
            @else { (off("skip", "Skip", "The item is not open")) }
            @if item.waiting_on.is_some() { (plain(here, item, "resume", "End the wait", "")) }
            @else if is_open { (with_text(here, item, "wait", "Wait", "For whom or what", "", true)) }
            @else { (off("wait", "Wait", "The item is not open")) }
            @if item.check.is_some() { (plain(here, item, "verify", "Verify", "")) }
            @else { (off("verify", "Verify", "The item has no check")) }
            @if needs_approval(here, item) { (plain(here, item, "approve", "Approve", "")) }
            @else { (off("approve", "Approve", "There is nothing to approve")) }
            (edit(here, item))
            (plain(here, item, "up", "Move up", ""))
            (plain(here, item, "down", "Move down", ""))
            details.act data-key="add" data-act="add" { summary { "Add…" } (add(here, Some(item))) }
            (undo(here, Some(item)))
        }
    }
}

/// An act that cannot be done now, and why.
fn off(act: &str, label: &str, why: &str) -> Markup {
    html! { button type="button" disabled data-key=(place(act)) title=(why) { (label) } }
}

/// The place of an act. Acts of which only one is possible at a time share one.
fn place(act: &str) -> &str {
    match act {
        "start" | "release" | "reopen" => "turn",
        "wait" | "resume" => "wait",
        act => act,
    }
}

/// A person may approve what is done or in progress.
fn needs_approval(here: &Here<'_>, item: &Item) -> bool {
    let is_approved = item.evidence_level() == Some(punchlist_model::Level::Approved);
    let is_demanded = here.plan.rules.demand == Some(punchlist_model::Level::Approved);
    !is_approved && (item.status == Status::Completed || is_demanded || item.waiting_on.is_some())
}

/// An act that needs no text.
fn plain(here: &Here<'_>, item: &Item, act: &str, label: &str, class: &str) -> Markup {
    html! {
        form method="post" action=(action(here)) data-key=(place(act)) data-act=(act) {
            (fields(here, act, Some(item)))
            button.(class) { (label) }
        }
    }
}

/// An act with a text, which is asked for first.
fn with_text(
    here: &Here<'_>,
    item: &Item,
    act: &str,
    label: &str,
    asks: &str,
    value: &str,
    is_required: bool,
) -> Markup {
    html! {
        details.act data-key=(place(act)) data-act=(act) {
            summary { (label) "…" }
            form.act-form method="post" action=(action(here)) {
                (fields(here, act, Some(item)))
                label for=(format!("{act}-text")) { (asks) }
                div.line {
                    input #{(act) "-text"} name="text" value=(value) required[is_required] maxlength="20000" autocomplete="off";
                    button.primary { (label) }
                }
                @if act == "done" && !here.plan.children(item.number).is_empty() {
                    label.check { input type="checkbox" name="with_children" value="yes"; " with everything under it" }
                }
            }
        }
    }
}

fn edit(here: &Here<'_>, item: &Item) -> Markup {
    html! {
        details.act data-key="edit" data-act="edit" {
            summary { "Edit…" }
            form.act-form method="post" action=(action(here)) {
                (fields(here, "edit", Some(item)))
                label for="edit-title" { "Title" }
                input #edit-title name="title" value=(one_line(&item.title)) required maxlength="500" autocomplete="off";
                label for="edit-context" { "Context" }
                textarea #edit-context name="context" rows="4" maxlength="20000" { (many_lines(&item.context)) }
                label for="edit-criteria" { "Done when" }
                textarea #edit-criteria name="criteria" rows="2" maxlength="20000" { (many_lines(&item.completion_criteria)) }
                button.primary { "Save" }
            }
        }
    }
}

/// The form that keys fill in and send for the item of the focused row.
pub(super) fn key_form(here: &Here<'_>) -> Markup {
    html! {
        form #key-form method="post" action=(action(here)) hidden {
            input type="hidden" name="act" value="";
            input type="hidden" name="view" value=(here.page.view.as_str());
            input type="hidden" name="item" value="";
        }
    }
}
