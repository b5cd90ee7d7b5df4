//! Real shells run exactly the commands that the analysis predicts.
//!
//! Command lines are generated. Those that the analysis understands are run by every shell on this
//! machine, in an empty directory, with nothing on the path but programs that record how they were
//! called. Every program that ran must have been predicted, and so must every file that was
//! created.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use punchlist_engine::policy::shell::commands;
use punchlist_sched::policy::{Commands, Words};

/// Programs that record how they were called. The second one fails.
const PROGRAMS: &[&str] = &["a", "b", "cc", "git", "ls", "echo", "x", "rm"];

/// The programs of this machine that run other programs.
const RUNNERS: &[&str] =
    &["env", "timeout", "nice", "nohup", "xargs", "find", "sh", "time", "setsid"];

const RECORD: &str = "#!/bin/sh
printf '%s\\037' \"${0##*/}\" \"$@\" '<end>' >> \"$TRACE\"
case ${0##*/} in b) exit 1;; esac
";

/// The directory with the programs.
struct World {
    directory: tempfile::TempDir,
    shells: Vec<(PathBuf, &'static [&'static str])>,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let bin = directory.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for name in PROGRAMS {
            fs::write(bin.join(name), RECORD).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let found = |name: &str| {
            ["/bin", "/usr/bin"].iter().map(|it| Path::new(it).join(name)).find(|it| it.exists())
        };
        for name in RUNNERS {
            if let Some(real) = found(name) {
                symlink(real, bin.join(name)).unwrap();
            }
        }
        let candidates: &[(&str, &'static [&'static str])] = &[
            ("sh", &[]),
            ("dash", &[]),
            ("bash", &["--posix"]),
            ("bash", &[]),
            ("busybox", &["sh"]),
            ("ksh", &[]),
            ("mksh", &[]),
            ("zsh", &["--emulate", "sh"]),
            ("yash", &["--posix"]),
        ];
        let mut shells: Vec<_> = candidates
            .iter()
            .filter_map(|(name, options)| Some((fs::canonicalize(found(name)?).ok()?, *options)))
            .collect();
        // `sh` is often one of the others.
        shells.sort();
        shells.dedup();
        Self { directory, shells }
    }

    /// Runs a line in a shell. Returns how programs were called, and which files were created.
    fn run(
        &self,
        shell: &Path,
        options: &[&str],
        line: &str,
    ) -> (Vec<Vec<String>>, BTreeSet<String>) {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let home = self.directory.path().join(format!("home-{number}"));
        let trace = self.directory.path().join(format!("trace-{number}"));
        fs::create_dir(&home).unwrap();
        // `output` waits until the pipe is closed, so also for background commands.
        Command::new("/usr/bin/timeout")
            .args(["-s", "KILL", "10"])
            .arg(shell)
            .args(options)
            .args(["-c", line])
            .env_clear()
            .env("PATH", self.directory.path().join("bin"))
            .env("HOME", &home)
            .env("TRACE", &trace)
            .current_dir(&home)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = fs::read(&trace).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut calls = vec![Vec::new()];
        for word in text.split_terminator('\u{1f}') {
            match word {
                "<end>" => calls.push(Vec::new()),
                word => calls.last_mut().unwrap().push(word.to_owned()),
            }
        }
        calls.pop();
        let files = fs::read_dir(&home).unwrap().flatten();
        let files = files.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
        fs::remove_dir_all(&home).unwrap();
        fs::remove_file(&trace).ok();
        (calls, files)
    }

    /// Checks a line with every shell. Returns whether the analysis understands it.
    fn check(&self, line: &str) -> Result<bool, String> {
        let all = match commands(line) {
            Commands::All(all) => all,
            Commands::Opaque => return Ok(false),
            Commands::None => return Err(format!("{line:?} is a command line")),
        };
        for (shell, options) in &self.shells {
            let (calls, files) = self.run(shell, options, line);
            for call in calls {
                if !all.iter().any(|it| is_named(it, &call)) {
                    return Err(format!(
                        "{line:?}: {shell:?} {options:?} ran {call:?}, not in {all:?}"
                    ));
                }
            }
            for file in files {
                let is_named = |it: &Words| {
                    it.is_write() && (it.more || it.known.get(1).is_some_and(|it| *it == file))
                };
                if !all.iter().any(is_named) {
                    return Err(format!(
                        "{line:?}: {shell:?} {options:?} wrote {file:?}, not in {all:?}"
                    ));
                }
            }
        }
        Ok(true)
    }
}

