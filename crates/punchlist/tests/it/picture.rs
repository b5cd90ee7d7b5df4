//! The pictures in the documents: the program's real output, as SVG.
//!
//! They are made from the program's own output, so that they cannot be wrong.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::world::{World, finish};

/// A picture's file, and the function that draws it.
type Picture = (&'static str, fn() -> String);

/// Every picture of the documents.
pub(crate) const PICTURES: &[Picture] = &[("docs/list.svg", list), ("docs/held.svg", held)];

/// The plan in the picture: one item of each kind.
const STORY: &str = r#"
    add "Fix the failing tests" "Update documentation" "Run the final build" "Choose the licence" "Port to Windows"
    edit 2 --active "Updating documentation"
    add "Install guide" "API reference" --under 2
    edit 3 --after 2
    wait 4 legal
    skip 5 --reason "out of scope"
    start 1
    done 1
    --as claude start 6
    --as claude done 6
    --as claude start 2
"#;

/// Columns of the drawn list, and the width and height of a character in pixels.
const COLUMNS: usize = 62;
const CELL: (usize, usize) = (9, 21);

/// The list of a plan.
fn list() -> String {
    let world = World::new();
    for line in STORY.lines().map(str::trim).filter(|line| !line.is_empty()) {
        world.typed(line).works();
    }
    let drawn = world.typed(&format!("list --view list --width {COLUMNS} --color always")).ok();
    svg("punchlist list", COLUMNS, &format!("$ punchlist list\n{drawn}"))
}

/// An agent that wanted to stop with open items and was refused, shown by the hooks of its session.
fn held() -> String {
    let world = World::new();
    hook(&world, "SessionStart", json!({"source": "startup"}));
    hook(&world, "UserPromptSubmit", json!({"prompt": "Get release 1.2 ready"}));
    for (id, subject) in
        [("1", "Fix the failing test"), ("2", "Update the docs"), ("3", "Run the final build")]
    {
        let input = json!({"subject": subject, "description": ""});
        let result = json!({"task": {"id": id, "subject": subject}});
        tool(&world, "TaskCreate", &input, &result);
    }
    update(&world, "1", "in_progress");
    update(&world, "1", "completed");
    update(&world, "2", "in_progress");
    let said = "All done! Release 1.2 is ready.";
    let refused = hook(&world, "Stop", json!({"last_assistant_message": said}));
    let reason = refused["reason"].as_str().unwrap();
    for (id, status) in [("2", "completed"), ("3", "in_progress"), ("3", "completed")] {
        update(&world, id, status);
    }
    let let_go = hook(&world, "Stop", json!({"last_assistant_message": said}));
    assert_eq!(let_go, Value::Null, "a session without open items may stop");
    let log = world.typed("log --color always").ok();
    let drawn = format!(
        "\u{1b}[36mClaude Code:\u{1b}[0m {said}\n\n\u{1b}[33mPunchlist:\u{1b}[0m {reason}\n\n\
         \u{1b}[36mClaude Code\u{1b}[0m goes on, settles both items, and may stop.\n\n\
         $ punchlist log\n{log}"
    );
    svg("an agent that wanted to stop and was held", widest(&drawn), &drawn)
}

fn widest(text: &str) -> usize {
    let columns = |line: &str| runs(line).iter().map(|it| it.text.chars().count()).sum();
    text.lines().map(columns).max().unwrap_or_default()
}

/// The hook's answer to an event of a session of Claude Code; null if there is none.
fn hook(world: &World, name: &str, fields: Value) -> Value {
    let mut event = json!({
        "session_id": "12345678-aaaa-bbbb-cccc-3b1f90728822",
        "cwd": world.path("project"),
        "hook_event_name": name,
    });
    let Value::Object(fields) = fields else { panic!("{fields}: fields are an object") };
    event.as_object_mut().unwrap().extend(fields);
    let mut command = world.command("home");
    command.args(["hook", "claude"]);
    let answer = finish(command, event.to_string().as_bytes()).ok();
    if answer.is_empty() { Value::Null } else { serde_json::from_str(&answer).unwrap() }
}

fn tool(world: &World, name: &str, input: &Value, result: &Value) {
    let fields = json!({"tool_name": name, "tool_input": input, "tool_response": result});
    assert_eq!(hook(world, "PostToolUse", fields), Value::Null);
}

fn update(world: &World, id: &str, status: &str) {
    let result = json!({"success": true, "taskId": id, "updatedFields": ["status"]});
    tool(world, "TaskUpdate", &json!({"taskId": id, "status": status}), &result);
}

/// An SVG of coloured text. Each run of one style is placed by its column, so that any monospaced
/// font works.
fn svg(label: &str, columns: usize, text: &str) -> String {
    let lines: Vec<Vec<Run>> = text.lines().map(runs).collect();
    let (width, height) = (CELL.0 * (columns + 4), CELL.1 * (lines.len() + 2));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"15\" xml:space=\"preserve\">\n"
    );
    for (row, runs) in lines.iter().enumerate() {
        let y = CELL.1 * (row + 2);
        for run in runs.iter().filter(|run| !run.text.trim().is_empty()) {
            let x = CELL.0 * (run.column + 2);
            let length = CELL.0 * run.text.chars().count();
            let text = run.text.replace('&', "&amp;").replace('<', "&lt;");
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\" fill=\"{}\"{}>{text}</text>",
                run.fill,
                if run.bold { " font-weight=\"bold\"" } else { "" },
            )
            .unwrap();
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// A part of a line in one style.
struct Run {
    column: usize,
    text: String,
    fill: &'static str,
    bold: bool,
}

const PLAIN: &str = "#d7dae0";

/// Splits a line at its colour changes.
fn runs(line: &str) -> Vec<Run> {
    let (mut runs, mut column, mut fill, mut bold) = (Vec::new(), 0, PLAIN, false);
    for (n, part) in line.split("\u{1b}[").enumerate() {
        let text = if n == 0 {
            part
        } else {
            let (codes, text) = part.split_once('m').expect("only colours are drawn");
            for code in codes.split(';') {
                match code {
                    "" | "0" => (fill, bold) = (PLAIN, false),
                    "1" => bold = true,
                    "2" | "90" => fill = "#7f848e",
                    "31" => fill = "#e06c75",
                    "32" => fill = "#98c379",
                    "33" => fill = "#e5c07b",
                    "34" => fill = "#61afef",
                    "35" => fill = "#c678dd",
                    "36" => fill = "#56b6c2",
                    code => panic!("a colour that the picture does not know: {code}"),
                }
            }
            text
        };
        if !text.is_empty() {
            runs.push(Run { column, text: text.to_owned(), fill, bold });
            column += text.chars().count();
        }
    }
    runs
}
