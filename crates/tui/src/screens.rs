//! The pictures of `docs/screens.md`: what the code draws, in a terminal emulator, as SVG.
//!
//! A test compares them with the code. `cargo xtask screens` makes the test write them instead.

mod samples;

use std::fs;
use std::path::{Path, PathBuf};

use punchlist_formats::text::Line;
use punchlist_testkit::picture::{CAPTURED, Captured, Colours, svg};

use crate::theme::Theme;

/// If set, the pictures are written instead of compared.
const WRITE: &str = "PUNCHLIST_WRITE_DOCUMENTS";

/// The beginning of the document.
const HEAD: &str = "\
# Screens

What each screen looks like. `cargo xtask screens` makes the pictures: those of the terminal UI show the
program in tmux, with a model that plays a scenario; the others are drawn from the code, and a test compares
them. Colours are those of a theme; `NO_COLOR` switches all of them off.
";

/// A screen of the document.
struct Screen {
    /// The name of its file.
    name: &'static str,
    /// The heading of its section. Screens with the same one share a section.
    title: &'static str,
    /// What a reader should know, in a paragraph.
    about: &'static str,
    columns: u16,
    rows: u16,
    theme: &'static str,
    /// The text, with its escape sequences, that a terminal of this size gets.
    draw: fn(&Self) -> String,
}

impl Screen {
    fn theme(&self) -> Theme {
        Theme::named(self.theme).expect("a screen names a theme that exists")
    }

    /// The lines of a view, as this screen's theme draws them.
    fn ansi(&self, lines: &[Line]) -> String {
        let lines: Vec<String> = lines.iter().map(|it| self.theme().ansi(it)).collect();
        lines.join("\r\n")
    }

    fn picture(&self) -> String {
        let size = |it: u16| std::num::NonZeroU16::new(it).expect("a screen has a size");
        let mut terminal = vt100::Parser::new(size(self.rows), size(self.columns), 0);
        terminal.process((self.draw)(self).as_bytes());
        svg(self.title, terminal.screen(), Colours::of(self.theme))
    }
}

/// Every screen, in the order of the document.
const SCREENS: &[Screen] = &[
    Screen {
        name: "list",
        title: "`punchlist list`",
        about: "Numbers are stable: what is typed is what was shown. Beside a completed item stands \
                its evidence, beside an open one what it waits for. The bar counts items without \
                children.",
        columns: 64,
        rows: 11,
        theme: "dark",
        draw: samples::list,
    },
    Screen {
        name: "run",
        title: "`punchlist run`",
        about: "Each step with its time and the last line that it printed, and who works on it.",
        columns: 80,
        rows: 7,
        theme: "dark",
        draw: samples::run,
    },
    Screen {
        name: "watch",
        title: "`punchlist watch`",
        about: "All agents on this machine. Whoever waits for a person comes first.",
        columns: 80,
        rows: 9,
        theme: "dark",
        draw: samples::watch,
    },
    Screen {
        name: "pane",
        title: "`punchlist watch --pane`",
        about: "One agent's plan, for a narrow split beside its terminal.",
        columns: 34,
        rows: 9,
        theme: "dark",
        draw: samples::pane,
    },
    Screen {
        name: "question",
        title: "A question",
        about: "What an agent wants to do, why it is asked, and the keys that answer. Nothing is cut \
                off at the edge of the screen.",
        columns: 80,
        rows: 6,
        theme: "dark",
        draw: samples::question,
    },
    Screen {
        name: "question-edit",
        title: "A question",
        about: "An edit shows its diff, with line numbers and the changed words marked. From 121 \
                columns on, the old and the new text stand side by side.",
        columns: 80,
        rows: 13,
        theme: "dark",
        draw: samples::edit,
    },
    Screen {
        name: "diff",
        title: "A diff on a wide screen",
        about: "Tabs, carriage returns and characters that a terminal would hide are drawn.",
        columns: 124,
        rows: 11,
        theme: "dark",
        draw: samples::diff,
    },
    Screen {
        name: "markdown",
        title: "What an agent says",
        about: "Markdown is rendered while it arrives. The target of a link is shown where it differs \
                from its text. Code can be copied: nothing is drawn around it.",
        columns: 80,
        rows: 22,
        theme: "dark",
        draw: samples::markdown,
    },
    Screen {
        name: "theme-dark",
        title: "Themes",
        about: "`dark`: for a dark background, with the 256 colours.",
        columns: 64,
        rows: 17,
        theme: "dark",
        draw: samples::theme,
    },
    Screen {
        name: "theme-light",
        title: "Themes",
        about: "`light`: for a light background, with the 256 colours.",
        columns: 64,
        rows: 17,
        theme: "light",
        draw: samples::theme,
    },
    Screen {
        name: "theme-contrast",
        title: "Themes",
        about: "`contrast`: every text has a contrast of at least 7 to 1.",
        columns: 64,
        rows: 17,
        theme: "contrast",
        draw: samples::theme,
    },
    Screen {
        name: "theme-sixteen",
        title: "Themes",
        about: "`sixteen`: the terminal's own colours, whatever they are. This is the default.",
        columns: 64,
        rows: 17,
        theme: "sixteen",
        draw: samples::theme,
    },
];

