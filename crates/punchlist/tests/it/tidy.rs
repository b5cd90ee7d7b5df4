//! Rules for the whole workspace, checked by tests.
//!
//! Each test collects all violations before it fails, and each message names the file and says what
//! to do. A table here is a decision: a change of it belongs into the review of the change that
//! needs it. What the compiler or clippy can check is left to them.

mod agents;
mod manifest;
mod source;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};

use manifest::Manifest;
use tree::{Rust, files, read, root, rust};

/// Which of our crates a crate may depend on. Every other dependency is forbidden.
const MAY_USE: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("formats", &["model"]),
    ("streams", &["model"]),
    ("store", &["model"]),
    ("sched", &["model"]),
    ("bridge", &["model", "formats", "streams"]),
    ("engine", &["model", "formats", "streams", "sched", "bridge"]),
    ("agent", &["model", "formats", "streams", "sched", "engine"]),
    // The ACP agent runs sessions of `agent` for an editor.
    ("serve", &["model", "formats", "streams", "engine", "agent"]),
    ("tui", &["model", "formats", "streams", "engine", "agent"]),
    (
        "punchlist",
        &[
            "model", "formats", "streams", "store", "bridge", "engine", "sched", "agent", "serve",
            "tui",
        ],
    ),
    ("testkit", &["model", "formats"]),
    ("xtask", &[]),
];

/// Tests of any crate may use these as well.
const TESTS_MAY_USE: &[&str] = &["testkit"];

/// Examples of these crates open a real store, as programs do; the crates themselves name none.
const EXAMPLES_MAY_USE: &[(&str, &str)] =
    &[("engine", "store"), ("agent", "store"), ("serve", "store")];

/// Heavy dependencies, and the crates that keep them away from the others.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("clap", &["punchlist"]),
    ("clap_complete", &["punchlist"]),
    ("clap_mangen", &["punchlist"]),
    ("etcetera", &["punchlist"]),
    ("getrandom", &["engine", "punchlist"]),
    ("toml", &["engine"]),
    ("notify", &["bridge", "store"]),
    ("rusqlite", &["store"]),
    // `serve` is the only HTTP server; `testkit` plays those of others.
    ("axum", &["serve", "testkit"]),
    ("hyper", &["serve"]),
    ("hyper-util", &["serve"]),
    ("form_urlencoded", &["serve"]),
    ("maud", &["serve"]),
    ("subtle", &["engine"]),
    ("brush-parser", &["engine"]),
    // Connections to models are opened by `agent` alone.
    ("genai", &["agent"]),
    ("reqwest", &["agent"]),
    ("rustls", &["agent", "store"]),
    // The PostgreSQL server, and the test kit that starts one.
    ("deadpool", &["store"]),
    ("rustls-native-certs", &["store"]),
    ("tokio-postgres", &["store", "testkit"]),
    ("tokio-postgres-rustls", &["store"]),
    ("grep-regex", &["agent"]),
    ("grep-searcher", &["agent"]),
    ("ignore", &["agent"]),
    ("jsonc-parser", &["bridge"]),
    ("landlock", &["sched"]),
    ("libc", &["sched"]),
    ("seccompiler", &["sched"]),
    ("nucleo-matcher", &["tui"]),
    ("pulldown-cmark", &["tui"]),
    ("ratatui", &["tui"]),
    ("ratatui-textarea", &["tui"]),
    // `agent` is a client of MCP servers, `serve` is one.
    ("rmcp", &["agent", "serve"]),
    ("sse-stream", &["agent"]),
    ("rustix", &["bridge", "engine", "punchlist", "sched", "store", "tui"]),
    ("tokio", &["agent", "engine", "punchlist", "sched", "serve", "store", "testkit", "tui"]),
    ("quick-xml", &["formats"]),
    ("schemars", &["agent", "formats", "streams"]),
    ("unicode-segmentation", &["formats"]),
    ("unicode-width", &["formats"]),
    ("vte", &["formats"]),
];

