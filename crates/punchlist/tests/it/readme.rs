//! The commands in documents: those of the README are run, those of other pages must name existing
//! verbs and options.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use crate::person::{Person, typed};
use crate::world::{Ran, World, finish, words};

/// How a line of the README is run, if not as it is.
enum Instead {
    /// Not at all.
    Skip,
    /// By a person at a terminal, who says yes to each question.
    AtATerminal,
    /// With an option added.
    With(&'static str),
}

/// The exceptions: the beginning of the line, what is done instead, and why. Every other line is
/// run by a shell as it is.
const EXCEPTIONS: &[(&str, Instead, &str)] = &[
    ("cargo run --release -- run examples/", Instead::Skip, "`examples.rs` runs the examples"),
    ("cargo xtask test", Instead::Skip, "this test is part of it"),
    ("cargo install --path crates/punchlist", Instead::Skip, "it builds what is tested here"),
    ("punchlist install claude --dry-run", Instead::With(""), "unlike `install`, it asks nothing"),
    ("punchlist install ", Instead::AtATerminal, "it asks before it writes"),
    ("punchlist uninstall ", Instead::AtATerminal, "it asks before it writes"),
    ("punchlist serve", Instead::Skip, "`serve.rs` tests it; it runs until somebody ends it"),
    ("punchlist watch", Instead::With("--once"), "it runs until somebody presses q"),
    (
        "punchlist serve --open",
        Instead::Skip,
        "it serves until it is interrupted; `serve.rs` tests it",
    ),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of a document that are fenced with this word.
fn blocks<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let fence = format!("\n```{word}\n");
    text.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// A line without its comment, and the exit code in the comment (`# exit 3: …`), else 0.
fn command_and_code(line: &str) -> (&str, i32) {
    let (command, comment) = line.split_once(" #").unwrap_or((line, ""));
    let code = comment.trim_start().strip_prefix("exit ").and_then(|it| it.split(':').next());
    (command.trim(), code.map_or(0, |it| it.parse().expect("an exit code is a number")))
}

/// A shell with the program on its search path, in the project.
fn shell(world: &World, line: &str) -> Command {
    let like = world.command("project");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", line]).env_clear().current_dir(world.path("project"));
    shell.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
    shell.env("TMPDIR", world.path(""));
    shell
}

/// The terminal of a person who says yes to each question.
fn at_a_terminal(world: &World, line: &str) -> Ran {
    let mut command = world.command("project");
    command.args(&words(line)[1..]);
    let mut person = Person::calls(&command, &typed(&command));
    for _ in 0..8 {
        if !person.sees_question() {
            break;
        }
        person.types("y\n");
    }
    let (code, out) = person.ends();
    Ran { code, out, err: String::new() }
}

fn run(world: &World, line: &str) -> Option<Ran> {
    let exception = EXCEPTIONS.iter().find(|it| line.starts_with(it.0)).map(|it| &it.1);
    match exception {
        Some(Instead::Skip) => None,
        Some(Instead::AtATerminal) => Some(at_a_terminal(world, line)),
        Some(Instead::With(more)) => Some(finish(shell(world, &format!("{line} {more}")), b"")),
        None => Some(finish(shell(world, line), b"")),
    }
}

#[test]
fn every_command_of_the_readme_works() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let world = World::new();
    fs::create_dir_all(world.path("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_punchlist"), world.path("bin/punchlist")).unwrap();
    for example in fs::read_dir(root().join("examples")).unwrap() {
        let example = example.unwrap();
        let name = example.file_name().into_string().unwrap();
        world.write(&format!("project/examples/{name}"), fs::read(example.path()).unwrap());
    }
    // The plan file in the README is the one that its commands name.
    let [plan] = blocks(&text, "markdown")[..] else { panic!("README.md: show one plan file") };
    world.write("project/release.md", format!("{plan}\n"));
    let mut ran_lines = 0;
    for line in blocks(&text, "sh").iter().flat_map(|it| it.lines()) {
        let (command, code) = command_and_code(line);
        let Some(ran) = run(&world, command) else { continue };
        assert_eq!(ran.code, code, "{command}\n{}{}", ran.out, ran.err);
        ran_lines += 1;
    }
    assert!(ran_lines > 10, "README.md: only {ran_lines} commands were run");
    for (beginning, _, why) in EXCEPTIONS {
        assert!(!why.is_empty(), "EXCEPTIONS: say why {beginning:?} is one");
        assert!(text.contains(beginning), "EXCEPTIONS: the README has no {beginning:?}; drop it");
    }
}

/// The help of each verb, by its name.
fn helps() -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("docs/reference/verbs.md")).unwrap();
    let section = |it: &str| it.split_once('\n').map(|(name, help)| (name.into(), help.into()));
    text.split("\n## ").skip(1).filter_map(section).collect()
}

#[test]
fn every_command_of_the_other_documents_names_a_verb_and_options_that_exist() {
    let helps = helps();
    let help_of = |name: &str| helps.iter().find(|it| it.0 == name).map(|it| &it.1);
    let globals = help_of("Options of every verb").unwrap();
    let mut wrong = Vec::new();
    let mut pages = vec![root().join("CONTRIBUTING.md")];
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        pages.push(entry.unwrap().path());
    }
    for page in pages.iter().filter(|it| it.extension().is_some_and(|it| it == "md")) {
        let text = fs::read_to_string(page).unwrap();
        for line in blocks(&text, "sh").iter().flat_map(|it| it.lines()) {
            let (command, _) = command_and_code(line);
            for call in command.split("punchlist ").skip(1) {
                let call = call.split(['|', ';', '>', '<', '&']).next().unwrap();
                let words = words(call);
                let Some(verb) = words.iter().find(|it| !it.starts_with('-')) else { continue };
                let Some(help) = help_of(verb) else {
                    wrong.push(format!("{}: there is no verb {verb}: {line}", page.display()));
                    continue;
                };
                for option in words.iter().filter(|it| it.starts_with("--") && it.len() > 2) {
                    let option = option.split('=').next().unwrap();
                    if !help.contains(option) && !globals.contains(option) {
                        wrong.push(format!("{}: {verb} has no {option}", page.display()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn a_comment_announces_an_exit_code() {
    assert_eq!(command_and_code("punchlist list"), ("punchlist list", 0));
    assert_eq!(command_and_code("punchlist list   # what is there"), ("punchlist list", 0));
    assert_eq!(command_and_code("punchlist done 1  # exit 3: refused"), ("punchlist done 1", 3));
}
