//! Events of a run and the state of the board.

use punchlist_model::{IdSource, ItemId, Origin, PlanId, Position, Timestamp};

use super::super::schedule::{Attendance, Chosen};
use super::*;

/// A board with four steps; the last one asks and depends on two others.
fn board() -> Board {
    let at = Timestamp::UNIX_EPOCH;
    let ids = IdSource::fixed(at, 1);
    let mut plan = Plan::new(PlanId(ids.nth(0)), "/p", at);
    plan.title = "Release 1.2".to_owned();
    for (n, title) in (1_u32..).zip(["Build", "Run the tests", "Write the notes", "Publish"]) {
        let mut item = Item::new(ItemId(ids.nth(n)), Number(n), title, at);
        item.position = Some(Position(n));
        item.run = Some(punchlist_model::Run { command: "x".into(), origin: Origin::Person });
        if n == 4 {
            item.approve = true;
            item.depends_on = [Number(2), Number(3)].into();
        }
        plan.items.insert(Number(n), item);
    }
    let tree = Tree::of(&plan);
    let attendance = Attendance { person: true, ..Attendance::default() };
    let schedule = Schedule::build(&plan, &tree, &Chosen::All, &attendance, &BTreeMap::new());
    Board::new(&plan, &tree, &schedule, vec!["2 jobs".to_owned()], 0)
}

fn drawn(board: &Board, now: i64) -> String {
    let options = punchlist_formats::view::Options::plain(Timestamp::UNIX_EPOCH);
    let lines = punchlist_formats::view::run::run(&board.view(now), None, &options);
    punchlist_formats::text::line::to_plain(&lines)
}

#[test]
fn a_run_is_drawn_as_it_goes() {
    let mut board = board();
    let mut screens = vec![drawn(&board, 0)];
    board.begins(Number(1), 0);
    board.begins(Number(2), 100);
    board.says(Number(2), "test parser::deep ... ok");
    board.says(Number(2), "   ");
    screens.push(drawn(&board, 12_345));
    board.done(Number(1), Some(Level::Checked), 41_230);
    board.failed(Number(2), "exit 1", Some("7f3a-2.txt".to_owned()), 50_000);
    board.left(Number(3), "stopped", 50_000);
    board.left(Number(4), "after Run the tests", 50_000);
    // The run passes in the plan's progress.
    board.progress = Progress { completed: 1, total: 4, percent: 25 };
    screens.push(drawn(&board, 53_000));
    insta::assert_snapshot!(screens.join("\n\n"));
}

#[test]
fn the_last_line_sums_up() {
    let mut board = board();
    assert_eq!(board.sum().words(), "0 done, 0 failed, 4 left. Run it again to go on.");
    for number in [1, 2, 3] {
        board.begins(Number(number), 0);
    }
    board.done(Number(1), Some(Level::Checked), 5);
    board.done(Number(2), None, 5);
    board.failed(Number(3), "exit 1", Some("7f3a-3.txt".to_owned()), 5);
    assert_eq!(
        board.sum().words(),
        "2 done (1 checked), 1 failed: Write the notes (exit 1, log 7f3a-3.txt), 1 left. \
         Run it again to retry."
    );
    board.done(Number(3), None, 5);
    board.done(Number(4), Some(Level::Approved), 5);
    assert_eq!(board.sum().words(), "4 done (2 checked), 0 failed, 0 left.");
    assert!(board.sum().is_over);
}
