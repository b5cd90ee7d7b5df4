//! Pages of a fixed fixture: what they contain, and that hostile texts stay texts.
//!
//! If `PUNCHLIST_PAGES` names a directory, the pages are written there, to look at.

use std::fs;
use std::path::Path;

use maud::Markup;
use punchlist_model::agents::{Entry as ListEntry, Listed, Row, Spent, State};
use punchlist_model::call::{Answer, Answered, Asked, Offer, Permit, Question, Standing};
use punchlist_model::store::Entry;
use punchlist_model::{
    Actor, Check, Event, Evidence, Item, Level, Number, Origin, Plan, Position, Revision, Run,
    Status, Timestamp,
};
use punchlist_testkit::naughty;

use super::agents::{self, AgentsPage};
use super::item::ItemParts;
use super::plan::{self, PlanPage, PlanView};
use super::questions::{self, QuestionsPage};
use super::shell::{Section, Shell, Told};

/// Noon, plus this many seconds.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn id(n: u32) -> String {
    format!("01a3185c-5000-7000-8000-0000000{n:05}")
}

fn shell(section: Section) -> Shell {
    Shell {
        base: "/s".to_owned(),
        events: "/s/events".to_owned(),
        section,
        address: format!("/s/{}", section.path()),
        waiting: 1,
        person: "ann@atlas".to_owned(),
        now: at(600),
        told: None,
    }
}

fn plan_of<T: AsRef<str>>(entries: &[(Status, T)]) -> Plan {
    let mut plan = Plan::new(id(0).parse().unwrap(), "/home/ann/web-shop", at(0));
    plan.title = "Release 1.2".to_owned();
    for (status, title) in entries {
        let number = plan.next_number;
        let mut item = Item::new(id(number.0).parse().unwrap(), number, title.as_ref(), at(0));
        item.status = *status;
        item.position = Some(Position(number.0));
        item.started_at = (*status != Status::Pending).then(|| at(60));
        item.completed_at = (*status == Status::Completed).then(|| at(240));
        plan.placed += 1;
        plan.open += u32::from(item.is_open());
        plan.next_number = Number(number.0 + 1);
        plan.items.insert(number, item);
    }
    plan.revision = Revision(u64::from(plan.placed));
    plan
}

fn with(plan: &mut Plan, number: u32, change: impl FnOnce(&mut Item)) {
    change(plan.items.get_mut(&Number(number)).unwrap());
}

/// The plan of the screens.
fn release() -> Plan {
    let mut plan = plan_of(&[
        (Status::Completed, "Fix the failing tests"),
        (Status::InProgress, "Update documentation"),
        (Status::Pending, "Run the final build"),
        (Status::Pending, "Choose the licence"),
        (Status::Cancelled, "Port to Windows"),
        (Status::Completed, "Install guide"),
        (Status::Pending, "API reference"),
    ]);
    with(&mut plan, 1, |it| {
        it.check = Some(Check {
            command: "cargo test".to_owned(),
            covers: vec!["src/**".to_owned()],
            origin: Origin::Person,
        });
        it.evidence = vec![Evidence {
            level: Level::Checked,
            at: at(250),
            by: "engine".to_owned(),
            run: None,
        }];
        it.outcome = Some("Three tests depended on the time zone.\nThey now set it.".to_owned());
    });
    with(&mut plan, 2, |it| {
        it.active_form = Some("Updating documentation".to_owned());
        it.owner = Some("claude".to_owned());
        it.context =
            "The install guide is done; the API reference lacks the new routes.".to_owned();
        it.completion_criteria = "Every public route is described, with an example.".to_owned();
    });
    with(&mut plan, 3, |it| {
        it.depends_on = [Number(1), Number(2)].into();
        it.run = Some(Run { command: "cargo build --release".to_owned(), origin: Origin::Person });
    });
    with(&mut plan, 4, |it| it.waiting_on = Some("legal".to_owned()));
    with(&mut plan, 5, |it| it.outcome = Some("out of scope".to_owned()));
    for number in [6, 7] {
        with(&mut plan, number, |it| it.parent = Some(Number(2)));
    }
    plan
}

