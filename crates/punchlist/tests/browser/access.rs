//! Signing in, and what a browser may load.

use crate::browser::{Browser, Kind};
use crate::site::Site;

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn a_code_signs_a_browser_in_once_and_the_session_survives_a_reload() {
    let site = Site::new();
    let server = site.serve(0);
    let browser = Browser::start(Kind::DESK);
    browser.open(&server.page("agents"));
    browser.sees("h1", "Sign in");
    server.let_in(&browser, Kind::DESK);
    browser.reload();
    browser.sees("h1", "Agents");
    browser.is_calm();
    assert!(!browser.address().contains('#'), "{}", browser.address());

    let other = Browser::start(Kind::DESK);
    other.open(&server.sign_in);
    other.sees("h1", "The code does not work");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn without_scripts_pages_can_be_read_and_forms_can_be_sent() {
    let site = Site::new();
    site.call(&["add", "Read the schema"]);
    let kind = Kind { has_scripts: false, ..Kind::DESK };
    let (server, browser) = site.browse(kind);
    for (path, text) in [
        ("agents", "Nobody waits for you"),
        ("plans", "web-shop"),
        ("questions", "No question waits for you"),
        ("sessions", "There is no session yet"),
        ("search?q=schema", "Read the schema"),
        ("health", "punchlist doctor"),
    ] {
        browser.open(&server.page(path));
        browser.sees("main", text);
    }
    browser.open(&server.page(&format!("plans/{}", site.plan())));
    browser.write("#add-title", "Write the handler");
    browser.click("[data-act=add] button");
    browser.sees("#told", "added 2 \"Write the handler\"");
    browser.sees(".rows.items", "Write the handler");
    browser.click("a[data-item='2']");
    browser.click("details[data-act=skip] summary");
    browser.write("#skip-text", "not needed");
    browser.click("details[data-act=skip] button");
    browser.sees("#told", "cancelled 2");
    assert_eq!(site.list()["items"][1]["outcome"], "not needed");
}
