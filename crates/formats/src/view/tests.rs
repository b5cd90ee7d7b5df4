//! How each view looks, and what it counts.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use punchlist_model::event::PlanDelta;
use punchlist_model::store::{AttachmentKey, Entry, Kind, Summary};
use punchlist_model::{
    Actor, Delta, End, Event, Goal, Number, Plan, Position, Progress, Revision, Session,
    SessionKey, Status, What, remind,
};

use super::fixture::{at, checked, naughty, options, plan, screen, seed, with};
use super::log::{Show, Times};
use super::team::Member;
use super::*;
use crate::text::Line;
use crate::text::line::{to_ansi, to_plain};

const WIDTHS: [u16; 4] = [20, 40, 80, 200];

/// One view at all supported widths.
fn at_widths(draw: impl Fn(&Options) -> Vec<Line>) -> String {
    let draw = |width| format!("{width} columns\n{}\n", to_plain(&draw(&options(width))));
    WIDTHS.into_iter().map(draw).collect::<Vec<_>>().join("\n")
}

#[test]
fn progress_is_completed_over_items_neither_cancelled_nor_superseded() {
    #[track_caller]
    fn check(entries: &[(Status, &str)], expected: &str) {
        let plan = plan(entries);
        assert!(to_plain(&boxed::boxed(&plan, &options(46))).contains(expected), "{expected}");
        assert!(to_plain(&list::list(&plan, &options(46))).contains(expected), "{expected}");
    }
    use Status::{Cancelled, Completed, InProgress, Pending};
    check(&[], "Progress: 0/0 (0%)");
    check(&[(Pending, "a")], "Progress: 0/1 (0%)");
    check(&[(Completed, "a"), (InProgress, "b"), (Pending, "c")], "Progress: 1/3 (33%)");
    check(&[(Completed, "a"), (Completed, "b"), (Pending, "c")], "Progress: 2/3 (67%)");
    check(&[(Completed, "a"), (Cancelled, "b")], "Progress: 1/1 (100%)");
    check(&[(Cancelled, "a")], "Progress: 0/0 (0%)");
    let mut entries = vec![(Completed, "a")];
    entries.extend([(Pending, "b"); 199]);
    check(&entries, "Progress: 1/200 (1%)");

    let mut plan = plan(&[(Completed, "a"), (Pending, "b"), (Completed, "c"), (Pending, "d")]);
    with(&mut plan, 3, |item| (item.superseded_at, item.position) = (Some(at(5)), None));
    with(&mut plan, 4, |item| item.parent = Some(Number(1)));
    // An item with sub-items is not counted itself; its sub-items are.
    assert!(to_plain(&boxed::boxed(&plan, &options(46))).contains("Progress: 0/2 (0%)"));
    assert!(plain::text(&plan).ends_with("(0/2 completed)"));
    with(&mut plan, 4, |item| item.status = Completed);
    assert!(to_plain(&boxed::boxed(&plan, &options(46))).contains("Progress: 1/2 (50%)"));
    // 399 of 400 is not rounded to 100 %.
    let mut entries = vec![(Pending, "a")];
    entries.extend([(Completed, "b"); 399]);
    check(&entries, "Progress: 399/400 (99%)");
}

