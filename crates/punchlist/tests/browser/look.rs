//! How pages look: on small and large screens, light and dark, for those who do not see them.

use std::path::PathBuf;

use punchlist_testkit::model::{Model, Script};
use serde_json::{Value, json};

use crate::browser::{Browser, Kind};
use crate::site::{Server, Site};
use crate::web_driver::until;

/// Kinds of screens, and the names of their pictures.
const SCREENS: [(&str, Kind); 4] = [
    ("desk", Kind::DESK),
    ("desk-dark", Kind { is_dark: true, ..Kind::DESK }),
    ("phone", Kind::PHONE),
    ("phone-dark", Kind { is_dark: true, ..Kind::PHONE }),
];

/// A session of Claude Code that works on the second of three items, as its file shows it.
pub(crate) fn claude_works(site: &Site, session: &str, place: &str) {
    let todos = json!([
        {"content": "Read the schema", "status": "completed", "activeForm": "Reading the schema"},
        {"content": "Migrate the orders table", "status": "in_progress", "activeForm": "Migrating the orders table"},
        {"content": "Backfill the totals", "status": "pending", "activeForm": "Backfilling the totals"},
    ]);
    let said = "The column is nullable in production. I will backfill it first.";
    session_file(site, session, place, "claude-opus-4-8", said, &todos);
}

/// Writes a session file of Claude Code whose turn is not over.
fn session_file(site: &Site, session: &str, place: &str, model: &str, said: &str, todos: &Value) {
    let asked = json!({"role": "user", "content": "Move the orders to the new schema"});
    session_line(site, session, place, 70, "user", &asked);
    says(site, session, place, model, said, todos);
}

/// Adds what Claude Code plans and says next to its session file.
pub(crate) fn says(
    site: &Site,
    session: &str,
    place: &str,
    model: &str,
    said: &str,
    todos: &Value,
) {
    let assistant = |content: Value| {
        json!({"id": format!("m-{}", content.to_string().len()), "type": "message", "role": "assistant", "model": model,
            "content": content, "usage": {"input_tokens": 34_000, "output_tokens": 900}})
    };
    let id = format!("t{}", todos.to_string().len());
    let plans =
        json!([{"type": "tool_use", "id": id, "name": "TodoWrite", "input": {"todos": todos}}]);
    let planned = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "Todos have been modified successfully."}]});
    session_line(site, session, place, 60, "assistant", &assistant(plans));
    session_line(site, session, place, 59, "user", &planned);
    let words = json!([{"type": "text", "text": said}]);
    session_line(site, session, place, 10, "assistant", &assistant(words));
}

/// Adds a line of so many seconds ago to a session file of Claude Code.
#[expect(clippy::disallowed_methods, reason = "the server that is tested reads the real clock")]
fn session_line(
    site: &Site,
    session: &str,
    place: &str,
    seconds: i64,
    kind: &str,
    message: &Value,
) {
    let directory = site.path(place);
    std::fs::create_dir_all(&directory).unwrap();
    let at = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds);
    let line = json!({"type": kind, "sessionId": session, "cwd": directory, "version": "2.1.197", "isSidechain": false,
        "timestamp": format!("{at:.3}"), "uuid": format!("{session}-{at}"), "message": message});
    site.append(&format!("home/.claude/projects/-{place}/{session}.jsonl"), &format!("{line}\n"));
}

/// The plan of the pictures.
fn release(site: &Site) {
    site.call(&["add", "Fix the failing tests", "--verify", "true"]);
    site.call(&[
        "add",
        "Update the documentation",
        "--active",
        "Updating the documentation",
        "--context",
        "The install guide is done; the API reference lacks the new routes.",
        "--criteria",
        "Every public route is described, with an example.",
    ]);
    site.call(&["add", "Install guide", "--under", "2"]);
    site.call(&["add", "API reference", "--under", "2"]);
    site.call(&["add", "Run the final build", "--after", "1,2"]);
    site.call(&["add", "Choose the licence"]);
    site.call(&["add", "Port to Windows"]);
    site.call(&["add", "Announce it", "--after", "5,6"]);
    site.call(&["verify", "1"]);
    site.call(&[
        "done",
        "1",
        "--outcome",
        "Three tests depended on the time zone. They now set it.",
    ]);
    site.call(&["done", "3"]);
    site.call(&["start", "4", "--as", "claude"]);
    site.call(&["wait", "6", "legal"]);
    site.call(&["skip", "7", "--reason", "out of scope"]);
}

