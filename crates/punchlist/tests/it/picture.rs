//! The picture on the front page: what the program really draws, as SVG.
//!
//! Made from the program's own output, so that it cannot show what is not so.

use std::fmt::Write as _;

use crate::world::World;

/// The plan that is drawn: one of each sort.
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

const COLUMNS: usize = 62;
const CELL: (usize, usize) = (9, 21);

/// The drawn list as an SVG document.
pub(crate) fn list() -> String {
    let world = World::new();
    for line in STORY.lines().map(str::trim).filter(|line| !line.is_empty()) {
        world.typed(line).works();
    }
    let drawn = world.typed(&format!("list --view list --width {COLUMNS} --color always")).ok();
    svg(&format!("$ punchlist list\n{drawn}"))
}

/// Text with colours as a picture. Every run of one style is placed by its column, so that the font
/// of the reader may be what it likes.
fn svg(text: &str) -> String {
    let lines: Vec<Vec<Run>> = text.lines().map(runs).collect();
    let (width, height) = (CELL.0 * (COLUMNS + 4), CELL.1 * (lines.len() + 2));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"punchlist list\">\n\
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

/// A stretch of text in one style.
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
