//! `sessions`: the list, the search, one session, the documents, the end and the deletion.

use serde_json::{Value, json};

use super::{Project, complete, create, shell, short, silence};

/// A token that no document may show.
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// A model that plans, works, is refused once, and answers.
fn story() -> Value {
    json!([
        {"text": "A plan.", "calls": [create(&["Dig", "Pour"])]},
        {"calls": [shell("echo dug"), complete(1)]},
        {"text": "It is done."},
        {"calls": [complete(2)]},
        {"text": "Now it is done.", "usage": {"input": 10, "output": 5}},
        {"text": "Nothing is left to do.", "usage": {"input": 20, "output": 5}},
    ])
}

#[test]
fn sessions_are_listed_and_shown_with_all_their_turns() {
    let project = Project::new(&story());
    assert_eq!(
        project.run(&["sessions"]).ok(),
        "No session here. `punchlist do TASK` begins one.\n"
    );
    assert_eq!(project.done("Lay the foundation").code, 0);
    assert_eq!(project.run(&["resume", &project.id(), "What is left?"]).code, 0);
    let mut told = String::new();
    for call in [&["sessions"][..], &["sessions", "--all"], &["sessions", "show"]] {
        told.push_str(&format!("$ punchlist {}\n{}\n", call.join(" "), project.run(call).ok()));
    }
    told!(project.without_chance(&told));
    let shown = project.run(&["sessions", "show", "--json"]).json();
    assert_eq!((&shown["turns"], &shown["state"]), (&json!(2), &json!("ended")));
    assert_eq!(shown["used"]["input"], 30);
    let endings: Vec<&Value> =
        shown["turnList"].as_array().unwrap().iter().map(|it| &it["ending"]).collect();
    assert_eq!(endings, ["answered", "answered"]);
    // Options of every verb may come first.
    let first = project.run(&["-c", "gate=off", "sessions", "show", "--json"]).json();
    assert_eq!(first["id"], shown["id"]);
}

#[test]
fn a_session_of_another_project_is_only_listed_with_all() {
    let project = Project::new(&story());
    project.done("Dig");
    project.world.repository("other/.git");
    let run = |arguments: &[&str]| {
        let mut command = project.world.command("other");
        command.env_remove("PUNCHLIST_NOW").env_remove("PUNCHLIST_SEED").args(arguments);
        crate::world::finish(command, b"")
    };
    assert!(run(&["sessions"]).ok().starts_with("No session here."));
    assert!(run(&["sessions", "--all"]).ok().contains("Dig"));
    let refused = run(&["sessions", "show"]);
    assert_eq!(refused.code, 4, "{}", refused.err);
    assert!(refused.err.contains("this project has no session"), "{}", refused.err);
}

#[test]
fn the_search_takes_every_text_as_it_is() {
    let project = Project::new(&json!([{"text": "An answer with 50% and 'quotes' and ÄPFEL."}]));
    project.done("Plain task");
    project.done("A task with a_b, \"double\" \\ back, * star and -- dashes; DROP TABLE turn");
    let found =
        |text: &str| project.run(&["sessions", "--json", "--", text]).json()["sessions"].clone();
    let count = |text: &str| found(text).as_array().unwrap().len();
    for (text, expected) in [
        ("task", 2),
        ("PLAIN", 1),
        ("50%", 2),
        ("%", 2),
        ("5%0", 0),
        ("a_b", 1),
        ("a-b", 0),
        ("'quotes'", 2),
        ("' OR 1=1 --", 0),
        ("\"double\"", 1),
        ("\\ back", 1),
        ("* star", 1),
        ("-dashes", 0),
        ("; DROP TABLE turn", 1),
        ("äpfel", 2),
        ("(", 0),
        ("NEAR(", 0),
        ("", 2),
        // Words of what is stored around the texts are not found.
        ("purpose", 0),
    ] {
        assert_eq!(count(text), expected, "{text:?}: {}", found(text));
    }
    let none = project.run(&["sessions", "no such text"]).ok();
    assert_eq!(none, "No session here contains \"no such text\".\n");
}