fn journal(plan: &Plan) -> Vec<Entry> {
    let added = |(at_second, item): (i64, &Item)| Entry {
        plan: plan.id,
        revision: Revision(u64::from(item.number.0)),
        at: at(at_second * 20),
        actor: if item.number.0 % 3 == 0 {
            Actor::person("ann@atlas")
        } else {
            Actor::agent("claude")
        },
        kind: punchlist_model::store::Kind::Add,
        undoes: None,
        events: vec![Event::Added { item: Box::new(item.clone()) }],
    };
    (0..).zip(plan.items.values()).map(added).collect()
}

fn plan_page(plan: Plan, view: PlanView, item: Option<u32>) -> Markup {
    let journal = journal(&plan);
    let item = item.map(|number| {
        let own = journal.iter().filter(|it| it.events[0].number() == Some(Number(number)));
        (
            Number(number),
            ItemParts {
                history: own.cloned().collect(),
                output: Some("Compiling shop v1.2.0\nFinished in 41.2 s".to_owned()),
            },
        )
    });
    let page = PlanPage { plan, key: None, view, journal, item, stale: [].into() };
    plan::plan(&shell(Section::Plans), &page)
}

/// A plan of 200 items with dependencies.
fn large() -> Plan {
    let titles: Vec<(Status, String)> = (1..=200)
        .map(|n| {
            let status = match n {
                0..60 => Status::Completed,
                60..66 => Status::InProgress,
                _ => Status::Pending,
            };
            (
                status,
                format!(
                    "Step {n} of the migration of the order service to the new database cluster"
                ),
            )
        })
        .collect();
    let mut plan = plan_of(&titles);
    for n in 2..=170u32 {
        with(&mut plan, n, |it| {
            it.depends_on = [Number((n / 3).max(1)), Number((n * 7 / 9).max(1))].into();
        });
    }
    plan
}

fn rows() -> Vec<Row> {
    let entry = |label: &str, status| ListEntry {
        label: label.to_owned(),
        status,
        waiting_on: None,
        since: at(500).as_millisecond(),
        depth: 0,
    };
    let list = |done, total, label: &str| Listed {
        done,
        total,
        open: total - done,
        entries: vec![
            entry("Read the schema", Status::Completed),
            entry(label, Status::InProgress),
        ],
        unconfirmed: false,
    };
    let row = |agent: &str, place: &str, model: &str, state: State| Row {
        key: format!("{agent}/{place}/"),
        agent: agent.to_owned(),
        place: place.to_owned(),
        project: format!("/home/ann/{place}"),
        model: model.to_owned(),
        state,
        at: at(240).as_millisecond(),
        began: at(0).as_millisecond(),
        ..Row::default()
    };
    vec![
        Row {
            question: Some(id(9).parse().unwrap()),
            spent: Spent { context: Some(48_000), window: Some(1_000_000), cost_micros: None },
            list: Some(list(2, 4, "Cleaning the build")),
            ..row("gemini", "docs", "3.1-pro", State::Asks("rm -rf build/".to_owned()))
        },
        Row {
            list: Some(list(4, 7, "Migrating the orders table")),
            said: "The column is nullable in production. I will backfill it first.".to_owned(),
            spent: Spent {
                context: Some(34_000),
                window: Some(200_000),
                cost_micros: Some(1_420_000),
            },
            ..row("claude", "web-shop", "opus-4.8", State::Working)
        },
        Row {
            list: Some(list(1, 3, "Writing the handler")),
            said: "Two routes are left.".to_owned(),
            spent: Spent {
                context: Some(91_000),
                window: Some(400_000),
                cost_micros: Some(380_000),
            },
            ..row("codex", "api", "gpt-6.1", State::Working)
        },
        Row {
            list: Some(Listed { done: 5, total: 5, ..Listed::default() }),
            said: "All five are done; the landing page builds.".to_owned(),
            ..row("claude", "landing", "sonnet-5", State::Idle)
        },
        Row {
            list: Some(list(3, 5, "Rebasing")),
            ..row("claude", "old-branch", "sonnet-5", State::Died)
        },
    ]
}

fn question(n: u32, standing: Standing) -> Question {
    let asked = Asked {
        id: id(n).parse().unwrap(),
        call: 1,
        item: Some(Number(4)),
        title: "Publish".to_owned(),
        place: vec!["item 4 of Release 1.2".to_owned(), "release.md:12".to_owned()],
        context: String::new(),
        tool: "shell".to_owned(),
        server: None,
        what: "run".to_owned(),
        command: Some("./publish.sh --prod".to_owned()),
        diff: None,
        printed: Vec::new(),
        touches: vec!["writes dist/**".to_owned()],
        why: "no rule allows it".to_owned(),
        arguments: serde_json::json!({"command": "./publish.sh --prod"}),
        offers: vec![
            Offer::Once,
            Offer::Always(vec![Permit {
                tool: Some("shell".to_owned()),
                command: Some(vec!["./publish.sh".to_owned()]),
                ..Permit::default()
            }]),
            Offer::Modify,
        ],
        at: at(480),
    };
    Question {
        run: id(50).parse().unwrap(),
        project: "/home/ann/web-shop".to_owned(),
        plan: Some(id(0).parse().unwrap()),
        asked,
        standing,
    }
}