/// Pure crates, which do no I/O and read no clock, and all their dependencies.
const PURE: &[(&str, &[&str])] = &[
    ("model", &["serde", "serde_json", "uuid", "jiff", "thiserror", "futures-core", "memchr"]),
    ("streams", &["serde", "serde_json", "schemars", "memchr", "aho-corasick", "jiff", "uuid"]),
    (
        "formats",
        &[
            "serde",
            "serde_json",
            "schemars",
            "quick-xml",
            "unicode-width",
            "unicode-segmentation",
            "vte",
            "memchr",
            "strsim",
            "jiff",
            "thiserror",
        ],
    ),
];

/// Words that must not occur in the code of a pure crate.
const IMPURE_WORDS: &[&str] =
    &["async", "await", "tokio", "SystemTime", "Instant", "now_v7", "now_v4", "thread_rng"];

/// Modules of the standard library that a pure crate must not name.
const IMPURE_STD: &[&str] = &["env", "fs", "net", "process", "thread", "os"];

/// Modules for I/O, and the crates that may use them. Only the binary reads its environment; other
/// crates get an options struct.
const DOORS: &[(&str, &[&str])] = &[
    // `store` needs the directory for temporary files, when it copies a database from a read-only
    // medium. `sched` checks whether its program was started as a guardian, and where that program
    // is.
    ("std::env", &["store", "punchlist", "sched", "xtask"]),
    ("process::Command", &["bridge", "sched", "testkit", "xtask"]),
    ("IsTerminal", &["punchlist", "tui", "xtask"]),
    // The guardian in `sched` restores the terminal of a program that was killed.
    ("termios", &["punchlist", "sched", "tui"]),
    // Only `serve` listens, on loopback or behind a proxy, and answers those who have a token or cookie.
    ("TcpListener", &["serve", "testkit"]),
    ("TcpStream", &["serve", "testkit"]),
];

/// Maximum of lines of a file without its tests. Half of it is normal.
const MOST_LINES: usize = 800;

/// Files that may be longer, with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// Maximum of packages in the lock file. Raising it is a decision about our dependencies. PostgreSQL
/// brought the last 32: the driver, its pool, its passwords (SCRAM), and TLS with channel binding. If an
/// update brings ICU (20 packages), pin its alternative again:
/// `cargo update -p idna_adapter --precise 1.1.0`.
const MOST_PACKAGES: usize = 460;

/// Generated documents under `docs/reference`: pages and their files.
const DOCUMENTS: &[(&str, &str)] = &[
    ("verbs", "verbs.md"),
    ("tools", "tools.md"),
    ("exit-codes", "exit-codes.md"),
    ("events-schema", "events.schema.json"),
    ("json", "json.md"),
    ("json-schema", "json.schema.json"),
    ("openapi", "openapi.json"),
];

/// If set, the documents are written instead of compared; `cargo xtask gen` does that.
const WRITE_DOCUMENTS: &str = "PUNCHLIST_WRITE_DOCUMENTS";

/// Directories of build machines: such a path in a file is there by accident.
const MACHINE_PATHS: &[&str] =
    &["/root/", "/work/", "/builds/", "/github/workspace", "/home/runner/", "/Users/runner/"];

#[track_caller]
fn check(breaches: impl IntoIterator<Item = String>) {
    let breaches: Vec<String> = breaches.into_iter().collect();
    assert!(breaches.is_empty(), "\n{}\n", breaches.join("\n"));
}

fn manifests() -> Vec<Manifest> {
    files()
        .iter()
        .filter(|it| it.path.ends_with("/Cargo.toml"))
        .filter_map(|it| Some(Manifest::read(&it.path, it.crate_name()?, &it.text)))
        .collect()
}

