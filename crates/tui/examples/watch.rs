//! Shows the present list of an agent, from the file that it writes.

use std::sync::Arc;

use punchlist_engine::view;
use punchlist_engine::watch::{self, Homes};
use punchlist_engine::{Around, System};
use punchlist_streams::event::KindSet;
use punchlist_tui::watch::{Watch, run};
use punchlist_tui::{Options, Screen};

/// Runs the example.
pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let file = place.path().join("session.jsonl");
    let started = r#"{"type":"thread.started","thread_id":"01a1e053-8321-7863-bc5c-f1fc3291f8bf"}"#;
    let list = r#"{"type":"item.started","item":{"id":"item_1","type":"todo_list","items":[{"text":"Parse","completed":true},{"text":"Test","completed":false}]}}"#;
    std::fs::write(&file, format!("{started}\n{list}\n"))?;
    let watch = Watch {
        options: watch::Options {
            homes: Homes::default(),
            files: vec![file],
            is_piped: false,
            since_ms: 60_000,
            json: KindSet::NONE,
            host: System::host(),
        },
        source: None,
        recorder: None,
        around: Arc::new(System),
        once: true,
        offers: Vec::new(),
        archive: None,
        answers: None,
        notify: None,
        pane: None,
    };
    let options = Options {
        json: false,
        screen: Screen { is_terminal: false, width: 80, colour: false, cuts_lines: false },
        draws_in_place: false,
        view: view::Options::plain(System.now()),
    };
    let exit = run(watch, options).map_err(|why| why.message)?;
    assert_eq!(exit, 0);
    Ok(())
}