fn questions_page() -> QuestionsPage {
    let mut edit = question(12, Standing::Waiting);
    edit.asked.title = "claude".to_owned();
    edit.asked.what = "edit src/lib.rs".to_owned();
    edit.asked.command = None;
    edit.asked.diff = Some("--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,4 +1,4 @@\n pub fn total(items: &[Item]) -> u64 {\n-    items.iter().map(|it| it.price).sum()\n+    items.iter().map(|it| it.price * it.count).sum()\n }\n".to_owned());
    edit.asked.tool = "edit".to_owned();
    let by = Answered { answer: Answer::Once, by: Actor::person("ben@atlas"), at: at(590) };
    QuestionsPage {
        questions: vec![
            question(9, Standing::Waiting),
            edit,
            question(13, Standing::Answered(by.clone())),
        ],
        answered: vec![question(14, Standing::Answered(by))],
        rules_file: "/home/ann/.config/punchlist/config.toml".to_owned(),
    }
}

fn all() -> Vec<(&'static str, Markup)> {
    let told = Shell {
        told: Some(Told::Done("completed 1 \"Fix the failing tests\"".to_owned())),
        ..shell(Section::Plans)
    };
    let empty = PlanPage {
        plan: plan_of::<&str>(&[]),
        key: None,
        view: PlanView::Tree,
        journal: Vec::new(),
        item: None,
        stale: [].into(),
    };
    vec![
        (
            "agents",
            agents::agents(
                &shell(Section::Agents),
                &AgentsPage { rows: rows(), ..AgentsPage::default() },
            ),
        ),
        ("agents-empty", agents::agents(&shell(Section::Agents), &AgentsPage::default())),
        ("agent", agents::agent(&shell(Section::Agents), Some(&rows()[1]), None)),
        ("tree", plan_page(release(), PlanView::Tree, None)),
        ("item", plan_page(release(), PlanView::Tree, Some(2))),
        ("item-done", plan_page(release(), PlanView::Board, Some(1))),
        ("board", plan_page(release(), PlanView::Board, None)),
        ("timeline", plan_page(release(), PlanView::Timeline, None)),
        ("graph", plan_page(release(), PlanView::Graph, Some(3))),
        ("graph-200", plan_page(large(), PlanView::Graph, None)),
        ("plan-empty", plan::plan(&told, &empty)),
        ("questions", questions::questions(&shell(Section::Questions), &questions_page())),
        (
            "questions-empty",
            questions::questions(&shell(Section::Questions), &QuestionsPage::default()),
        ),
        (
            "message",
            super::message::message(
                "/s",
                "Not found",
                "there is no such plan",
                Some("it may have been deleted."),
            ),
        ),
    ]
}

#[track_caller]
fn check(page: &str, contains: &[&str]) {
    let all = all();
    let (_, markup) = all.iter().find(|it| it.0 == page).unwrap();
    for text in contains {
        assert!(markup.0.contains(text), "{page} has no {text:?}: {}", markup.0);
    }
}

#[test]
fn pages_show_what_they_are_for() {
    check(
        "agents",
        &[
            "1 waits for you · 2 working · 1 idle · 1 died",
            "Migrating the orders table",
            "I will backfill it first.",
            "17% ctx  1.42",
            "4 of 7 done",
            "/s/questions#q-",
        ],
    );
    check("agents-empty", &["Nobody waits for you.", "punchlist install claude"]);
    check(
        "tree",
        &[
            "Updating documentation",
            "waiting for: legal",
            "after 2",
            ">checked<",
            "40%",
            "2027-01-15 08:00:00 UTC",
        ],
    );
    check(
        "item",
        &[
            "Every public route is described",
            "Finished in 41.2 s",
            "name=\"act\" value=\"done\"",
            "3 <bdi>Run the final build</bdi>",
        ],
    );
    check("plan-empty", &["The plan has no items yet", "completed 1"]);
    check(
        "questions",
        &[
            "./publish.sh --prod",
            "writes dist/** · no rule allows it",
            "value=\"always 0\"",
            "/home/ann/.config/punchlist/config.toml",
            "class=\"removed\"",
            "by <bdi>ben@atlas</bdi>",
        ],
    );
    // A program with a relative path is another one in each project.
    check("questions", &["this project"]);
    assert!(
        !questions::questions(&shell(Section::Questions), &questions_page())
            .0
            .contains("everywhere 0")
    );
    check("questions-empty", &["No question waits for you"]);
    check("graph", &["<foreignObject", "in-chain"]);
}