fn allowed<'a>(table: &[(&str, &'a [&'a str])], name: &str) -> Option<&'a [&'a str]> {
    table.iter().find(|it| it.0 == name).map(|it| it.1)
}

fn paths_and_lines(it: &Rust, lines: &[usize], what: &str) -> Vec<String> {
    lines.iter().map(|line| format!("{}:{line}: {what}", it.file.path)).collect()
}

#[test]
fn crates_use_only_what_the_arrows_allow() {
    let mut breaches = Vec::new();
    let manifests = manifests();
    for manifest in &manifests {
        let Manifest { path, name, .. } = manifest;
        let Some(arrows) = allowed(MAY_USE, name) else {
            breaches.push(format!("{path}: say in MAY_USE what the new crate {name} may use"));
            continue;
        };
        for used in manifest.ours("dependencies") {
            if !arrows.contains(&used) {
                breaches.push(format!("{path}: {name} may not use {used}; move the code instead"));
            }
        }
        for used in manifest.ours("dev-dependencies") {
            let is_example = EXAMPLES_MAY_USE.contains(&(name.as_str(), used));
            if !arrows.contains(&used) && !TESTS_MAY_USE.contains(&used) && !is_example {
                breaches.push(format!("{path}: tests of {name} may not use {used}; see MAY_USE"));
            }
        }
    }
    for (name, _) in MAY_USE {
        if !manifests.iter().any(|it| it.name == *name) {
            breaches.push(format!("MAY_USE: there is no crate {name}; drop its line"));
        }
    }
    check(breaches);
}

#[test]
fn heavy_dependencies_stay_in_the_crates_that_exist_for_them() {
    let mut breaches = Vec::new();
    for manifest in manifests() {
        let Manifest { path, name, .. } = &manifest;
        for used in manifest.names("dependencies") {
            if allowed(ONLY_IN, used).is_some_and(|crates| !crates.contains(&&name[..])) {
                breaches.push(format!("{path}: {used} belongs elsewhere; see ONLY_IN"));
            }
            if let Some(pure) = allowed(PURE, name)
                && !pure.contains(&used)
                && !used.starts_with("punchlist-")
            {
                breaches.push(format!("{path}: {name} is pure and may not use {used}; see PURE"));
            }
        }
    }
    check(breaches);
}

#[test]
fn manifests_are_plain() {
    let mut breaches = Vec::new();
    for manifest in manifests() {
        let path = &manifest.path;
        for section in manifest.sections() {
            if section == "features" {
                breaches.push(format!("{path}: no cargo features: they multiply what is tested"));
            }
            if section.ends_with("dependencies") {
                for line in
                    manifest.section(section).filter(|it| !it.ends_with(".workspace = true"))
                {
                    breaches.push(format!(
                        "{path}: write `NAME.workspace = true` and put version and features of \
                         `{line}` into the workspace's Cargo.toml, so that all builds agree"
                    ));
                }
            }
        }
        if !manifest.says("lints", "workspace = true") {
            breaches.push(format!("{path}: add `[lints] workspace = true`"));
        }
        if manifest.says("lib", "proc-macro = true") {
            breaches.push(format!("{path}: no procedural macros of ours; write the code out"));
        }
        if manifest.section("package").any(|it| it.starts_with("build")) {
            breaches.push(format!("{path}: no build scripts; generate with `cargo xtask gen`"));
        }
        let directory = path.trim_end_matches("/Cargo.toml");
        let is_library = root().join(directory).join("src/lib.rs").exists();
        if is_library && !manifest.says("lib", "doctest = false") {
            breaches.push(format!("{path}: add `[lib] doctest = false`; each is a slow program"));
        }
    }
    for file in files().iter().filter(|it| it.path.ends_with("/build.rs")) {
        breaches.push(format!("{}: no build scripts; generate with `cargo xtask gen`", file.path));
    }
    check(breaches);
}

#[test]
fn pure_crates_see_neither_clock_nor_world() {
    let mut breaches = Vec::new();
    for it in rust().iter().filter(|it| !it.is_test) {
        let Some(name) = it.file.crate_name() else { continue };
        if allowed(PURE, name).is_none() {
            continue;
        }
        for word in IMPURE_WORDS {
            let what = format!("{name} is pure: no `{word}`; let the caller hand it in");
            breaches.extend(paths_and_lines(it, &it.source.lines_with(word), &what));
        }
        for (line, module) in it.source.std_modules() {
            if IMPURE_STD.contains(&&module[..]) {
                let what = format!("{name} is pure: no `std::{module}`; let the caller hand it in");
                breaches.extend(paths_and_lines(it, &[line], &what));
            }
        }
    }
    check(breaches);
}

#[test]
fn doors_to_the_world_are_opened_only_where_they_belong() {
    let mut breaches = Vec::new();
    // An example is a program of its own, so it must read its environment itself.
    let is_example = |it: &Rust| it.file.path.contains("/examples/");
    for it in rust().iter().filter(|it| !it.is_test && !is_example(it)) {
        let Some(name) = it.file.crate_name() else { continue };
        for (door, _) in DOORS.iter().filter(|it| !it.1.contains(&name)) {
            let what = format!("{name} may not use `{door}`; see DOORS");
            let lines = match door.strip_prefix("std::") {
                None => it.source.lines_with(door),
                Some(door) => {
                    let named = it.source.std_modules().into_iter();
                    named.filter(|(_, module)| module == door).map(|(line, _)| line).collect()
                }
            };
            breaches.extend(paths_and_lines(it, &lines, &what));
        }
    }
    check(breaches);
}

#[test]
fn only_the_store_speaks_sql() {
    let mut breaches = Vec::new();
    for it in rust().iter().filter(|it| !it.is_test) {
        // The test kit's hostile texts are SQL on purpose.
        if matches!(it.file.crate_name(), Some("store" | "testkit")) {
            continue;
        }
        for (line, text) in &it.source.strings {
            if is_sql(text) {
                let what = "SQL belongs into `store`; ask the store instead";
                breaches.extend(paths_and_lines(it, &[*line], what));
            }
        }
    }
    check(breaches);
}

/// The file that opens the store. All others use a trait object from `model`.
const OPENS_THE_STORE: &str = "crates/punchlist/src/database.rs";

#[test]
fn only_the_file_that_opens_the_store_names_its_kind() {
    let is_example = |it: &Rust| it.file.path.contains("/examples/");
    let mut breaches = Vec::new();
    for it in rust().iter().filter(|it| !it.is_test && !is_example(it)) {
        let path = it.file.path.as_str();
        if it.file.crate_name() == Some("store") || path == OPENS_THE_STORE {
            continue;
        }
        for kind in ["Sqlite", "Threaded", "Postgres", "Located"] {
            let what = format!("{path} names `{kind}`; take a store as a trait object instead");
            breaches.extend(paths_and_lines(it, &it.source.lines_with(kind), &what));
        }
    }
    check(breaches);
}

/// Whether a literal is a statement and not a sentence: keywords in capitals anywhere, or in lower
/// case at the beginning and followed by characters that prose does not have.
fn is_sql(text: &str) -> bool {
    const PAIRS: &[(&str, &str)] = &[
        ("SELECT ", " FROM "),
        ("INSERT ", "INTO "),
        ("REPLACE ", "INTO "),
        ("UPDATE ", " SET "),
        ("DELETE ", "FROM "),
        ("CREATE ", "TABLE "),
        ("CREATE ", "INDEX "),
        ("CREATE ", "VIEW "),
        ("CREATE ", "TRIGGER "),
        ("ALTER ", "TABLE "),
        ("DROP ", "TABLE "),
        ("BEGIN ", "IMMEDIATE"),
        ("PRAGMA ", ""),
        ("SAVEPOINT ", ""),
    ];
    let spaced = text.split_whitespace().collect::<Vec<_>>().join(" ") + " ";
    let has_pair = |text: &str, (first, second): &(&str, &str)| {
        text.find(first).is_some_and(|at| text[at + first.len() - 1..].contains(second))
    };
    if PAIRS.iter().any(|pair| has_pair(&spaced, pair)) {
        return true;
    }
    let upper = spaced.to_uppercase();
    let begins = PAIRS.iter().any(|pair| upper.starts_with(pair.0) && has_pair(&upper, pair));
    begins && spaced.contains(['=', '*', '?', '('])
}

#[test]
fn sql_is_told_from_prose() {
    for sql in [
        "SELECT id FROM item WHERE plan = ?1",
        "\n        INSERT OR IGNORE\n        INTO item VALUES (?)",
        "WITH x AS (SELECT 1 FROM y) DELETE FROM z",
        "select * from item",
        "update item set title = ?1",
        "create table x (y text)",
        "PRAGMA journal_mode = WAL",
        "BEGIN IMMEDIATE",
    ] {
        assert!(is_sql(sql), "{sql:?}");
    }
    for prose in [
        "",
        "select an item from the list",
        "Delete from the list what is done; it stays in the journal",
        "update_plan",
        "add a view (--view text) or create one",
        "insert into the list",
        "item 3 was set aside",
    ] {
        assert!(!is_sql(prose), "{prose:?}");
    }
}

#[test]
fn files_are_small() {
    let mut breaches = Vec::new();
    for it in rust().iter().filter(|it| !it.is_test) {
        let (path, lines) = (&it.file.path, it.source.lines_without_tests);
        let exception = LONG_FILES.iter().find(|it| it.0 == path);
        match (lines > MOST_LINES, exception) {
            (true, None) => breaches.push(format!(
                "{path}: {lines} lines without tests, {MOST_LINES} are allowed; it has two jobs, \
                 give the second a file of its own"
            )),
            (false, Some(_)) => breaches.push(format!("LONG_FILES: {path} is short now; drop it")),
            (true, Some(_)) | (false, None) => {}
        }
    }
    for (path, why) in LONG_FILES {
        if !root().join(path).exists() || why.is_empty() {
            breaches.push(format!("LONG_FILES: {path} is gone, or has no reason; drop it"));
        }
    }
    check(breaches);
}

/// `cargo xtask test postgres` finds them by the name of their module.
#[test]
fn tests_that_need_a_server_are_in_a_module_called_postgres() {
    let is_found = |it: &Rust| {
        let path = &it.file.path;
        let is_named = path.ends_with("/postgres.rs") || path.contains("/postgres/");
        is_named || it.file.text.contains("mod postgres {")
    };
    let needs = concat!("needs a server: cargo xtask", " test postgres\"");
    let tests = rust();
    let mut tests = tests.iter().filter(|it| it.file.text.contains(needs)).peekable();
    assert!(tests.peek().is_some(), "the words have changed");
    check(
        tests
            .filter(|it| !is_found(it))
            .map(|it| format!("{}: put its tests into `mod postgres`", it.file.path)),
    );
}

#[test]
fn every_crate_forbids_unsafe_code() {
    let is_root = |path: &str| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    let roots: Vec<Rust> = rust().into_iter().filter(|it| is_root(&it.file.path)).collect();
    assert!(roots.len() >= manifests().len(), "a crate without a root was not found");
    check(
        roots
            .iter()
            .filter(|it| !it.file.text.contains("#![forbid(unsafe_code)]"))
            .map(|it| format!("{}: begin it with `#![forbid(unsafe_code)]`", it.file.path)),
    );
}

/// Large sizes are a question for the review, not an error.
#[test]
#[expect(clippy::print_stdout, reason = "it is there to be read")]
fn large_crates_and_folders_are_printed() {
    const LINES: usize = 10_000;
    const ENTRIES: usize = 12;
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    let mut folders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for it in rust().iter().filter(|it| !it.is_test) {
        let name = it.file.crate_name().unwrap_or_default().to_owned();
        *lines.entry(name).or_default() += it.file.text.lines().count();
        let mut parts: Vec<&str> = it.file.path.split('/').collect();
        while let Some(entry) = parts.pop() {
            let entry = entry.trim_end_matches(".rs").to_owned();
            folders.entry(parts.join("/")).or_default().insert(entry);
        }
    }
    assert!(lines.len() > 8 && folders.len() > 20, "the files were not found");
    for (name, count) in lines.iter().filter(|it| *it.1 > LINES) {
        println!("crate {name}: {count} lines of source, more than {LINES}");
    }
    let is_source = |it: &(&String, &BTreeSet<String>)| it.0.contains("/src");
    for (folder, entries) in folders.iter().filter(is_source).filter(|it| it.1.len() > ENTRIES) {
        println!("folder {folder}: {} entries, more than {ENTRIES}", entries.len());
    }
}

#[test]
fn every_file_begins_by_saying_what_it_is_for() {
    check(rust().iter().filter(|it| !it.file.text.starts_with("//! ")).map(|it| {
        format!(
            "{}: begin with `//! ` and say what it is for, and what it must not do",
            it.file.path
        )
    }));
}

#[test]
fn nothing_unwraps_outside_tests() {
    check(rust().iter().filter(|it| !it.is_test).flat_map(|it| {
        let lines = it.source.lines_with(".unwrap()");
        paths_and_lines(it, &lines, "handle it, or `expect` with the reason why it holds")
    }));
}

#[test]
fn nothing_is_left_over() {
    let mut breaches = Vec::new();
    for it in rust() {
        for word in ["todo!", "unimplemented!", "dbg!"] {
            let lines = source::lines_with(&it.source.code, word);
            breaches.extend(paths_and_lines(&it, &lines, &format!("finish it: `{word}` is left")));
        }
        for (line, comment) in &it.source.comments {
            for word in ["FIXME", "TODO", "XXX", "HACK"] {
                if !source::lines_with(comment, word).is_empty() {
                    let what = format!("do it or drop it: {word} is left in a comment");
                    breaches.extend(paths_and_lines(&it, &[*line], &what));
                }
            }
        }
    }
    check(breaches);
}

/// Codex's name of a sub-agent in a recording. It only looks like a path.
const NAME_LIKE_A_PATH: &str = "/root/research";

#[test]
fn no_file_knows_the_machine_that_it_was_written_on() {
    // A checkout directly under the root, as in a container, has too short a path to be recognised.
    let here = root().to_string_lossy().into_owned();
    let here = Some(&here[..]).filter(|it| it.matches('/').count() > 1);
    let mut breaches = Vec::new();
    for file in files().iter().filter(|it| !it.path.ends_with("tests/it/tidy.rs")) {
        let text = file.text.replace(NAME_LIKE_A_PATH, "");
        for path in MACHINE_PATHS.iter().copied().chain(here) {
            for line in source::lines_with(&text, path) {
                breaches.push(format!("{}:{line}: {path} is a path of one machine", file.path));
            }
        }
    }
    check(breaches);
}

#[test]
fn no_file_is_forgotten() {
    let all = rust();
    let code_of = |path: &str| all.iter().find(|it| it.file.path == path).map(|it| &it.source.code);
    let mut breaches = Vec::new();
    for it in &all {
        let path = &it.file.path;
        let parts: Vec<&str> = path.split('/').collect();
        if let ["crates", _, "tests", program] = parts.as_slice() {
            breaches
                .push(format!("{path}: move it to tests/it/{program}; one test program a crate"));
        }
        let name = match parts.as_slice() {
            [.., "lib.rs" | "main.rs"] | [.., "examples" | "benches" | "bin", _] => continue,
            [.., name, "mod.rs"] => name,
            [.., name] => name.trim_end_matches(".rs"),
            [] => continue,
        };
        let own = path.trim_end_matches(".rs").trim_end_matches("/mod");
        let Some((directory, _)) = own.rsplit_once('/') else { continue };
        let parents = ["mod.rs", "lib.rs", "main.rs"].map(|it| format!("{directory}/{it}"));
        let spellings = [format!("mod {name};"), format!("mod r#{name};")];
        let declares = |parent: &String| {
            let code = code_of(parent).map_or("", |it| &it[..]);
            spellings.iter().any(|it| !source::lines_with(code, it).is_empty())
        };
        if !parents.iter().chain([&format!("{directory}.rs")]).any(declares) {
            breaches.push(format!("{path}: nobody says `mod {name};`, so it is never compiled"));
        }
    }
    check(breaches);
}

#[test]
fn generated_documents_are_what_the_code_generates() {
    let write = std::env::var_os(WRITE_DOCUMENTS).is_some();
    let directory = root().join("docs/reference");
    let mut breaches = Vec::new();
    for (name, file) in DOCUMENTS {
        let output = Command::new(env!("CARGO_BIN_EXE_punchlist"))
            .args(["reference", name])
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        if !output.status.success() || output.stdout.is_empty() {
            let errors = String::from_utf8_lossy(&output.stderr);
            breaches.push(format!("`punchlist reference {name}` fails: {errors}"));
            continue;
        }
        let path = directory.join(file);
        if write {
            fs::create_dir_all(&directory).expect("the directory can be made");
            fs::write(&path, &output.stdout).expect("the document can be written");
        } else if fs::read(&path).ok().as_ref() != Some(&output.stdout) {
            breaches.push(format!("docs/reference/{file}: out of date, run `cargo xtask gen`"));
        }
    }
    for (file, draw) in crate::picture::PICTURES {
        let (picture, drawn) = (root().join(file), draw());
        if write {
            fs::write(&picture, &drawn).expect("the picture can be written");
        } else if fs::read_to_string(&picture).ok().as_ref() != Some(&drawn) {
            breaches.push(format!("{file}: out of date, run `cargo xtask gen`"));
        }
    }
    breaches.extend(agents::in_the_documents(write));
    let known: BTreeSet<String> =
        DOCUMENTS.iter().map(|it| format!("docs/reference/{}", it.1)).collect();
    for file in files().iter().filter(|it| it.path.starts_with("docs/reference/")) {
        if !known.contains(&file.path) {
            breaches.push(format!("{}: nothing generates it; see DOCUMENTS", file.path));
        }
    }
    check(breaches);
}

#[test]
fn documents_point_at_files_that_exist() {
    let mut breaches = Vec::new();
    for file in files().iter().filter(|it| it.path.ends_with(".md")) {
        let directory = file.path.rsplit_once('/').map_or("", |it| it.0);
        for target in links(&file.text) {
            if !root().join(directory).join(target).exists() {
                breaches.push(format!("{}: the link to {target} leads nowhere", file.path));
            }
        }
        for path in code_spans(&file.text).filter(|it| is_our_path(it)) {
            if !root().join(path).exists() {
                breaches.push(format!("{}: there is no `{path}` any more", file.path));
            }
        }
    }
    check(breaches);
}

/// The targets of links into the project.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|it| it.split_once(')'))
        .map(|it| it.0.split('#').next().unwrap_or(it.0))
        .filter(|it| !it.is_empty() && !it.contains(':'))
}

