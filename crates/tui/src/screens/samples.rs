//! What the screens of the document show.

use punchlist_formats::text::{Colour, Glyphs, Line, Style};
use punchlist_formats::view::questions::{self, Below};
use punchlist_formats::view::run::{Run, State, Step};
use punchlist_formats::view::watch::{self, Look};
use punchlist_formats::view::{self, Options};
use punchlist_model::agents::{self, Entry, Listed, NoList, Row, Spent};
use punchlist_model::call::{Asked, Offer, Printed};
use punchlist_model::{
    Attempt, Claim, Holder, Item, Number, Plan, Position, Progress, Revision, Status, Timestamp,
};

use super::Screen;
use crate::prompt::Prompt;
use crate::prompt::tests::asked;
use crate::text::{diff, markdown};

/// Some time, plus this many seconds.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn options(screen: &Screen) -> Options {
    Options { width: screen.columns, ..Options::plain(at(600)) }
}

/// The plan of the list: one item of each kind.
fn plan() -> Plan {
    let id = |n: u32| format!("01a3185c-5000-7000-8000-0000000{n:05}");
    let mut plan = Plan::new(id(0).parse().unwrap(), "/home/ann/web-shop", at(0));
    plan.title = "Release 1.2".to_owned();
    for (status, title) in [
        (Status::Completed, "Fix the failing tests"),
        (Status::InProgress, "Update documentation"),
        (Status::Pending, "Run the final build"),
        (Status::Pending, "Choose the licence"),
        (Status::Cancelled, "Port to Windows"),
        (Status::Completed, "Install guide"),
        (Status::Pending, "API reference"),
    ] {
        let number = plan.next_number;
        let mut item = Item::new(id(number.0).parse().unwrap(), number, title, at(0));
        item.status = status;
        item.position = Some(Position(number.0));
        plan.placed += 1;
        plan.open += u32::from(item.is_open());
        plan.next_number = Number(number.0 + 1);
        plan.items.insert(number, item);
    }
    plan.revision = Revision(7);
    let mut with = |number: u32, change: fn(&mut Item)| {
        change(plan.items.get_mut(&Number(number)).unwrap());
    };
    with(1, |it| (it.started_at, it.completed_at) = (Some(at(100)), Some(at(225))));
    with(2, |it| {
        it.active_form = Some("Updating documentation".to_owned());
        it.started_at = Some(at(530));
        it.attempt = Attempt(1);
        let holder = Holder::named("claude");
        it.claim = Some(Claim { holder, attempt: Attempt(1), expires_at: at(1430) });
    });
    with(3, |it| it.depends_on = [Number(2)].into());
    with(4, |it| it.waiting_on = Some("legal".to_owned()));
    with(5, |it| it.outcome = Some("out of scope".to_owned()));
    with(6, |it| {
        it.parent = Some(Number(2));
        (it.started_at, it.completed_at) = (Some(at(230)), Some(at(500)));
    });
    with(7, |it| it.parent = Some(Number(2)));
    plan
}

pub(super) fn list(screen: &Screen) -> String {
    screen.ansi(&view::list::list(&plan(), &options(screen)))
}

pub(super) fn run(screen: &Screen) -> String {
    let step = |title: &str, worker: &str, state, ms, note: &str| Step {
        title: title.to_owned(),
        depth: 0,
        worker: worker.to_owned(),
        state,
        ms,
        note: note.to_owned(),
        printed: Printed::default(),
    };
    let reading = "Reading CHANGELOG.md (2/4)";
    let run = Run {
        title: "Release 1.2".to_owned(),
        how: vec!["2 jobs".to_owned(), "plan 7f3a".to_owned()],
        steps: vec![
            step("Build", "", State::Done { sure: true }, Some(41_230), "checked"),
            step("Run the tests", "", State::Running, Some(12_900), "test parser::deep ... ok"),
            step("Write the notes", "claude", State::Running, Some(9_300), reading),
            step("Check the licence", "", State::Failed, Some(1_200), "exit 1"),
            step("Publish", "", State::Open, None, "after Run the tests · asks"),
        ],
        progress: Progress::of(1, 5, true),
        ms: 53_000,
        hint: "Ctrl-C stops; run again to go on".to_owned(),
    };
    screen.ansi(&view::run::run(&run, None, &options(screen)))
}

/// An entry of an agent's list that has its status for so many seconds.
fn entry(status: Status, label: &str, seconds: i64) -> Entry {
    let since = at(600 - seconds).as_millisecond();
    Entry { label: label.to_owned(), status, waiting_on: None, since, depth: 0 }
}

fn listed(done: u32, entries: Vec<Entry>) -> Option<Listed> {
    let total = u32::try_from(entries.len()).unwrap();
    Some(Listed { done, total, open: total - done, entries, unconfirmed: false })
}

/// An agent that was last heard so many seconds ago.
fn row(
    (agent, place, model): (&str, &str, &str),
    state: agents::State,
    seconds: i64,
    list: Option<Listed>,
) -> Row {
    Row {
        key: format!("{agent}/{place}/"),
        agent: agent.to_owned(),
        sub_agent: None,
        place: place.to_owned(),
        model: model.to_owned(),
        state,
        list,
        no_list: NoList::Never,
        at: at(600 - seconds).as_millisecond(),
        began: at(600 - seconds).as_millisecond(),
        project: String::new(),
        said: String::new(),
        spent: Spent::default(),
        question: None,
        turns: 0,
    }
}

