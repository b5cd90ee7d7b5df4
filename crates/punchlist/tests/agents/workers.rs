//! A plan file whose item an agent does: `punchlist run` starts the real program, and keeps its list.

use punchlist_testkit::model::{Model, Script};
use serde_json::{Value, json};

use crate::place::Place;

const PLAN: &str = "\
# Release
- [ ] Write the notes
  agent: claude
  criteria: they are for users
  verify: test -e README.md
- [ ] Publish
  after: Write the notes
  run: echo published > published.txt
";

fn todos(first: &str, second: &str) -> Value {
    let todo = |content: &str, status: &str| json!({"content": content, "status": status, "activeForm": content});
    json!({"todos": [todo("Read what changed", first), todo("Write it down", second)]})
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn an_item_of_a_plan_file_is_done_by_the_agent_and_its_list_is_kept_under_it() {
    let place = Place::new();
    std::fs::write(place.path("project/release.md"), PLAN).unwrap();
    let script = Script::new()
        .calls("TodoWrite", todos("in_progress", "pending"))
        .calls("TodoWrite", todos("completed", "completed"))
        .stops("The notes are written.");
    let model = Model::new(script).serve().unwrap();
    let mut command = place.command(&place.punchlist);
    for (name, value) in place.agent(&model).get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
        .env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")
        .env("ENABLE_TOOL_SEARCH", "false")
        .env("CLAUDE_CODE_ENABLE_TASKS", "0");
    let output = command.args(["run", "release.md"]).output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {out}\n{err}", output.status);
    assert_eq!(model.left(), 0, "{out}");
    // It was told the item, and when it counts as done.
    let asked = model.requests()[0].text();
    assert!(asked.contains("Write the notes") && asked.contains("they are for users"), "{asked}");
    let list = place.punchlist(&["list", "--plan", "release.md", "--json"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    let items: Vec<(&str, &str, &Value)> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["title"].as_str().unwrap(), it["status"].as_str().unwrap(), &it["parent"]))
        .collect();
    assert_eq!(
        items,
        [
            ("Write the notes", "completed", &Value::Null),
            ("Read what changed", "completed", &json!(1)),
            ("Write it down", "completed", &json!(1)),
            ("Publish", "completed", &Value::Null),
        ],
        "{list:#}"
    );
    assert_eq!(list["items"][0]["evidence"][0]["level"], "checked", "{list:#}");
    assert!(place.path("project/published.txt").exists());
}