/// Whether a call was predicted, word by word.
fn is_named(words: &Words, call: &[String]) -> bool {
    let begins = call.starts_with(&words.known);
    begins && (words.more || call.len() == words.known.len())
}

#[test]
fn shells_run_what_was_foretold() {
    let world = World::new();
    assert!(!world.shells.is_empty());
    for line in [
        "a; git status && b || cc 'x y' | ls \"z\" & rm",
        "a\n\nb\n# c'\ncc # d\n",
        "(a; (b)); { cc; }; ! a",
        "if a; then b; else cc; fi; while b; do a; done; until a; do b; done",
        "for f in 1 2 '3 4'; do a $f; git \"$f\" x; done",
        "case x in (y) a;; x|z) b;; *) cc;; esac",
        "echo $(a \"$(b)\" | cc) \"$(git x)\"",
        "a > f1 2>> f2; b >f3 2>&1 | cc >| 'f 4'; > f5; { a; } > f6; a > /dev/null",
        "nohup timeout 9 nice -n 1 a x; time a; time -p b; a | xargs b c",
        "a \\\n  b \\\n  cc",
        "'a' \"b\" \\a; g\"i\"t 'x'\\''y'",
        "find . -name x; env; sh -- a",
    ] {
        world.check(line).unwrap();
    }
    let understood = world.check("a; git status && b || cc 'x y' | ls \"z\" & rm").unwrap();
    assert!(understood, "the test would prove nothing");
}

/// Pieces of command lines, above all those in which shells differ.
const BITS: &[&str] = &[
    "a",
    "b",
    "cc",
    "git",
    "ls",
    "x",
    "rm",
    "echo",
    "a ",
    "b ",
    "rm x",
    " ",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    "\n",
    ";",
    ";",
    " ; ",
    "&&",
    " && ",
    "||",
    " || ",
    "|",
    " | ",
    "&",
    " & ",
    "|&",
    ";;",
    ";&",
    "(",
    ")",
    "$(",
    ")",
    "((",
    "))",
    "{",
    "{ ",
    "}",
    "; }",
    "`",
    "'",
    "'",
    "\"",
    "\"",
    "\\",
    "\\\n",
    " \\\n ",
    "#",
    " #",
    " # ",
    "$",
    "$a",
    "${a}",
    "${a:-b}",
    "$'",
    "$\"",
    "$((",
    "!",
    "! ",
    "=",
    "A=b",
    "A=b ",
    "~",
    "*",
    "?",
    "[",
    "]",
    "[[ ",
    " ]]",
    "<",
    ">",
    ">>",
    ">|",
    "> f",
    " > f ",
    "2>&1",
    " 2>&1 ",
    ">&",
    "&>",
    "<<",
    "<<E\n",
    "\nE\n",
    "<<<",
    "<(",
    ">(",
    "<>",
    "2>",
    "12>",
    "-",
    "--",
    "-n",
    "-c",
    "1",
    "2",
    "{a,b}",
    "{}",
    "if ",
    "; then ",
    "; fi",
    "else ",
    "elif ",
    "for f in ",
    "; do ",
    "; done",
    "while ",
    "until ",
    "case ",
    " in ",
    " esac",
    "a) ",
    "function ",
    "a()",
    "time ",
    "eval ",
    "exec ",
    "env ",
    "xargs ",
    "timeout 1 ",
    "nohup ",
    "nice ",
    "sh -c ",
    "sh ",
    "command ",
    "find . -exec ",
    "\\;",
    "é",
    "'é'",
    "\r",
    "\u{a0}",
    "a\\ b",
    "'a b'",
    "\"a b\"",
    "\"$f\"",
    "$f",
    "$(a)",
    "\"$(b x)\"",
    "cd ",
    "break",
    "true",
    ":",
    "\\'",
    "\\\"",
    "'\\'",
    "\"\\\"\"",
    "#'",
    "\n#",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(BITS), 1..14).prop_map(|bits| bits.concat())
}