/// The text between single backticks, outside fenced blocks.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    let lines = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    });
    lines.flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Whether it is a path of the project, and not a pattern.
fn is_our_path(span: &str) -> bool {
    const OURS: &[&str] = &["crates/", "xtask/", "docs/", ".ci/", ".cargo/"];
    let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "/._-".contains(it);
    OURS.iter().any(|it| span.starts_with(it)) && span.chars().all(is_plain)
}

#[test]
fn the_architecture_names_every_crate() {
    let text = read("ARCHITECTURE.md").expect("ARCHITECTURE.md is there");
    check(manifests().iter().filter_map(|it| {
        let directory = it.path.trim_end_matches("/Cargo.toml");
        let missing = !text.contains(&format!("`{directory}`"));
        missing.then(|| format!("ARCHITECTURE.md: say what `{directory}` is for"))
    }));
}

#[test]
fn the_changelog_begins_with_what_is_unreleased() {
    let text = read("CHANGELOG.md").expect("CHANGELOG.md is there");
    let first = text.lines().find(|it| it.starts_with("## "));
    assert_eq!(first, Some("## Unreleased"), "CHANGELOG.md: put `## Unreleased` at the top");
}

#[test]
fn the_readme_has_the_two_commands_and_stays_short() {
    let text = read("README.md").expect("README.md is there");
    for command in ["cargo run --release -- ", "cargo xtask test"] {
        assert!(text.contains(command), "README.md: show `{command}`");
    }
    let lines = text.lines().count();
    assert!(lines <= 150, "README.md: {lines} lines, 150 are allowed; move details to docs/");
}

