//! Pages follow what happens elsewhere.

use punchlist_testkit::model::Script;
use serde_json::json;

use crate::browser::Kind;
use crate::look;
use crate::site::Site;
use crate::web_driver::until;

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn a_change_of_another_process_appears_by_itself_and_nothing_else_moves() {
    let site = Site::new();
    for title in ["Build", "Test"] {
        site.call(&["add", title]);
    }
    let (server, browser) = site.browse(Kind::DESK);
    let plan = format!("plans/{}", site.plan());
    for (path, selector) in [
        (plan.clone(), ".rows.items"),
        (format!("{plan}?view=board"), ".board"),
        (format!("{plan}?view=timeline"), ".timeline"),
        (format!("{plan}?view=graph"), ".graph"),
    ] {
        browser.open(&server.page(&path));
        browser.sees(selector, "Build");
        browser.write("#add-title", "half typed");
        let title = format!("Publish in {selector}");
        site.call(&["add", &title]);
        browser.sees(selector, &title);
        site.call(&["done", "2", "--outcome", "green"]);
        browser.sees(".plan-progress", "1/");
        site.call(&["reopen", "2"]);
        browser.sees(".plan-progress", "0/");
        // What the person is typing stays, and nothing has moved.
        assert_eq!(
            browser.script("return document.querySelector('#add-title').value"),
            "half typed"
        );
        let (shift, what) = browser.shift();
        assert!(shift == 0.0, "{path}: {shift} {what}");
    }
    // On the board, items change their column in the order in which they are worked off.
    browser.open(&server.page(&format!("{plan}?view=board")));
    for number in ["3", "1", "4"] {
        site.call(&["done", number, "--outcome", "green"]);
        browser.waits_for(&format!(".column.is-completed .card:not(.gone) [data-item='{number}']"));
    }
    site.call(&["start", "2"]);
    browser.sees(".column.is-in_progress", "Test");
    let (shift, what) = browser.shift();
    assert!(shift == 0.0, "board: {shift} {what}");
    for number in ["3", "1", "4"] {
        site.call(&["reopen", number]);
    }
    site.call(&["release", "2"]);
    browser.open(&server.page(&format!("{plan}/items/1")));
    browser.click("details[data-act=skip] summary");
    browser.write("#skip-text", "half a reason");
    site.call(&["edit", "1", "--context", "something new"]);
    browser.sees(".item-detail", "something new");
    let typed = "return document.activeElement.id + ' ' + document.activeElement.value";
    assert_eq!(browser.script(typed), "skip-text half a reason");
    browser.open(&server.page("agents"));
    browser.sees("#you", "Nobody waits for you");
    site.call(&["add", "Announce"]);
    browser.sees(".rows", "0/7");
    let (shift, what) = browser.shift();
    assert!(shift == 0.0, "{shift} {what}");
    browser.is_calm();
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn whatever_others_do_to_an_item_nothing_on_its_page_moves() {
    let keys =
        "return [...document.querySelectorAll('.item-detail > *')].map((it) => it.dataset.key)";
    for kind in [Kind::DESK, Kind::PHONE] {
        let site = Site::new();
        site.call(&["add", "Build", "--verify", "true"]);
        site.call(&["add", "Test", "--after", "1"]);
        let (server, browser) = site.browse(kind);
        let page = server.page(&format!("plans/{}/items/1", site.plan()));
        browser.open(&page);
        let long = "One of many words about what there is to know before it is built. ".repeat(9);
        for (arguments, shown) in [
            (&["edit", "1", "--context", "something new"][..], "something new"),
            (&["edit", "1", "--context", &long], "many words"),
            (&["edit", "1", "--criteria", "it compiles"], "it compiles"),
            (&["edit", "1", "--title", &format!("Build: {}", &long[..120])], "Build: One"),
            (&["edit", "1", "--title", "Build"], "Build"),
            (&["start", "1"], "in progress"),
            (&["wait", "1", "the compiler"], "waiting for: the compiler"),
            (&["verify", "1"], "verified"),
            (&["done", "1", "--outcome", &long], "Outcome"),
            (&["add", "Publish", "--after", "1"], "Publish"),
            (&["reopen", "1"], "Start"),
            (&["edit", "1", "--context", ""], "Start"),
            (&["skip", "1", "--reason", "it is built elsewhere"], "built elsewhere"),
        ] {
            site.call(arguments);
            browser.sees(".item-detail", shown);
            let (shift, what) = browser.shift();
            assert!(shift == 0.0, "{arguments:?}: {shift} {what}");
        }
        // A form that is open stays as it is, even if it is no longer offered.
        site.call(&["reopen", "1"]);
        browser.click("details[data-act=skip] summary");
        browser.write("#skip-text", "half a reason");
        site.call(&["skip", "1", "--reason", "another reason"]);
        browser.sees(".item-detail", "another reason");
        let typed = "return document.activeElement.id + ' ' + document.activeElement.value";
        assert_eq!(browser.script(typed), "skip-text half a reason");
        // What the person does next puts all in order, as it is when the page is opened.
        browser.keys("s");
        until("all is in order", || (!browser.has(".kept, .item-detail .gone")).then_some(()));
        let tidied = browser.script(keys);
        browser.open(&page);
        assert_eq!(tidied, browser.script(keys));
        browser.is_calm();
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn whatever_a_session_or_an_agent_says_nothing_on_its_page_moves() {
    for kind in [Kind::DESK, Kind::PHONE] {
        let site = Site::new();
        look::talks(&site);
        look::claude_works(&site, "8232a5c5", "web-shop");
        let (server, browser) = site.browse(kind);
        let talk = look::talk(&site);
        browser.open(&server.page(&format!("sessions/{talk}")));
        browser.sees(".talk", "All old ones are in euro");
        let words = "There are three places. ".repeat(9);
        for _ in 0..3 {
            let script = Script::new().stops(format!("{words}The end."));
            look::speaks(&site, &["resume", &talk, "Where is it read?"], script);
        }
        until("all is said", || {
            let said = browser.script("return document.querySelector('.talk').innerText");
            (said.as_str()?.matches("The end.").count() == 3).then_some(())
        });
        let (shift, what) = browser.shift();
        assert!(shift == 0.0, "the session: {shift} {what}");

        browser.open(&server.page("agents/one?key=claude/8232a5c5/"));
        browser.sees("main", "I will backfill it first");
        for (said, titles) in [(&words[..], 9), ("Done.", 2)] {
            let todo = |at: usize| json!({"content": format!("Step {at} of {titles}"), "status": "pending", "activeForm": "Doing it"});
            let todos = json!((0..titles).map(todo).collect::<Vec<_>>());
            look::says(&site, "8232a5c5", "web-shop", "claude-opus-4-8", said, &todos);
            browser.sees("main", &said[..5]);
            browser.sees(".entries", &format!("Step 1 of {titles}"));
            let (shift, what) = browser.shift();
            assert!(shift == 0.0, "the agent: {shift} {what}");
        }
        browser.is_calm();
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn after_a_restart_of_the_server_nothing_is_missed_and_nothing_is_there_twice() {
    let site = Site::new();
    site.call(&["add", "Build"]);
    let (server, browser) = site.browse(Kind::PHONE);
    browser.open(&server.page(&format!("plans/{}?view=timeline", site.plan())));
    browser.sees(".timeline", "added 1");
    let port = server.port();
    server.end();
    until("the page notices", || browser.has("body.lost").then_some(()));
    browser.sees(".offline", "Not connected");
    for title in ["Test", "Publish"] {
        site.call(&["add", title]);
    }
    let _server = site.serve(port);
    browser.sees(".timeline", "added 3");
    until("the page is connected", || (!browser.has("body.lost")).then_some(()));
    site.call(&["add", "Announce"]);
    browser.sees(".timeline", "added 4");
    let shown = browser.script(
        "return [...document.querySelectorAll('.change .revision')].map((it) => it.textContent)",
    );
    assert_eq!(shown, json!(["1", "2", "3", "4"]));
    browser.is_calm();
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn of_several_tabs_one_listens_and_all_follow_also_when_that_one_is_closed() {
    let site = Site::new();
    site.call(&["add", "Build"]);
    let (server, browser) = site.browse(Kind::DESK);
    let page = server.page(&format!("plans/{}", site.plan()));
    browser.open(&page);
    let (first, second) = browser.new_tab(Kind::DESK);
    browser.open(&page);
    site.call(&["add", "Test"]);
    for tab in [&first, &second] {
        browser.switch(tab);
        browser.sees(".rows.items", "Test");
    }
    browser.switch(&first);
    browser.open("about:blank");
    browser.switch(&second);
    site.call(&["add", "Publish"]);
    browser.sees(".rows.items", "Publish");
    browser.is_calm();
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn an_agents_session_appears_while_it_works() {
    let site = Site::new();
    let (server, browser) = site.browse(Kind::DESK);
    browser.open(&server.page("agents"));
    browser.sees("main", "No agent has been seen yet");
    look::claude_works(&site, "8232a5c5", "web-shop");
    browser.sees(".rows.agents", "claude");
    browser.sees(".rows.agents", "Migrating the orders table");
    browser.sees(".rows.agents", "1/3");
    browser.click(".row.agent a.main");
    browser.sees("main", "Its list");
    browser.is_calm();
}
