//! The program that `cargo xtask bench tui` starts: a frame with a plan of many items, compared with a
//! plain list of ratatui with the same titles.
//!
//! It prints one figure per line: a name and nanoseconds per frame. `xtask` judges them. This program
//! is not an example of how to use the crate.

use std::error::Error;
use std::hint::black_box;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use punchlist_formats::view::Options;
use punchlist_formats::view::live::live;
use punchlist_model::{Item, Number, Plan, Position, Status, Timestamp};
use punchlist_tui::theme::{self, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{List, ListItem, ListState, StatefulWidget as _};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: tui_bench ITEMS ROUNDS";
const AREA: Rect = Rect { x: 0, y: 0, width: 120, height: 40 };
/// How many frames are measured at once.
const FRAMES: u32 = 50;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is closed, the exit code must do.
            drop(writeln!(std::io::stderr(), "error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome {
    let [items, rounds] = arguments else { return Err(USAGE.into()) };
    let plan = plan(items.parse()?)?;
    for _ in 0..rounds.parse::<u32>()? {
        tell("plan", || ours(&plan))?;
        tell("list", || list(&plan))?;
    }
    Ok(())
}

/// A plan whose first half is done.
fn plan(items: u32) -> Outcome<Plan> {
    let now = Timestamp::UNIX_EPOCH;
    let id = |n: u32| format!("01a3185c-5000-7000-8000-{n:012}");
    let mut plan = Plan::new(id(0).parse()?, "/home/me/project", now);
    for n in 1..=items {
        let title = format!("Step {n}: migrate the orders table and its index");
        let mut item = Item::new(id(n).parse()?, Number(n), title, now);
        item.position = Some(Position(n));
        item.status = match n.cmp(&(items / 2)) {
            std::cmp::Ordering::Less => Status::Completed,
            std::cmp::Ordering::Equal => Status::InProgress,
            std::cmp::Ordering::Greater => Status::Pending,
        };
        plan.placed += 1;
        plan.open += u32::from(item.is_open());
        plan.items.insert(Number(n), item);
    }
    plan.next_number = Number(items + 1);
    Ok(plan)
}

/// A frame with the plan, as the terminal UI draws it.
fn ours(plan: &Plan) -> Buffer {
    let theme = Theme::default();
    let options = Options { width: AREA.width, ..Options::plain(Timestamp::UNIX_EPOCH) };
    let mut buffer = Buffer::empty(AREA);
    for (line, y) in live(plan, usize::from(AREA.height), &options).iter().zip(0..) {
        theme::draw(&mut buffer, 0, y, AREA.width, line, &theme);
    }
    buffer
}

/// A frame with a list of ratatui.
fn list(plan: &Plan) -> Buffer {
    let mut buffer = Buffer::empty(AREA);
    let items = plan.items.values().map(|it| {
        let sign = if it.is_open() { "○" } else { "✓" };
        ListItem::new(format!("{sign} {}", it.title))
    });
    let mut state = ListState::default().with_selected(Some(plan.items.len() / 2));
    List::new(items).render(AREA, &mut buffer, &mut state);
    buffer
}

/// Prints the time of a frame.
fn tell(name: &str, frame: impl Fn() -> Buffer) -> Outcome {
    let began = Instant::now();
    for _ in 0..FRAMES {
        black_box(frame());
    }
    let each = began.elapsed() / FRAMES;
    Ok(writeln!(std::io::stdout(), "{name} {}", each.as_nanos())?)
}