#[test]
fn the_architecture_is_a_map() {
    let text = read("ARCHITECTURE.md").expect("ARCHITECTURE.md is there");
    let words = text.split_whitespace().count();
    assert!(words <= 1500, "ARCHITECTURE.md: {words} words, 1500 are allowed; use docs/design/");
}

#[test]
fn both_licences_are_there_in_full() {
    for (path, words) in [
        ("LICENSE-MIT", "WITHOUT WARRANTY OF ANY KIND"),
        ("LICENSE-APACHE", "END OF TERMS AND CONDITIONS"),
    ] {
        let text = read(path).expect("the licence is there");
        assert!(text.contains(words), "{path}: put the whole licence back");
    }
    let manifest = read("Cargo.toml").expect("Cargo.toml is there");
    assert!(manifest.contains("license = \"MIT OR Apache-2.0\""), "Cargo.toml: name both");
}

#[test]
fn the_lock_file_stays_within_its_limit() {
    let text = read("Cargo.lock").expect("Cargo.lock is there");
    let packages = text.lines().filter(|it| *it == "[[package]]").count();
    assert!(
        packages <= MOST_PACKAGES,
        "Cargo.lock: {packages} packages, {MOST_PACKAGES} are allowed; do without the new \
         dependency, or raise MOST_PACKAGES and say in the commit why it is worth it"
    );
}
