//! The terminal UI in tmux, with a model that plays a scenario: from the first message to a resumed
//! session. The screens on the way are the pictures of `docs/screens.md`.
//!
//! `cargo xtask screens` makes this test write the pictures. They are not compared: tmux versions differ.

use std::fs;
use std::num::NonZeroU16;
use std::path::Path;

use punchlist_testkit::picture::{CAPTURED, Captured, Colours, svg};
use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::world::World;

/// If set, the pictures are written.
const WRITE: &str = "PUNCHLIST_WRITE_DOCUMENTS";

const PROGRAM: &str = env!("CARGO_BIN_EXE_punchlist");

/// How long the model takes where the person does something meanwhile, and where nobody waits for it.
const SLOW: u64 = 4_000;
const NEVER: u64 = 600_000;

const CONFIG: &str = "fn read(text: &str) -> Config {\n    parse(text).expect(\"a table\")\n}\n";

/// A shell command that goes on until the test has seen it.
const TESTS: &str =
    "for n in 1 2 3; do echo test $n ok; done; until [ -e ../seen ]; do sleep 0.05; done";

fn answers() -> Value {
    let call = |tool: &str, arguments: Value| json!({"tool": tool, "arguments": arguments});
    let settle = |n: u32, outcome: &str| {
        call("complete_todo", json!({"todoId": n.to_string(), "outcome": outcome}))
    };
    let starts =
        |n: u32| call("update_todo", json!({"todoId": n.to_string(), "status": "in_progress"}));
    let items = [
        "Find out where the file is read",
        "Accept an empty file",
        "Run the tests",
        "Write it into the changelog",
    ];
    let items: Vec<Value> = items.iter().map(|it| json!({"title": it})).collect();
    let edit = json!({
        "path": "config.rs",
        "old": "    parse(text).expect(\"a table\")\n",
        "new": "    if text.trim().is_empty() {\n        return Config::default();\n    }\n    parse(text).expect(\"a table\")\n",
    });
    let usage = json!({"input": 12_400, "output": 310});
    json!({"answers": [
        {
            "text": "I look at the code first, then change it and run the tests.",
            "calls": [call("create_todo", json!({"items": items}))],
            "usage": usage,
        },
        {
            "calls": [call("read", json!({"path": "config.rs"})), settle(1, "in config.rs"), starts(2)],
            "usage": usage,
        },
        {"text": "An empty file ends in `expect`. It should be the default.", "calls": [call("edit", edit)], "usage": usage},
        {"calls": [settle(2, "returns the default"), starts(3)], "usage": usage},
        {"calls": [call("shell", json!({"command": TESTS}))], "usage": usage},
        {"calls": [settle(3, "3 passed")], "delay_ms": SLOW, "usage": usage},
        {"calls": [settle(4, "one line")], "usage": usage},
        {
            "text": "An empty file is now the **default configuration**.\n\n- `config.rs`: one more condition\n- three tests pass\n",
            "usage": usage,
        },
        {"text": "Never.", "delay_ms": NEVER},
    ]})
}

/// tmux, and where pictures go.
pub(crate) struct Stage {
    terminal: Terminal,
    /// The directory of this test, which no picture shows.
    place: String,
    writes: bool,
}

impl Stage {
    /// A terminal of this width; `None` where there is no tmux, which is said.
    pub(crate) fn open(world: &World, columns: u16) -> Option<Self> {
        let terminal = Terminal::open(world, columns);
        if terminal.is_none() {
            let skipped = "pictures of the terminal: skipped: there is no tmux\n";
            std::io::Write::write_all(&mut std::io::stderr(), skipped.as_bytes()).unwrap();
        }
        let place = world.path("").display().to_string().trim_end_matches('/').to_owned();
        Some(Self { terminal: terminal?, place, writes: std::env::var_os(WRITE).is_some() })
    }

    fn starts(&self) {
        let line = format!("clear; {PROGRAM} --model scripted:fixing.json; echo end $?");
        // A question gets keys after a pause, so the clock must run.
        self.terminal.types(&["unset PUNCHLIST_NOW", "Enter", &line, "Enter"]);
        self.shows("? keys");
        self.terminal.run(&["clear-history"]);
    }