/// A conversation with our own agent, which a scripted model answered.
pub(crate) fn talks(site: &Site) {
    let items = json!([{"title": "Add the column"}, {"title": "Fill it for old invoices"}]);
    let outcome = |id: &str, outcome: &str| json!({"todoId": id, "outcome": outcome});
    let script = Script::new()
        .calls("create_todo", json!({"items": items}))
        .calls("complete_todo", outcome("1", "invoice.currency has three letters"))
        .calls("complete_todo", outcome("2", "1,204 invoices are in euro"))
        .stops("The invoices have a currency now. All old ones are in euro.");
    let task = "Add a currency to the invoices";
    speaks(site, &["do", task, "--model", "anthropic/claude-sonnet-5"], script);
}

/// Calls the program with a model that follows a script.
pub(crate) fn speaks(site: &Site, arguments: &[&str], script: Script) {
    let model = Model::new(script).serve().unwrap();
    let mut command = site.command(arguments);
    command.env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "none");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// The id of the conversation.
pub(crate) fn talk(site: &Site) -> String {
    let talks: Value = serde_json::from_str(&site.call(&["sessions", "--json"])).unwrap();
    talks["sessions"][0]["id"].as_str().unwrap().to_owned()
}

/// A server with everything that pages can show, and the run that asks.
fn furnished(site: &Site) -> (Server, punchlist_testkit::person::Person) {
    release(site);
    talks(site);
    claude_works(site, "8232a5c5", "web-shop");
    let todos = json!([
        {"content": "List the routes", "status": "completed", "activeForm": "Listing the routes"},
        {"content": "Describe them", "status": "completed", "activeForm": "Describing them"},
        {"content": "Add examples", "status": "in_progress", "activeForm": "Adding examples"},
        {"content": "Check the links", "status": "pending", "activeForm": "Checking the links"},
    ]);
    session_file(
        site,
        "77c0",
        "docs",
        "claude-sonnet-5",
        "Two routes have no example yet.",
        &todos,
    );
    site.write(
        "web-shop/release.md",
        "# Release 1.2\n- [ ] Publish\n  run: ./publish.sh --prod\n  approve: yes\n",
    );
    let mut run = site.person(&["run", "release.md"]);
    assert!(run.sees(|it| it.contains("publish.sh")), "{}", run.seen);
    (site.serve(0), run)
}

/// The pages, by the name of their picture. The first plan is the project's own.
fn pages(site: &Site) -> Vec<(&'static str, String)> {
    let plan = format!("plans/{}", site.plan());
    vec![
        ("agents", "agents".to_owned()),
        ("plans", "plans".to_owned()),
        ("tree", plan.clone()),
        ("board", format!("{plan}?view=board")),
        ("timeline", format!("{plan}?view=timeline")),
        ("graph", format!("{plan}/items/5?view=graph")),
        ("item", format!("{plan}/items/2")),
        ("questions", "questions".to_owned()),
        ("agent", "agents/one?key=claude/8232a5c5/".to_owned()),
        ("sessions", "sessions".to_owned()),
        ("session", format!("sessions/{}", talk(site))),
        ("search", "search?q=release".to_owned()),
        ("health", "health".to_owned()),
        ("missing", "plans/nothing".to_owned()),
    ]
}

/// Where pictures are written, if they are wanted.
fn pictures() -> Option<PathBuf> {
    std::env::var_os("PUNCHLIST_PICTURES").map(PathBuf::from)
}