#[test]
fn the_box_is_the_proposals_own_box() {
    assert_snapshot!(to_plain(&boxed::boxed(&seed(), &options(46))), @r"
    ┌─ Tasks ────────────────────────────────────┐
    │ ✓ Fix failing tests                        │
    │ ▶ Updating documentation                   │
    │ ○ Run final build verification             │
    │                                            │
    │ Progress: 1/3 (33%)                        │
    └────────────────────────────────────────────┘
    ");
}

#[test]
fn the_list_is_the_screen() {
    assert_snapshot!(to_plain(&list::list(&screen(), &options(62))), @r"
    ┌─ Tasks ────────────────────────────────────────────────────┐
    │ ✓ 1  Fix the failing tests                   checked  2 m  │
    │ ▶ 2  Updating documentation                   claude  1 m  │
    │   ✓ 6  Install guide                                  4 m  │
    │   ○ 7  API reference                                       │
    │ ○ 3  Run the final build                     after 2       │
    │ ◔ 4  Choose the licence           waiting for: legal       │
    │ ✗ 5  Port to Windows                    out of scope       │
    │                                                            │
    │ Progress: 2/5 (40%)  ████████░░░░░░░░░░░░                  │
    └────────────────────────────────────────────────────────────┘
    ");
}

#[test]
fn a_list_that_was_left_before_it_was_done_says_so() {
    let mut plan = plan(&[(Status::Completed, "Fix the tests"), (Status::Pending, "Build")]);
    assert!(!to_plain(&list::list(&plan, &options(40))).contains("topped"));
    plan.end = punchlist_model::End::Stopped;
    assert_snapshot!(format!(
        "{}\n{}",
        to_plain(&list::list(&plan, &options(40))),
        to_plain(&list::list(&plan, &options(20)))
    ));
}

#[test]
fn the_text_is_what_todowrite_answers() {
    assert_snapshot!(plain::text(&seed()), @r"
    [x] Fix failing tests
    [>] Update documentation <- Updating documentation
    [ ] Run final build verification

    (1/3 completed)
    ");
    assert_eq!(plain::text(&plan::<&str>(&[])), "No todos.");
    let cancelled = plan(&[(Status::Cancelled, "a"), (Status::InProgress, "b")]);
    assert_eq!(plain::text(&cancelled), "[-] a\n[>] b\n\n(0/1 completed)");
}

#[test]
fn the_piped_list_has_numbers_to_type() {
    assert_snapshot!(plain::numbered(&screen()), @r"
    [x] 1 Fix the failing tests
    [>] 2 Update documentation <- Updating documentation
      [x] 6 Install guide
      [ ] 7 API reference
    [ ] 3 Run the final build (after 2)
    [ ] 4 Choose the licence (waiting for: legal)
    [-] 5 Port to Windows (out of scope)

    (2/5 completed)
    ");
    assert_eq!(plain::numbered(&plan::<&str>(&[])), "No todos.");
}

#[test]
fn the_xml_has_positions_as_ids_and_the_managers_statuses() {
    let mut plan = seed();
    with(&mut plan, 1, |item| item.position = Some(Position(3)));
    with(&mut plan, 3, |item| item.position = Some(Position(1)));
    with(&mut plan, 3, |item| item.status = Status::Cancelled);
    with(&mut plan, 2, |item| item.title = "a < b && c ]]>".to_owned());
    assert_snapshot!(xml::xml(&plan).replace("</todo>", "</todo>\n"), @r#"
    <todos><todo id="1" status="skipped">Run final build verification</todo>
    <todo id="2" status="doing">a &lt; b &amp;&amp; c ]]&gt;</todo>
    <todo id="3" status="done">Fix failing tests</todo>
    </todos>
    "#);
    assert_eq!(xml::xml(&fixture::plan::<&str>(&[])), "<todos></todos>");
}

#[test]
fn markdown_is_a_checklist_nested_by_parent() {
    let mut plan = screen();
    plan.title = "Release 1.2".to_owned();
    assert_snapshot!(markdown::markdown(&plan), @r"
    # Release 1.2

    - [x] Fix the failing tests
    - [>] Update documentation
      - [x] Install guide
      - [ ] API reference
    - [ ] Run the final build
    - [ ] Choose the licence
    - [-] Port to Windows
    ");
}

#[test]
fn an_update_lists_what_there_is() {
    assert_snapshot!(plain::update(&seed(), &options(80)), @"
    📋 Todo list updated:
      ✓ Fix failing tests
      ▶ Updating documentation
      ○ Run final build verification
    ");
}

#[test]
fn a_transition_says_the_new_status() {
    let plan = seed();
    let lines: Vec<_> =
        plan.items.values().map(|item| plain::transition(item, &options(80))).collect();
    assert_snapshot!(to_plain(&lines), @r#"
    [Todo: "Fix failing tests" → completed]
    [Todo: "Updating documentation" → in_progress]
    [Todo: "Run final build verification" → pending]
    "#);
}

#[test]
fn a_teams_view_is_bold_in_the_members_colour_with_a_blank_line_around() {
    let plan = plan(&[
        (Status::Pending, "Research existing metrics tracking"),
        (Status::Completed, "Design the metrics collection system"),
        (Status::Cancelled, "Buy a metrics system"),
        (Status::InProgress, "Implement core functionality"),
    ]);
    let assumed = BTreeSet::from([Number(4)]);
    let (mut options, member) = (options(80), Member::new("Max", Some("magentaBright")));
    let team = |options: &Options| team::team(&plan, &member, &assumed, options);
    let bare = to_plain(&team(&options));
    let coloured = to_ansi(&team(&options), true).replace('\u{1b}', "ESC");
    options.glyphs = Glyphs::Ascii;
    let ascii = to_plain(&team(&options));
    for view in [&bare, &coloured, &ascii] {
        assert!(view.starts_with('\n') && view.ends_with('\n'));
    }
    assert_snapshot!(format!("{bare}--\n{coloured}--\n{ascii}"));
    assert_eq!(Member::new("Max", None).colour, crate::text::Colour::Cyan);
    let exact = crate::text::Colour::Rgb(0xff, 0, 0x80);
    assert_eq!(Member::new("Max", Some("#FF0080")).colour, exact);
    for unknown in ["#ff00f", "#ff00fg", "#+f00ff", "ff00ff", "mauve", ""] {
        assert_eq!(
            Member::new("Max", Some(unknown)).colour,
            crate::text::Colour::Cyan,
            "{unknown}"
        );
    }
}

#[test]
fn graphs_show_dependencies_and_parents() {
    let mut plan = screen();
    with(&mut plan, 4, |item| item.title = "a \"quote\" \\ `tick` <b> #1; [x]".to_owned());
    assert_snapshot!("dot", graph::dot(&plan));
    assert_snapshot!("mermaid", graph::mermaid(&plan));
}

#[test]
fn json_has_every_field_and_the_derived_ones() {
    let mut plan = screen();
    plan.title = "Release 1.2".to_owned();
    let attachment = AttachmentKey {
        project: plan.project.clone(),
        agent: "claude".to_owned(),
        conversation: "c-1".to_owned(),
        sub_agent: String::new(),
        turn: "t-9".to_owned(),
    };
    let list = json::list(&plan, Some(&attachment), &BTreeSet::from([Number(1)]));
    let mut shown = serde_json::to_string_pretty(&serde_json::json!({
        "plan": list["plan"], "items": [list["items"][0], list["items"][1]],
        "progress": list["progress"],
    }))
    .unwrap();
    assert_snapshot!("json_list", shown);

    (plan.name, plan.end) = (Some("release".to_owned()), End::Stopped);
    plan.rules.max_in_progress = Some(2);
    plan.goal = Some(Box::new(Goal { statement: "It ships".to_owned(), ..Goal::default() }));
    shown = serde_json::to_string_pretty(&json::header(&plan, None)).unwrap();
    assert_snapshot!("json_header", shown);
}

#[test]
fn json_on_a_terminal_has_the_same_values_and_nothing_that_acts_on_it() {
    let plan = naughty();
    let value = json::list(&plan, None, &BTreeSet::new());
    let line = json::render(&value);
    assert!(!line.chars().any(|ch| ch.is_control() || crate::text::clean::is_bidi_control(ch)));
    assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), value);
}

fn entry(revision: u64, actor: &Actor, events: Vec<Event>) -> Entry {
    Entry {
        plan: seed().id,
        revision: Revision(revision),
        at: at(i64::try_from(revision).unwrap()),
        actor: actor.clone(),
        kind: Kind::Edit,
        undoes: None,
        events,
    }
}

fn changed(number: u32, what: What, deltas: Vec<Delta>) -> Event {
    Event::Changed { number: Number(number), what, deltas }
}

fn journal(you: &Actor) -> (Plan, Vec<Entry>) {
    let mut plan = screen();
    plan.revision = Revision(102);
    let claude = Actor::agent("claude");
    // Positions now are 1 to 7 in the order of the numbers.
    let mut undo = entry(102, you, vec![changed(3, What::Undone, vec![])]);
    undo.undoes = Some(Revision(99));
    let entries = vec![
        entry(
            96,
            &claude,
            vec![
                Event::Added { item: Box::new(plan.items[&Number(7)].clone()) },
                Event::PlanChanged {
                    deltas: vec![PlanDelta::End { before: End::Drained, after: End::Open }],
                },
            ],
        ),
        entry(97, &claude, vec![changed(2, What::Completed, vec![])]),
        entry(
            98,
            you,
            vec![Event::Moved { number: Number(2), from: Position(5), to: Position(3) }],
        ),
        entry(
            99,
            &claude,
            vec![
                changed(
                    4,
                    What::Waiting,
                    vec![Delta::WaitingOn { before: None, after: Some("legal".to_owned()) }],
                ),
                changed(
                    5,
                    What::Cancelled,
                    vec![Delta::Outcome { before: None, after: Some("out of\nscope".to_owned()) }],
                ),
                changed(
                    1,
                    What::Evidence,
                    vec![Delta::Evidence { before: vec![], after: vec![checked(Some(1))] }],
                ),
                changed(
                    3,
                    What::Edited,
                    vec![
                        Delta::Title {
                            before: "Build".to_owned(),
                            after: "Run the final build".to_owned(),
                        },
                        Delta::ActiveForm { before: None, after: Some("Building".to_owned()) },
                    ],
                ),
            ],
        ),
        entry(
            100,
            &Actor::agent("קלוד\u{1b}[31m"),
            vec![Event::Moved { number: Number(7), from: Position(1), to: Position(7) }],
        ),
        entry(101, you, vec![Event::Forgotten { number: Some(Number(6)) }]),
        undo,
    ];
    (plan, entries)
}

#[test]
fn a_log_says_who_did_what() {
    let you = Actor::person("ann@host");
    let (plan, entries) = journal(&you);
    let show = Show { reader: Some(&you), times: Times::Hidden, only: None };
    let mut shown = to_plain(&log::log(&plan, &entries, show, &options(80)));
    let show = Show { reader: None, times: Times::Ago, only: Some(Number(2)) };
    shown.push_str("\n--\n");
    shown.push_str(&to_plain(&log::log(&plan, &entries, show, &options(80))));
    assert_snapshot!(shown);
}

#[test]
fn a_journal_entry_in_json_says_what_was_and_what_is_with_milliseconds() {
    let claim = screen().items[&Number(2)].claim.clone();
    let events = vec![
        changed(
            2,
            What::Started,
            vec![
                Delta::Status { before: Status::Pending, after: Status::InProgress },
                Delta::StartedAt { before: None, after: Some(at(1)) },
                Delta::Claim { before: None, after: claim },
            ],
        ),
        Event::Superseded { number: Number(3), from: Position(3), at: at(1) },
        Event::PlanChanged {
            deltas: vec![PlanDelta::End { before: End::Drained, after: End::Open }],
        },
    ];
    let value = json::entry(&entry(42, &Actor::agent("claude"), events));
    assert_snapshot!("json_entry", serde_json::to_string_pretty(&value).unwrap());
}

#[test]
fn a_move_is_told_by_position_where_the_order_is_not_known() {
    let you = Actor::person("ann@host");
    let (mut plan, entries) = journal(&you);
    let show = Show { reader: Some(&you), times: Times::Hidden, only: None };
    plan.revision = Revision(200);
    let lines = log::log(&plan, &entries[2..3], show, &options(80));
    assert_eq!(to_plain(&lines), "98  you      moved 2 to position 3");
}

#[test]
fn an_item_in_full_shows_all_that_is_set_and_its_history() {
    let you = Actor::person("ann@host");
    let (mut plan, entries) = journal(&you);
    with(&mut plan, 2, |item| {
        item.context = "First line\nsecond \u{1b}[31mline\n".to_owned();
        item.completion_criteria = "All pages build".to_owned();
        item.depends_on = BTreeSet::from([Number(1), Number(99)]);
        item.metadata = serde_json::json!({ "key": "\u{202e}value" }).as_object().cloned();
        item.marks = BTreeSet::from([punchlist_model::Mark::TwoInProgress]);
        item.evidence = vec![checked(None)];
        (item.priority, item.retry, item.timeout) = (Some(0), Some(2), Some(30));
        item.approve = true;
    });
    let show = Show { reader: Some(&you), times: Times::Ago, only: None };
    let item = plan.get(Number(2)).unwrap();
    let detail =
        |plan, item, entries| to_plain(&detail::detail(plan, item, entries, show, &options(80)));
    assert_snapshot!(detail(&plan, item, &entries));
    let bare = fixture::plan(&[(Status::Pending, "Just this")]);
    let item = bare.get(Number(1)).unwrap();
    assert_snapshot!("detail_bare", detail(&bare, item, &[]));
}

fn summary(seed: u8, name: Option<&str>, title: &str, end: End, agent: Option<&str>) -> Summary {
    let project = if seed == 1 { "/home/ann/web-shop" } else { "/home/ann/ドキュメント" };
    let count = u32::from(seed);
    Summary {
        made_for: None,
        id: fixture::id(u32::from(seed) + 7_000).parse().unwrap(),
        project: project.to_owned(),
        name: name.map(str::to_owned),
        title: title.to_owned(),
        revision: Revision(3),
        end,
        archived: false,
        open: 1,
        progress: Progress::of(count, count * 3, true),
        created_at: at(0),
        updated_at: at(590 - i64::from(seed) * 50),
        attachment: agent.map(|agent| AttachmentKey {
            project: project.to_owned(),
            agent: agent.to_owned(),
            conversation: "c".to_owned(),
            sub_agent: String::new(),
            turn: String::new(),
        }),
    }
}

/// A session with these reminders: for each kind how many, tokens, acted on, ignored.
fn reminded(id: &str, kinds: &[(remind::Kind, [u64; 4])]) -> Session {
    let key = SessionKey { agent: "claude".to_owned(), id: id.to_owned() };
    let mut session = Session::new(key, "/p", at(0));
    for (kind, [given, tokens, acted, ignored]) in kinds.iter().copied() {
        let tally = remind::Tally { given, tokens, acted, ignored };
        session.memory.watch.ledger.kinds.insert(kind, tally);
    }
    session
}

#[test]
fn reminders_are_two_tables_by_kind_and_by_session() {
    use remind::Kind::{Boundary, Initial, Nag};
    let sessions = [
        reminded("12345678-1", &[(Initial, [1, 40, 1, 0]), (Nag, [3, 1200, 1, 2])]),
        reminded("never", &[]),
        reminded(
            "\u{1b}[31m长长长长长长",
            &[(Initial, [1, 40, 0, 1]), (Boundary, [2, 18_000, 2, 0])],
        ),
    ];
    let draw = |options: &Options| ledger::ledger(&sessions, options);
    assert_snapshot!(at_widths(draw));
    for columns in 0..250 {
        for line in ledger::ledger(&sessions, &options(columns)) {
            assert!(line.width() <= usize::from(columns).max(16), "{columns}: {line:?}");
            assert!(!line.to_plain().contains('\u{1b}'), "{line:?}");
        }
    }
    let none = ledger::ledger(&sessions[1..2], &options(80));
    assert_eq!(to_plain(&none), "Nobody was reminded of anything yet.");
}

#[test]
fn plans_are_a_table_that_gives_up_columns_where_it_gets_narrow() {
    let summaries = [
        summary(1, Some("release"), "Release 1.2", End::Open, Some("claude")),
        summary(2, None, "修复失败的测试并更新文档 \u{1b}[31mred", End::Stopped, Some("codex")),
        summary(3, None, "", End::Drained, None),
        summary(4, Some("rtl"), "לתקן את הבדיקות", End::Open, None),
    ];
    let live = BTreeSet::from([summaries[0].id]);
    let draw = |options: &Options| plans::plans(&summaries, &live, options);
    assert_snapshot!(at_widths(draw));
    for columns in 0..250 {
        for line in plans::plans(&summaries, &live, &options(columns)) {
            assert!(line.width() <= usize::from(columns).max(16), "{columns}: {line:?}");
        }
    }
    assert!(plans::plans(&[], &live, &options(80)).is_empty());
}

#[test]
fn the_box_holds_at_every_width() {
    assert_snapshot!(at_widths(|options| boxed::boxed(&naughty(), options)));
}

#[test]
fn the_list_holds_at_every_width() {
    let (screen, naughty) = (screen(), naughty());
    assert_snapshot!("list_screen", at_widths(|options| list::list(&screen, options)));
    assert_snapshot!("list_naughty", at_widths(|options| list::list(&naughty, options)));
}

#[test]
fn the_other_views_hold_with_naughty_text() {
    let plan = naughty();
    let member = Member::new("מקס\u{1b}[5m", None);
    let views = [
        plain::text(&plan),
        plain::numbered(&plan),
        plain::update(&plan, &options(40)),
        markdown::markdown(&plan),
        xml::xml(&plan).replace("</todo>", "</todo>\n"),
        to_plain(&team::team(&plan, &member, &BTreeSet::new(), &options(40))),
    ];
    // The long title is not part of this test.
    let views = views.map(|view| view.replace(&"long ".repeat(1_990), ""));
    assert_snapshot!(views.join("\n--\n"));
}

#[test]
fn glyph_sets_are_aligned_and_ascii_is_ascii() {
    let plan = screen();
    let draw = |glyphs| to_plain(&list::list(&plan, &Options { glyphs, ..options(62) }));
    let ascii = draw(Glyphs::Ascii);
    assert!(ascii.is_ascii());
    assert_snapshot!(format!("{}\n{ascii}", draw(Glyphs::Emoji)));
}

#[test]
fn colour_says_what_evidence_is_worth_and_moves_nothing() {
    let mut plan = screen();
    let mut options = options(62);
    let list = list::list(&plan, &options);
    assert_eq!(crate::text::many_lines(&to_ansi(&list, true)), to_plain(&list));
    assert_eq!(to_ansi(&list, false), to_plain(&list));
    let line = |plan: &Plan, options: &Options| {
        list::list(plan, options)[1].to_ansi(true).replace('\u{1b}', "ESC")
    };
    let mut lines = vec![line(&plan, &options)];
    options.stale = BTreeSet::from([Number(1)]);
    lines.push(line(&plan, &options));
    options.stale.clear();
    with(&mut plan, 1, |item| item.evidence = vec![checked(Some(1))]);
    lines.push(line(&plan, &options));
    with(&mut plan, 1, |item| item.evidence.clear());
    lines.push(line(&plan, &options));
    with(&mut plan, 1, |item| item.check = None);
    lines.push(line(&plan, &options));
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn every_listed_item_is_shown_once_whatever_its_parents() {
    let mut plan = plan(&[
        (Status::Pending, "a"),
        (Status::Pending, "b"),
        (Status::Pending, "c"),
        (Status::Pending, "d"),
    ]);
    with(&mut plan, 1, |item| item.parent = Some(Number(2)));
    with(&mut plan, 2, |item| item.parent = Some(Number(1)));
    with(&mut plan, 3, |item| item.parent = Some(Number(3)));
    with(&mut plan, 4, |item| item.parent = Some(Number(77)));
    assert_eq!(markdown::markdown(&plan), "- [ ] c\n- [ ] d\n- [ ] a\n  - [ ] b\n");
}
