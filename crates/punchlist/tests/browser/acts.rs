//! What a person does to a plan, with the mouse and with the keyboard alone.

use serde_json::json;

use crate::browser::Kind;
use crate::site::Site;
use crate::web_driver::until;

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn a_person_adds_edits_moves_skips_verifies_and_undoes_and_the_journal_names_them() {
    let site = Site::new();
    site.call(&["add", "Build", "--verify", "true"]);
    site.call(&["add", "Test"]);
    let (server, browser) = site.browse(Kind::DESK);
    let plan = format!("plans/{}", site.plan());
    browser.open(&server.page(&plan));
    browser.write("#add-title", "Publish");
    browser.click("[data-act=add] button");
    browser.sees("#told", "added 3 \"Publish\"");

    browser.click("a[data-item='3']");
    browser.click("details[data-act=edit] summary");
    browser.write("#edit-title", "Publish it");
    browser.write("#edit-context", "first line\nsecond line");
    browser.click("details[data-act=edit] button");
    browser.sees("#told", "edited 3");
    browser.sees(".item-detail", "second line");
    assert_eq!(site.list()["items"][2]["context"], "first line\nsecond line");

    browser.click("form[data-act=up] button");
    browser.sees("#told", "moved 3 before 2");
    browser.click("details[data-act=skip] summary");
    browser.write("#skip-text", "later");
    browser.click("details[data-act=skip] button");
    browser.sees("#told", "cancelled 3 \"Publish it\": later");
    browser.click("form[data-act=undo] button");
    browser.sees("#told", "undid: cancelled 3");

    browser.open(&server.page(&format!("{plan}/items/1")));
    browser.click("form[data-act=verify] button");
    browser.sees("#told", "added evidence to 1 \"Build\" (checked)");
    browser.sees(".evidence", "checked");
    browser.click("form[data-act=start] button");
    browser.sees("#told", "started 1");
    // What the rules refuse is said on the page, and nothing changes.
    browser.open(&server.page(&format!("{plan}/items/2")));
    browser.click("form[data-act=start] button");
    browser.sees("#told", "Not done");

    browser.open(&server.page(&format!("{plan}?view=timeline")));
    browser.sees(".timeline", "you");
    let journal = site.call(&["log", "--json"]);
    let last: serde_json::Value = serde_json::from_str(journal.lines().last().unwrap()).unwrap();
    assert_eq!(last["actor"], json!({"kind": "person", "name": "ann@atlas"}), "{last}");
    browser.is_calm();
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn everything_can_be_done_with_the_keyboard() {
    let site = Site::new();
    for title in ["Build", "Test", "Publish"] {
        site.call(&["add", title]);
    }
    let (server, browser) = site.browse(Kind::DESK);
    let is_at = |path: &str| until(path, || browser.address().contains(path).then_some(()));
    let status = |at: usize| site.list()["items"][at]["status"].as_str().unwrap().to_owned();

    browser.keys("?");
    browser.sees("dialog[open]", "these keys");
    browser.keys("\u{1b}");
    until("the keys are closed", || (!browser.has("dialog[open]")).then_some(()));

    browser.keys("gp");
    is_at("/plans");
    browser.keys("j\n");
    browser.sees("h1", "Plan ");
    browser.keys("js");
    browser.sees("#told", "started 1");
    assert_eq!(status(0), "in_progress");
    browser.keys("jd");
    is_at("/items/1");
    browser.keys("all green\n");
    browser.sees("#told", "completed 1 \"Build\": all green");
    browser.keys("u");
    browser.sees("#told", "undid: completed 1");
    assert_eq!(status(0), "in_progress");
    browser.keys("\u{1b}");
    until("the item is closed", || (!browser.address().contains("/items/")).then_some(()));
    browser.sees("h1", "Plan ");
    browser.keys("jjJ");
    browser.sees("#told", "moved 2 to the end");
    browser.keys("a");
    browser.keys("Announce\n");
    browser.sees("#told", "added 4 \"Announce\"");
    for (key, selector) in
        [("2", ".board"), ("3", ".timeline"), ("4", ".graph"), ("1", ".rows.items")]
    {
        browser.keys(key);
        until(selector, || browser.has(selector).then_some(()));
    }
    browser.keys("/");
    is_at("/search");
    browser.keys("announce");
    browser.sees("#found", "4 Announce");
    // Tab reaches everything in the order in which it is read; the first stop leads past the bar.
    browser.open(&server.page("plans"));
    browser.keys("\t");
    assert_eq!(browser.script("return document.activeElement.className"), "skip");
    browser.is_calm();
}
