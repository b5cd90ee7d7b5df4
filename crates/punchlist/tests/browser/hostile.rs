//! Texts of agents are hostile: they stay texts.

use punchlist_testkit::naughty;

use crate::browser::Kind;
use crate::site::Site;

const SCRIPTS: [&str; 6] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\"><svg onload=alert(3)>",
    "javascript:alert(4)",
    "</textarea></title><script>alert(5)</script>",
    "{{constructor.constructor('alert(6)')()}} hx-on:click=alert(6)",
];

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn hostile_titles_run_no_script_and_break_no_rule_of_the_policy() {
    let site = Site::new();
    for text in SCRIPTS {
        site.call(&["add", text, "--context", text, "--criteria", text, "--owner", text]);
    }
    for it in
        naughty::naughty().into_iter().filter(|it| !it.text.contains('\0') && it.text.len() < 400)
    {
        // Some are refused, because they are blank.
        site.command(&["add", "--", &it.text]).output().unwrap();
    }
    let (server, browser) = site.browse(Kind::DESK);
    let plan = format!("plans/{}", site.plan());
    let mut pages =
        vec!["agents".to_owned(), "plans".to_owned(), "search?q=alert".to_owned(), plan.clone()];
    pages.extend(["board", "timeline", "graph"].map(|it| format!("{plan}?view={it}")));
    pages.extend((1..=SCRIPTS.len()).map(|it| format!("{plan}/items/{it}")));
    pages.push(format!("search?q={}", "%3Cscript%3Ealert(7)%3C%2Fscript%3E"));
    pages.push(format!("agents/one?key={}", "%22%3E%3Cscript%3Ealert(8)%3C/script%3E"));
    for page in pages {
        browser.open(&server.page(&page));
        browser.sees("main", "");
        // Everything that can be opened is opened.
        browser.script("document.querySelectorAll('details').forEach((it) => (it.open = true))");
        browser.is_calm();
        let foreign = browser.script(
            "return document.querySelectorAll('main script, main img, [onerror], [onload], [style]:not(article)').length",
        );
        assert_eq!(foreign, 0, "{page}");
        let text = browser.script("return document.body.innerText");
        let dangers = naughty::dangers(text.as_str().unwrap());
        assert!(dangers.is_empty(), "{page}: {dangers:?}");
    }
    browser.open(&server.page(&plan));
    browser.sees(".rows.items", "<script>alert(1)</script>");
    site.call(&["add", "<img src=x onerror=alert(9)> live"]);
    browser.sees(".rows.items", "<img src=x onerror=alert(9)> live");
    browser.is_calm();
}