#[test]
fn who_waits_for_the_person_comes_first() {
    let mut rows = rows();
    rows.reverse();
    let page =
        agents::agents(&shell(Section::Agents), &AgentsPage { rows, ..AgentsPage::default() }).0;
    let place = |text: &str| page.find(text).unwrap();
    assert!(place("data-key=\"gemini/docs/\"") < place("data-key=\"claude/web-shop/\""));
    assert!(place("Answer") < place("data-key=\"gemini/docs/\""));
}

#[test]
fn no_page_has_scripts_or_styles_of_its_own() {
    for (name, page) in all() {
        let text = page.0;
        for forbidden in
            [" style=", "<style", "<script>", "javascript:", " onclick=", "hx-on", "hx-vals=\"js"]
        {
            assert!(!text.contains(forbidden), "{name} has {forbidden:?}");
        }
        assert!(
            !text.replace("http://www.w3.org", "").contains("http"),
            "{name} names another host"
        );
    }
}

/// Replaces every text of the fixtures.
fn hostile(text: &str) -> Vec<Markup> {
    let mut plan = release();
    plan.title = text.to_owned();
    plan.project = text.to_owned();
    for item in plan.items.values_mut() {
        item.title = text.to_owned();
        item.active_form = Some(text.to_owned());
        item.context = text.to_owned();
        item.completion_criteria = text.to_owned();
        item.outcome = Some(text.to_owned());
        item.owner = Some(text.to_owned());
    }
    let mut page = questions_page();
    for question in &mut page.questions {
        let asked = &mut question.asked;
        for field in
            [&mut asked.title, &mut asked.what, &mut asked.why, &mut asked.context, &mut asked.tool]
        {
            *field = text.to_owned();
        }
        asked.place = vec![text.to_owned()];
        asked.command = asked.command.take().map(|_| text.to_owned());
        asked.diff = asked.diff.take().map(|_| format!("+{text}"));
        asked.arguments = serde_json::json!({ text: text });
    }
    let mut rows = rows();
    for row in &mut rows {
        for field in
            [&mut row.agent, &mut row.place, &mut row.model, &mut row.said, &mut row.project]
        {
            *field = text.to_owned();
        }
        row.key = format!("claude/{text}/");
        row.state = State::Asks(text.to_owned());
    }
    let views = [PlanView::Tree, PlanView::Board, PlanView::Timeline, PlanView::Graph];
    let mut all: Vec<Markup> = views.map(|it| plan_page(plan.clone(), it, Some(2))).into();
    all.push(questions::questions(&shell(Section::Questions), &page));
    all.push(agents::agent(&shell(Section::Agents), rows.first(), None));
    all.push(agents::agents(
        &shell(Section::Agents),
        &AgentsPage { rows, ..AgentsPage::default() },
    ));
    all.push(super::message::message("/s", "Not found", text, None));
    all
}

#[test]
fn hostile_texts_stay_texts() {
    let scripts =
        ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'><b>", "</textarea><b>"];
    let naughty = naughty::naughty().into_iter().map(|it| it.text).filter(|it| it.len() < 1_000);
    for text in naughty.chain(scripts.map(str::to_owned)) {
        for page in hostile(&text) {
            assert!(
                !page.0.contains("<script>")
                    && !page.0.contains("<img")
                    && !page.0.contains("<b>a"),
                "{text:?}"
            );
            assert!(naughty::dangers(&page.0).is_empty(), "{text:?}");
        }
    }
}

#[test]
fn pages_are_written_to_look_at() {
    let Ok(directory) = std::env::var("PUNCHLIST_PAGES") else { return };
    for (name, page) in all() {
        fs::write(Path::new(&directory).join(format!("{name}.html")), page.into_string()).unwrap();
    }
}