    pub(crate) fn types(&self, keys: &[&str]) {
        self.terminal.types(keys);
    }

    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        self.terminal.until(|it| it.contains(text))
    }

    /// Takes a picture of the screen as it is now.
    #[track_caller]
    pub(crate) fn picture(&self, name: &str) {
        let captured = CAPTURED.iter().find(|it| it.name == name).unwrap();
        let Captured { title, columns, rows, .. } = *captured;
        let size = ["display-message", "-p", "#{window_width}x#{window_height}"];
        let size = self.terminal.run(&size).stdout;
        assert_eq!(String::from_utf8_lossy(&size).trim(), format!("{columns}x{rows}"), "{name}");
        if !self.writes {
            return;
        }
        let screen = self.terminal.run(&["capture-pane", "-p", "-e"]).stdout;
        let screen = String::from_utf8(screen).unwrap();
        let screen = screen.replace(&format!("{}/home", self.place), "~").replace(&self.place, "~");
        let size = |it: u16| NonZeroU16::new(it).unwrap();
        let mut emulator = vt100::Parser::new(size(rows), size(columns), 0);
        emulator.process(screen.trim_end_matches('\n').replace('\n', "\r\n").as_bytes());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/screens");
        let picture = svg(title, emulator.screen(), Colours::of("dark"));
        fs::write(path.join(captured.file()), picture).unwrap();
    }
}

#[test]
fn the_terminal_ui_in_tmux_from_a_plan_to_a_resumed_session() {
    let world = World::new();
    world.write("project/config.rs", CONFIG);
    world.write("project/fixing.json", json!(answers()).to_string());
    world.write(
        "home/.config/punchlist/config.toml",
        "[[policy]]\ndecision = 'allow'\ntool = 'shell'\n",
    );
    let Some(stage) = Stage::open(&world, 80) else { return };
    stage.starts();
    stage.types(&["/"]);
    stage.shows("/commands ");
    stage.picture("ui-commands");
    stage.types(&["BSpace"]);
    stage.terminal.until(|it| !it.contains("/commands "));
    stage.types(&["?"]);
    stage.shows("Ctrl-T");
    stage.picture("ui-keys");
    stage.types(&["Escape"]);
    stage.terminal.until(|it| !it.contains("Ctrl-T"));
    // Approval.
    stage.types(&["The program panics if its configuration is empty. Fix that.", "Enter"]);
    let shown = stage.shows("y once");
    assert!(shown.contains("return Config::default();"), "{shown}");
    stage.picture("ui-question");
    stage.types(&["y"]);
    // A plan, and a call that runs.
    let shown = stage.shows("test 3 ok");
    assert!(shown.contains("▶ Run the tests") && shown.contains("2/4 (50%)"), "{shown}");
    assert!(fs::read_to_string(world.path("project/config.rs")).unwrap().contains("default()"));
    stage.picture("ui-plan");
    stage.types(&["C-t"]);
    stage
        .terminal
        .until(|it| it.contains("Write it into the changelog") && !it.contains("test 3 ok"));
    stage.picture("ui-dialog");
    stage.types(&["Escape"]);
    stage.shows("test 3 ok");
    stage.terminal.resize(140);
    stage.terminal.until(|it| it.lines().any(|it| it.chars().count() > 110));
    stage.picture("ui-wide");
    stage.terminal.resize(80);
    stage.terminal.until(|it| it.lines().all(|it| it.chars().count() <= 80));
    // A queued message, and one that steers.
    stage.types(&["Then do the same for the cache", "Enter"]);
    stage.shows("queued: Then do the same");
    stage.types(&["and do not forget the changelog", "M-Enter"]);
    stage.shows("steers: and do not forget");
    stage.picture("ui-queue");
    world.write("seen", "");
    stage.shows("> and do not forget the changelog");
    let shown = stage.shows("> Then do the same for the cache");
    assert!(shown.contains("An empty file is now the default configuration."), "{shown}");
    stage.shows("Thinking");
    stage.picture("ui-answer");
    // Esc, with a message in the queue; quit; resume.
    stage.types(&["and then rest", "Enter"]);
    stage.shows("queued: and then rest");
    stage.types(&["Escape"]);
    stage.shows("paused: /queue go");
    stage.picture("ui-stopped");
    stage.types(&["C-c", "C-c"]);
    stage.shows("end 0");
    stage.starts();
    stage.types(&["/resume", "Enter"]);
    let shown = stage.shows("queued: and then rest");
    assert!(shown.contains("> Then do the same for the cache"), "{shown}");
    stage.picture("ui-resumed");
    for (command, shown, name) in [
        ("/sessions", "tokens    ", "ui-sessions"),
        ("/model", "openai needs a key", "ui-model"),
        ("/approvals", "Your rules", "ui-approvals"),
    ] {
        stage.types(&[command, "Enter"]);
        stage.shows(shown);
        stage.picture(name);
        if name == "ui-approvals" {
            stage.types(&["x"]);
            stage.shows("y ");
            stage.picture("ui-confirm");
            stage.types(&["Escape"]);
            stage.shows("Your rules");
        }
        stage.types(&["Escape"]);
        stage.shows("queued: and then rest");
    }
    stage.types(&["C-d"]);
    stage.shows("end 0");
}