/// The document: a section for each title, with its screens.
fn document() -> String {
    let mut text = HEAD.to_owned();
    let mut last = "";
    let captured = CAPTURED.iter().map(|it| {
        let Captured { name, title, about, columns, rows } = *it;
        (name, title, about, columns, rows)
    });
    let drawn = SCREENS.iter().map(|it| {
        let Screen { name, title, about, columns, rows, .. } = *it;
        (name, title, about, columns, rows)
    });
    for (name, title, about, columns, rows) in captured.chain(drawn) {
        if title != last {
            last = title;
            text.push_str(&format!("\n## {title}\n"));
        }
        let alt = title.replace('`', "");
        text.push_str(&format!("\n{about}\n\n![{alt}, {columns}×{rows}](screens/{name}.svg)\n"));
    }
    text
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn the_pictures_show_what_the_code_draws() {
    let directory = docs().join("screens");
    let mut files: Vec<(PathBuf, String)> = SCREENS
        .iter()
        .map(|it| (directory.join(format!("{}.svg", it.name)), it.picture()))
        .collect();
    files.push((docs().join("screens.md"), document()));
    let writes = std::env::var_os(WRITE).is_some();
    if writes {
        fs::create_dir_all(&directory).unwrap();
    }
    let mut old = Vec::new();
    for (path, text) in &files {
        if writes {
            fs::write(path, text).unwrap();
        } else if fs::read_to_string(path).ok().as_ref() != Some(text) {
            old.push(path.file_name().unwrap_or_default().to_owned());
        }
    }
    assert!(
        old.is_empty(),
        "run `cargo xtask screens`: these are not what the code draws: {old:?}"
    );
    files.extend(CAPTURED.iter().map(|it| (directory.join(it.file()), String::new())));
    let known = |it: &PathBuf| files.iter().any(|file| file.0.file_name() == it.file_name());
    let there = fs::read_dir(&directory).unwrap().map(|it| it.unwrap().path());
    let extra: Vec<PathBuf> = there.filter(|it| !known(it)).collect();
    assert!(extra.is_empty(), "no screen draws these: {extra:?}");
    let lacks: Vec<String> =
        CAPTURED.iter().map(Captured::file).filter(|it| !directory.join(it).exists()).collect();
    assert!(writes || lacks.is_empty(), "run `cargo xtask screens` where tmux is: {lacks:?}");
}

#[test]
fn the_lines_of_every_screen_fill_it_and_none_scrolls_out() {
    let height = |it: &Screen| (it.draw)(it).split("\r\n").count();
    let wrong = SCREENS.iter().filter(|it| height(it) != usize::from(it.rows));
    let wrong: Vec<String> =
        wrong.map(|it| format!("{}: {} rows, {} lines", it.name, it.rows, height(it))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