#[test]
fn documents_quote_what_others_wrote_and_show_no_secret() {
    let hostile =
        format!("Look: \u{1b}[2J\u{202e} <script>alert(1)</script>\n```\n# heading\n```\n{TOKEN}");
    let project = Project::new(&json!([
        {"text": hostile, "calls": [create(&["Dig"]), shell("echo '<img src=x>'")]},
        {"calls": [complete(1)]},
        {"text": hostile},
    ]));
    let ran = project.done(&format!("Say it {TOKEN} <b>now</b>"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    for format in ["jsonl", "markdown", "html", "show", "list"] {
        let text = match format {
            "show" => project.run(&["sessions", "show"]).ok(),
            "list" => project.run(&["sessions"]).ok(),
            format => project.run(&["sessions", "export", "--format", format]).ok(),
        };
        assert!(!text.contains(TOKEN), "{format}: {text}");
        let bad = |ch: char| ch.is_control() && ch != '\n' || ch == '\u{202e}';
        assert!(!text.contains(bad), "{format}: {text:?}");
        match format {
            "html" => {
                assert!(text.starts_with("<!doctype html>") || text.starts_with("<!DOCTYPE html>"));
                for tag in ["<script", "<img", "<b>", "src=\"http", "href=\"http"] {
                    assert!(!text.contains(tag), "{tag}: {text}");
                }
            }
            "markdown" => {
                // The fence around the text is longer than the one inside.
                assert!(text.contains("````"), "{text}");
            }
            "jsonl" => {
                for line in text.lines() {
                    serde_json::from_str::<Value>(line).unwrap();
                }
            }
            _ => {}
        }
    }
    let jsonl = project.run(&["sessions", "export", "--format", "jsonl"]).ok();
    assert_eq!(project.run(&["sessions", "export", "--json"]).ok(), jsonl);
    let wrong = project.run(&["sessions", "export", "--format", "pdf"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("it is jsonl, markdown or html"), "{}", wrong.err);
}

#[test]
fn a_session_that_runs_elsewhere_is_stopped_and_leaves_nothing_in_progress() {
    let start = json!({"todoId": "1", "status": "in_progress"});
    let project = Project::new(&json!([
        {"calls": [create(&["Dig"]), super::call("update_todo", start)]},
        silence(),
    ]));
    let running = project.starts(project.does(&[], "Dig"), |it| {
        it.sessions().first().is_some_and(|it| it["turns"] == 1) && it.entries().len() == 4
    });
    let id = project.id();
    assert_eq!(project.sessions()[0]["state"], "works");
    assert_eq!(project.items(), ["Dig in_progress"]);
    let held = project.run(&["sessions", "forget", &id]);
    assert_eq!(held.code, 5, "{}", held.err);
    assert!(held.err.contains("run by another process"), "{}", held.err);
    let asked = project.run(&["sessions", "stop", &short(&json!(id))]).ok();
    assert_eq!(project.without_chance(&asked), "Session [session] is asked to end its turn.\n");
    // A script may ask again, and reads JSON; or the turn has ended meanwhile.
    let again = project.run(&["sessions", "stop", &id, "--json"]);
    if again.code == 0 {
        assert_eq!(again.json(), json!({"id": id, "stopAsked": true}));
    }
    let ended = running.ends();
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert_eq!(project.sessions()[0]["state"], "ended");
    assert_eq!(project.items(), ["Dig pending"]);
    let again = project.run(&["sessions", "stop", &id]);
    assert_eq!(again.code, 3, "{}", again.err);
    assert!(again.err.contains("does not run"), "{}", again.err);
    let unknown = project.run(&["sessions", "stop", "zzzz"]);
    assert_eq!(unknown.code, 4, "{}", unknown.err);
}

#[test]
fn a_session_that_is_forgotten_leaves_no_text_and_its_plan_stays() {
    let project = Project::new(&story());
    project.done("Lay the Quetzalcoatl foundation");
    let id = project.id();
    let plan = project.run(&["sessions", "show", "--json"]).json()["turnList"][0]["plan"].clone();
    let forgotten = project.run(&["sessions", "forget", &id]).ok();
    assert!(forgotten.contains("is deleted"), "{forgotten}");
    assert_eq!(project.sessions(), Vec::<Value>::new());
    assert_eq!(project.run(&["sessions", "show", &id]).code, 4);
    assert_eq!(project.run(&["resume", &id, "Go on"]).code, 4);
    let listed = project.run(&["list", "--all", "--plan", plan.as_str().unwrap()]).ok();
    assert!(listed.contains("Pour"), "{listed}");
    project.done("And another");
    let id = project.id();
    let forgotten = project.run(&["sessions", "forget", &id, "--json"]).json();
    assert_eq!(forgotten, json!({"id": id, "forgotten": true}));
    let data = project.world.path("home/.local/share/punchlist");
    for file in std::fs::read_dir(data).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let has =
            bytes.windows(16).any(|it| it == b"Now it is done.\"" || it == b"Now it is done.");
        assert!(!has, "{}", path.display());
    }
}
