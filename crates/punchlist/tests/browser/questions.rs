//! Questions in the browser: every answer reaches the program that asked.

use serde_json::{Value, json};

use crate::browser::Kind;
use crate::site::Site;
use crate::web_driver::until;

/// A plan file whose steps ask.
const RELEASE: &str = "# Release\n- [ ] Publish\n  run: ./publish.sh --prod\n  approve: yes\n- [ ] Announce\n  run: echo hello\n  approve: yes\n  after: Publish\n";

/// Starts the plan file at a terminal and waits until it asks.
fn asks(site: &Site) -> punchlist_testkit::person::Person {
    site.write("web-shop/release.md", RELEASE);
    site.write("web-shop/publish.sh", "#!/bin/sh\necho published \"$@\" > published\n");
    site.call_shell("chmod +x publish.sh");
    let mut run = site.person(&["run", "release.md"]);
    assert!(run.sees(|it| it.contains("publish.sh")), "{}", run.seen);
    run
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn a_question_is_answered_in_one_tab_and_the_other_says_by_whom() {
    let site = Site::new();
    let run = asks(&site);
    let (server, browser) = site.browse(Kind::DESK);
    browser.sees("#you", "publish.sh --prod");
    assert!(browser.title().starts_with("(1) "), "{}", browser.title());
    let (first, second) = browser.new_tab(Kind::DESK);
    browser.open(&server.page("questions"));
    browser.sees(".question", "./publish.sh --prod");
    browser.switch(&first);
    browser.click("#you .button");
    browser.sees(".question:target", "Publish wants to run");
    browser.switch(&second);
    browser.click("button[value=yes]");
    browser.sees("#told", "Publish: yes, once");
    browser.switch(&first);
    browser.sees(".question .result", "yes, once, by ann@atlas");
    // The next question is below it: nothing that was there has moved.
    browser.sees(".question.waiting", "echo hello");
    let (shift, what) = browser.shift();
    assert!(shift == 0.0, "{shift} {what}");
    assert!(site.path("web-shop/published").exists());
    // The keys mean the question that was there first, which was answered elsewhere.
    browser.keys("y");
    assert!(browser.has(".question.waiting"), "a key answered a question that was not meant");
    browser.keys("jjn");
    browser.sees("#told", "Announce: refused");
    browser.is_calm();
    drop(run);
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn always_shows_the_rule_and_its_file_before_it_is_answered() {
    let site = Site::new();
    site.asks();
    let (server, browser) = site.browse(Kind::DESK);
    browser.open(&server.page("questions"));
    browser.sees(".question", "make test");
    browser.sees(".question .diff .removed", "hello");
    browser.keys("a");
    browser.sees(".always .rule", "config.toml");
    browser.sees(".always .rule", "make");
    browser.sees(".always .rule", "web-shop");
    assert!(site.answers().iter().all(|it| it == "-"), "{:?}", site.answers());
    browser.click(".rule button[value='always 0']");
    browser.sees("#told", "always in this project, make");
    let answers = site.answers();
    assert!(answers[0].starts_with("Always") && answers[0].contains("ann@atlas"), "{answers:?}");
    // The other question is next; its arguments are edited.
    browser.keys("jje");
    browser.script(
        "document.querySelector('.question.waiting textarea').value = '{\"path\": \"src/b.rs\"}'",
    );
    browser.click(".question.waiting button[value=edit]");
    browser.sees("#told", "with other arguments");
    assert!(site.answers()[1].contains("src/b.rs"), "{:?}", site.answers());
    browser.is_calm();
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn on_a_small_screen_the_first_question_and_its_answers_are_seen_without_scrolling() {
    let site = Site::new();
    let _run = asks(&site);
    let (server, browser) = site.browse(Kind::PHONE);
    browser.open(&server.page("questions"));
    browser.sees(".question", "./publish.sh --prod");
    let boxes = browser.script(
        "return [...document.querySelectorAll('.question .code, .answers > button, .answers > details > summary')]
           .map((it) => { const b = it.getBoundingClientRect(); return [b.top, b.bottom, b.left, b.right, b.height, it.localName]; })",
    );
    let boxes = boxes.as_array().unwrap();
    assert!(boxes.len() >= 6, "{boxes:?}");
    for it in boxes {
        let number = |at: usize| it[at].as_f64().unwrap();
        assert!(number(0) >= 0.0 && number(1) <= 640.0, "outside of the screen: {it}");
        assert!(number(2) >= 0.0 && number(3) <= 360.0, "outside of the screen: {it}");
        assert!(it[5] == "pre" || number(4) >= 44.0, "too small: {it}");
    }
    assert_eq!(browser.script("return document.documentElement.scrollWidth"), json!(360));
    browser.click("details.why-not summary");
    browser.write("details.why-not input", "not today");
    browser.click("details.why-not button");
    browser.sees("#told", "Publish: refused: not today");
    let asked: Value = serde_json::from_str(&site.call(&["questions", "--all", "--json"])).unwrap();
    until("the answer is the person's", || asked.to_string().contains("ann@atlas").then_some(()));
    browser.is_calm();
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn a_question_that_arrives_on_the_empty_page_takes_the_place_of_what_says_that_there_is_none() {
    let site = Site::new();
    site.call(&["add", "Build"]);
    let (server, browser) = site.browse(Kind::DESK);
    browser.open(&server.page("questions"));
    browser.sees("main", "No question waits for you");
    site.asks();
    browser.sees(".head .sum", "2 wait for you");
    browser.sees(".question", "make test");
    assert!(!browser.has(".empty"), "the page contradicts itself");
    assert!(!browser.script("return document.body.innerText").to_string().contains("No question"));
    browser.is_calm();
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn a_long_diff_does_not_widen_a_small_screen_and_says_how_long_it_is() {
    let site = Site::new();
    let line =
        "+    let total = items.iter().map(|it| it.price * it.count).sum::<u64>() + shipping;\n";
    site.asks_to_edit(&format!("@@ -1 +1,30 @@\n-hello\n{}", line.repeat(30)));
    let (server, browser) = site.browse(Kind::PHONE);
    browser.open(&server.page("questions"));
    browser.sees(".question .diff", "shipping");
    browser.sees(".question .lines", "32 lines");
    assert_eq!(browser.script("return document.documentElement.scrollWidth"), json!(360));
    let wide = browser.script(
        "return Math.max(...[...document.querySelectorAll('.question')].map((it) => it.getBoundingClientRect().right))",
    );
    assert!(wide.as_f64().unwrap() <= 360.0, "{wide}");
    browser.is_calm();
}
