//! The screens of a run, at every width of a terminal.

use proptest::prelude::*;
use punchlist_model::Timestamp;

use super::*;
use crate::text::line::to_plain;
use crate::text::naughty::any_text;

fn step(title: &str, state: State, ms: Option<u64>, note: &str) -> Step {
    let (title, note) = (title.to_owned(), note.to_owned());
    let printed = Printed::default();
    Step { title, depth: 0, worker: String::new(), state, ms, note, printed }
}

fn release() -> Run {
    let done = State::Done { sure: true };
    let running = State::Running;
    let notes = step("Write the notes", running, Some(9_300), "Reading CHANGELOG.md (2/4)");
    Run {
        title: "Release 1.2".to_owned(),
        how: vec!["2 jobs".to_owned(), "plan 7f3a".to_owned()],
        steps: vec![
            step("Build", done, Some(41_230), "checked"),
            step("Run the tests", running, Some(12_900), "test parser::deep ... ok"),
            Step { worker: "claude".to_owned(), ..notes },
            step("Publish", State::Open, None, "after Run the tests, Write the notes · asks"),
        ],
        progress: Progress::of(1, 4, true),
        ms: 53_000,
        hint: "Ctrl-C stops; run again to go on".to_owned(),
    }
}

/// A run with all states, and a nested step.
fn mixed() -> Run {
    let mut run = release();
    run.title = "Every state".to_owned();
    run.progress = Progress::of(1, 6, true);
    run.steps = vec![
        step("Fetch", State::Done { sure: false }, Some(850), ""),
        step("Migrate the orders table", State::Asks, Some(61_000), "asks you"),
        Step { depth: 1, ..step("Back it up", State::Failed, Some(1_200), "exit 1") },
        Step { depth: 1, ..step("Fill the new column", State::Held, None, "after Back it up") },
        step("Port to Windows", State::Cancelled, None, "out of scope"),
        step("Tell the team", State::Held, None, "by hand"),
        step(
            "Push",
            State::Denied,
            None,
            "by { decision = \"deny\", command = [\"git\", \"push\"] }",
        ),
        step("Announce it", State::Refused, None, "not on a Friday"),
    ];
    run
}

fn at(columns: u16, height: Option<usize>, run: &Run) -> String {
    let options = Options { width: columns, ..Options::plain(Timestamp::UNIX_EPOCH) };
    to_plain(&super::run(run, height, &options))
}

#[test]
fn a_run_at_every_width() {
    let screens = [30, 40, 80, 120].map(|columns| {
        format!(
            "{columns} columns\n{}\n\n{}",
            at(columns, None, &release()),
            at(columns, None, &mixed())
        )
    });
    insta::assert_snapshot!(screens.join("\n\n"));
}

#[test]
fn what_a_step_printed_stands_under_it_where_there_is_room() {
    let mut run = release();
    let lines = ["- colour = red", "+ colour = \u{1b}[31mblue", &"long ".repeat(40)];
    let lines = lines.map(str::to_owned).to_vec();
    run.steps[0].printed = Printed { title: String::new(), lines, before: 12 };
    run.steps[2].printed =
        Printed { title: String::new(), lines: vec!["Read it.".to_owned()], before: 0 };
    let screens = [None, Some(11), Some(8), Some(6)];
    let screens = screens.map(|height| format!("{height:?}\n{}", at(60, height, &run)));
    insta::assert_snapshot!(screens.join("\n\n"));
}

#[test]
fn of_a_long_plan_what_happens_now_is_shown() {
    let mut long = release();
    long.progress = Progress::of(248, 500, true);
    long.steps = (1..=500)
        .map(|n| match n {
            1..250 => step(&format!("Step {n}"), State::Done { sure: false }, Some(10), ""),
            250 | 254 => step(&format!("Step {n}"), State::Running, Some(2_000), "working"),
            _ => step(&format!("Step {n}"), State::Open, None, "after Step 250"),
        })
        .collect();
    long.steps[16].state = State::Failed;
    insta::assert_snapshot!(at(80, Some(14), &long));
}

#[test]
fn lines_for_where_nothing_can_be_drawn() {
    let all: Vec<String> = mixed().steps.iter().chain(&release().steps).map(line).collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn times_are_as_short_as_they_can_be() {
    let times = [0, 999, 1_000, 59_999, 60_000, 3_599_999, 3_600_000, 400_000_000].map(time);
    let expected =
        ["0 ms", "999 ms", "1.0 s", "59.9 s", "1 m 0 s", "59 m 59 s", "1 h 0 m", "111 h 6 m"];
    assert_eq!(times, expected);
}

fn states() -> impl Strategy<Value = State> {
    prop_oneof![
        Just(State::Open),
        Just(State::Running),
        Just(State::Asks),
        Just(State::Done { sure: true }),
        Just(State::Done { sure: false }),
        Just(State::Failed),
        Just(State::Denied),
        Just(State::Refused),
        Just(State::Held),
        Just(State::Cancelled),
    ]
}

proptest! {
    #[test]
    fn whatever_it_is_about_it_fits_and_harms_no_terminal(
        title in any_text(),
        steps in proptest::collection::vec((any_text(), any_text(), states(), 0_usize..12), 0..12),
        columns in 2_u16..150,
        height in 3_usize..20,
    ) {
        let steps: Vec<Step> = steps
            .into_iter()
            .map(|(title, note, state, depth)| Step {
                printed: Printed {
                    title: String::new(), lines: vec![note.clone(); depth % 3], before: 2,
                },
                title, worker: note.clone(), note, state, depth, ms: Some(90_000),
            })
            .collect();
        let run = Run { title, steps, ..release() };
        let options = Options { width: columns, ..Options::plain(Timestamp::UNIX_EPOCH) };
        let lines = super::run(&run, Some(height), &options);
        prop_assert!(lines.len() <= height, "{} lines", lines.len());
        for line in &lines {
            prop_assert!(line.width() < usize::from(columns), "{columns}: {line:?}");
            prop_assert!(!line.to_plain().chars().any(char::is_control), "{line:?}");
        }
    }
}