/// The list of the agent that migrates a shop.
fn shop() -> Vec<Entry> {
    vec![
        entry(Status::Completed, "Read the schema", 300),
        entry(Status::Completed, "Write the migration", 200),
        entry(Status::InProgress, "Migrating the orders table", 72),
        entry(Status::Pending, "Backfill", 300),
    ]
}

pub(super) fn pane(screen: &Screen) -> String {
    let working = agents::State::Working;
    let shop = row(("claude", "web-shop", "opus-4.8"), working, 360, listed(2, shop()));
    let said = "The new columns are there. I copy the rows in batches of 500.".to_owned();
    let height = Some(usize::from(screen.rows));
    screen.ansi(&view::pane::pane(Some(&Row { said, ..shop }), height, &options(screen)))
}

pub(super) fn watch(screen: &Screen) -> String {
    let api = vec![
        entry(Status::Completed, "Read the routes", 90),
        entry(Status::InProgress, "Writing the client", 31),
        entry(Status::Pending, "Publish it", 90),
    ];
    let done =
        vec![entry(Status::Completed, "A page", 890), entry(Status::Completed, "A form", 890)];
    let left =
        vec![entry(Status::InProgress, "Trying it", 3900), entry(Status::Pending, "Merge", 3900)];
    let asks = agents::State::Asks("rm -rf build/".to_owned());
    let rows = [
        row(("gemini", "docs", "3.1-pro"), asks, 90, None),
        row(("claude", "web-shop", "opus-4.8"), agents::State::Working, 360, listed(2, shop())),
        row(("codex", "api", "gpt-6.1"), agents::State::Working, 120, listed(1, api)),
        row(("claude", "landing", "sonnet-5"), agents::State::Idle, 840, listed(2, done)),
        row(("claude", "old-branch", "sonnet-5"), agents::State::Died, 3900, listed(0, left)),
    ];
    let look = Look { keys: true, ..Look::default() };
    screen.ansi(&watch::watch(&rows, look, &options(screen)))
}

/// A question as a person sees it, with its keys.
fn asking(screen: &Screen, asked: Asked) -> String {
    let mut prompt = Prompt::new("~/.config/punchlist/config.toml".to_owned(), "shop".to_owned());
    prompt.ask(asked);
    let options = options(screen);
    let (asked, count, below): (&Asked, usize, Below) = prompt.shown(&options).unwrap();
    screen.ansi(&questions::asking(asked, count, &below, 30, &options))
}

pub(super) fn question(screen: &Screen) -> String {
    let touches = vec!["writes dist/**".to_owned()];
    asking(screen, Asked { title: "Publish".to_owned(), touches, ..asked(4, "shell") })
}

const EDIT: &str = "\
--- src/greeting.rs
+++ src/greeting.rs
@@ -11,4 +11,4 @@
 /// Greets somebody.
 pub fn greet(name: &str) -> String {
-    format!(\"hello {name}\")
+    format!(\"hello, {}!\", name.trim())
 }
";

pub(super) fn edit(screen: &Screen) -> String {
    let question = Asked {
        title: "Fix the greeting".to_owned(),
        what: "edit src/greeting.rs".to_owned(),
        command: None,
        diff: Some(EDIT.to_owned()),
        offers: vec![Offer::Once, Offer::AlwaysTool],
        ..asked(2, "edit")
    };
    asking(screen, question)
}

const BEFORE: &str = "\
# Builds everything.
all: build test

build:
\tcargo build

test:
\tcargo test

clean:
\trm -r target
";

pub(super) fn diff(screen: &Screen) -> String {
    let after = BEFORE
        .replace("cargo build", "cargo build --locked")
        .replace("cargo test", "cargo nextest run --locked\u{200b}")
        .replace("clean:\n", "clean:\r\n");
    screen.ansi(&diff::lines(BEFORE, &after, "Makefile", screen.columns, Glyphs::Unicode))
}

const ANSWER: &str = "\
## What I found

The test `parser::deep` fails because the parser **recurses**, see
[the issue](https://example.org/issues/42). There are *two* ways out:

1. raise the limit of the stack
2. keep the open brackets in a list
   - no limit is left
   - it is faster, too

> A limit that nobody chose is found by a user.

- [x] reproduce it
- [ ] fix it

```rust
let mut open = Vec::new();
```

| way | lines | risk |
|-----|------:|------|
| raise the limit | 1 | moves the limit |
| keep a list | 34 | none that I see |
";

pub(super) fn markdown(screen: &Screen) -> String {
    screen.ansi(&markdown::lines(ANSWER, screen.columns, Glyphs::Unicode))
}

/// Every style of a theme: colours, Markdown and a diff.
pub(super) fn theme(screen: &Screen) -> String {
    let mut colours = Line::of(screen.theme, Style::Bold);
    for (name, colour) in [
        ("red", Colour::Red),
        ("green", Colour::Green),
        ("yellow", Colour::Yellow),
        ("blue", Colour::Blue),
        ("magenta", Colour::Magenta),
        ("cyan", Colour::Cyan),
        ("grey", Colour::Grey),
    ] {
        colours.push(" ", Style::Plain).push(name, Style::In(colour));
    }
    let mut lines = vec![colours, Line::new()];
    let text = "All *tests* pass, **except** `parser::deep`, see <https://example.org>.";
    lines.extend(markdown::lines(text, screen.columns, Glyphs::Unicode));
    lines.push(Line::new());
    lines.extend(diff::unified(EDIT, screen.columns, Glyphs::Unicode));
    lines.push(Line::new());
    let done = Options { width: screen.columns, ..options(screen) };
    let list = view::list::list(&plan(), &done);
    lines.extend(list.into_iter().take(4));
    screen.ansi(&lines)
}