/// Takes a picture, if it is wanted. Paths of this machine are shown as those of a person.
fn picture(site: &Site, browser: &Browser, name: &str) {
    let Some(directory) = pictures() else { return };
    let (from, to) = (site.path(""), "/home/ann/");
    browser.script(&format!(
        "const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
         while (walker.nextNode()) walker.currentNode.nodeValue = walker.currentNode.nodeValue.replaceAll({:?}, {to:?});",
        from.display().to_string(),
    ));
    browser.picture(&directory.join(format!("{name}.png")));
}

/// What axe finds in the current page that is serious or critical.
fn serious(browser: &Browser, axe: &str) -> Vec<String> {
    browser.script(axe);
    let found = browser.script_to_end(
        "const end = arguments[arguments.length - 1];
         axe.run(document, { resultTypes: ['violations'] }).then((it) => end(it.violations.map((it) =>
           ({ id: it.id, impact: it.impact, nodes: it.nodes.map((it) => it.html.slice(0, 200) + ' ' + it.failureSummary) }))), (why) => end([{ id: String(why), impact: 'critical' }]));",
    );
    let is_serious = |it: &&Value| matches!(it["impact"].as_str(), Some("serious" | "critical"));
    found.as_array().unwrap().iter().filter(is_serious).map(ToString::to_string).collect()
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn axe_finds_nothing_serious_on_any_page_on_any_screen_and_no_page_scrolls_sideways() {
    let axe = std::env::var("PUNCHLIST_TEST_AXE").expect("cargo xtask test browser sets it");
    let axe = std::fs::read_to_string(axe).unwrap();
    let site = Site::new();
    let (server, _run) = furnished(&site);
    let mut problems = Vec::new();
    for (screen, kind) in SCREENS {
        let browser = Browser::start(kind);
        let code = site.code(&server);
        browser.open(&code);
        browser.sees("h1", "Agents");
        for (name, path) in pages(&site) {
            browser.open(&server.page(&path));
            browser.sees("h1", "");
            picture(&site, &browser, &format!("{name}-{screen}"));
            let found = serious(&browser, &axe);
            problems.extend(found.into_iter().map(|it| format!("{screen} {name}: {it}")));
            let wide = browser.script("return document.documentElement.scrollWidth - innerWidth");
            if wide.as_i64() != Some(0) {
                problems.push(format!("{screen} {name}: {wide} pixels too wide"));
            }
            browser.is_calm();
        }
        browser.open(&server.page("agents"));
        if !browser.script("return innerWidth < 560").as_bool().unwrap() {
            browser.click("#keys-button");
            browser.sees("dialog[open]", "these keys");
            let found = serious(&browser, &axe);
            problems.extend(found.into_iter().map(|it| format!("{screen} keys: {it}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn a_page_without_content_says_what_to_do_first_on_any_screen() {
    let site = Site::new();
    let server = site.serve(0);
    for (screen, kind) in SCREENS {
        let browser = Browser::start(kind);
        browser.open(&site.code(&server));
        browser.sees("h1", "Agents");
        for (page, words) in [
            ("agents", "punchlist install claude"),
            ("plans", "punchlist add \"First item\""),
            ("questions", "it asks here"),
            ("sessions", "punchlist do \"Fix the failing test\""),
            ("search", "Finds plans by title"),
        ] {
            browser.open(&server.page(page));
            browser.sees("main", words);
            picture(&site, &browser, &format!("empty-{page}-{screen}"));
            let wide = browser.script("return document.documentElement.scrollWidth - innerWidth");
            assert_eq!(wide, json!(0), "{screen} {page}");
            browser.is_calm();
        }
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn no_two_labels_overlap_in_a_graph_of_200_items() {
    let site = Site::new();
    for n in 1..=200_u32 {
        let title = format!("Step {n} of the migration of the order service to the new cluster");
        let after = [n / 3, n * 7 / 9].map(|it| it.max(1).to_string()).join(",");
        // The last ones depend on nothing.
        let is_after = (2..=170).contains(&n);
        let arguments = ["add", title.as_str(), "--after", after.as_str()];
        site.call(if is_after { &arguments } else { &arguments[..2] });
    }
    let plan = site.plan();
    let (server, browser) = site.browse(Kind::DESK);
    browser.open(&server.page(&format!("plans/{plan}?view=graph")));
    browser.sees(".view p", "200 items");
    picture(&site, &browser, "graph-200-desk");
    let overlaps = browser.script(
        "const boxes = [...document.querySelectorAll('.node .title, .node .number')].map((it) => [it, it.getBoundingClientRect()]);
         const found = [];
         boxes.forEach(([a, one], at) => boxes.slice(at + 1).forEach(([b, other]) => {
           if (one.left < other.right - 0.5 && other.left < one.right - 0.5 && one.top < other.bottom - 0.5 && other.top < one.bottom - 0.5)
             found.push(a.textContent + ' / ' + b.textContent);
         }));
         return [boxes.length, found]",
    );
    assert_eq!(overlaps, json!([400, []]));
    let first = browser
        .script("return document.querySelector('.node').getBoundingClientRect().top < innerHeight");
    assert_eq!(first, json!(true), "the graph begins where it is read first");
    // An item that is opened is in sight, and the whole drawing can be seen at once.
    browser.open(&server.page(&format!("plans/{plan}/items/170?view=graph")));
    let is_in_sight = "const [node, graph] = ['.node.current', '.graph']
           .map((it) => document.querySelector(it).getBoundingClientRect());
         return node.left >= graph.left && node.right <= graph.right && node.top >= graph.top && node.bottom <= graph.bottom";
    until("the open item is in sight", || {
        (browser.script(is_in_sight) == json!(true)).then_some(())
    });
    browser.click("label:has(#fit)");
    let fits = "const graph = document.querySelector('.graph'); return graph.scrollWidth <= graph.clientWidth";
    assert_eq!(browser.script(fits), json!(true));
    browser.reload();
    until("the choice stays", || (browser.script(fits) == json!(true)).then_some(()));
    browser.is_calm();
}

/// What can be pressed on the current page and is smaller than a finger.
const SMALL: &str = "
    return [...document.querySelectorAll('a, button, summary, input:not([type=hidden]), textarea')]
      .filter((it) => it.checkVisibility() && !it.closest('.hidden, .skip'))
      .map((it) => {
        // A row is pressed anywhere, a box by its label.
        const part = it.matches('a.main') ? it.closest('.row, .card') : it.closest('label.check') ?? it;
        return [part.getBoundingClientRect(), it];
      })
      .filter(([box]) => box.width < 44 || box.height < 44)
      .map(([box, it]) => Math.round(box.width) + 'x' + Math.round(box.height) + ' ' + it.outerHTML.slice(0, 80))";

#[test]
#[ignore = "needs Chromium: cargo xtask test browser"]
fn on_a_small_screen_everything_that_is_pressed_is_as_large_as_a_finger() {
    let site = Site::new();
    let (server, _run) = furnished(&site);
    for n in 9..=12 {
        site.call(&["add", &format!("Further {n}")]);
    }
    let browser = Browser::start(Kind::PHONE);
    server.let_in(&browser, Kind::PHONE);
    let plan = format!("plans/{}", site.plan());
    let more = [("item 10", format!("{plan}/items/10")), ("item 5", format!("{plan}/items/5"))];
    let mut problems = Vec::new();
    for (name, path) in pages(&site).into_iter().chain(more) {
        browser.open(&server.page(&path));
        browser.sees("h1", "");
        let small = browser.script(SMALL);
        problems.extend(small.as_array().unwrap().iter().map(|it| format!("{name}: {it}")));
        let broken = browser.script(
            "return [...document.querySelectorAll('.number, nav a, .search button')].filter((it) => it.checkVisibility())
               .filter((it) => { const range = document.createRange(); range.selectNodeContents(it.firstChild);
                 return new Set([...range.getClientRects()].map((it) => Math.round(it.bottom / 12))).size > 1; })
               .map((it) => it.outerHTML.slice(0, 80))",
        );
        problems.extend(broken.as_array().unwrap().iter().map(|it| format!("{name} breaks: {it}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