/// A well-formed line, with an arbitrary piece in some places.
fn sentence() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        8 => prop::sample::select(vec!["a", "x", "'y z'", "\"q\"", "-n", "$f", "\"$f\"", "*", "\\$", "1"])
            .prop_map(str::to_owned),
        1 => prop::sample::select(BITS).prop_map(str::to_owned),
    ];
    let name =
        prop::sample::select(vec!["a", "b", "cc", "git", "'ls'", "\\rm", "nohup a", "timeout 5 b"]);
    let redirect =
        prop::sample::select(vec!["", "", "", "> f", "2>&1", ">> 'g h'", "2>/dev/null", "< f"]);
    let simple = (name, prop::collection::vec(word, 0..3), redirect)
        .prop_map(|(name, words, redirect)| format!("{name} {} {redirect}", words.join(" ")));
    simple.prop_recursive(4, 24, 3, |inner| {
        let join = prop::sample::select(vec![";", "&&", "||", "|", "&", "\n", " # x\n", "; # '\n"]);
        prop_oneof![
            (inner.clone(), join, inner.clone()).prop_map(|(a, join, b)| format!("{a}{join} {b}")),
            inner.clone().prop_map(|it| format!("({it})")),
            inner.clone().prop_map(|it| format!("{{ {it}\n}}")),
            inner.clone().prop_map(|it| format!("echo $({it})")),
            inner.clone().prop_map(|it| format!("echo \"x $({it})\" y")),
            inner.clone().prop_map(|it| format!("echo `{it}`")),
            inner.clone().prop_map(|it| format!("! {it}")),
            inner.clone().prop_map(|it| format!("time {it}")),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!("if {a}\nthen {b}\nelse {a}\nfi")),
            inner.clone().prop_map(|it| format!("for f in 1 $(a) x\ndo {it}\ndone")),
            inner.clone().prop_map(|it| format!("case x in a|x) {it}\n;; *) b;; esac")),
            inner.prop_map(|it| format!("while {it}\ndo a\nbreak\ndone > f")),
        ]
    })
}

/// The number of cases from the environment, or a number that is quick.
fn cases(usual: u32) -> ProptestConfig {
    let cases =
        std::env::var("PROPTEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(usual);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn shells_run_nothing_else_of_any_soup() {
    let world = World::new();
    let mut runner = proptest::test_runner::TestRunner::new(cases(3_000));
    runner.run(&soup(), |line| world.check(&line).map(drop).map_err(TestCaseError::fail)).unwrap();
}

#[test]
fn shells_run_nothing_else_of_any_sentence() {
    let world = World::new();
    let understood = AtomicU32::new(0);
    let mut runner = proptest::test_runner::TestRunner::new(cases(150));
    runner
        .run(&sentence(), |line| {
            let ran = world.check(&line).map_err(TestCaseError::fail)?;
            understood.fetch_add(u32::from(ran), Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    assert!(understood.into_inner() > 10, "the test would prove nothing");
}

/// Longer lines that are only parsed. An input without a bound on time or memory would show here by
/// never ending.
#[test]
fn any_soup_has_an_answer() {
    let bits = prop::collection::vec(prop::sample::select(BITS), 1..40);
    let mut runner = proptest::test_runner::TestRunner::new(cases(10_000));
    runner
        .run(&bits.prop_map(|bits| bits.concat()), |line| {
            commands(&line);
            Ok(())
        })
        .unwrap();
}
