//! The plan files in `examples`.

use std::fs;
use std::path::PathBuf;

use punchlist_formats::planfile::{Severity, draw, read};

use crate::world::{World, finish};

fn examples() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut found: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn every_example_is_read_without_a_problem() {
    let all = examples();
    let names: Vec<&str> = all.iter().map(|it| it.0.as_str()).collect();
    let expected = ["agent.md", "data-fix.md", "diamond.md", "flaky.md", "hello.md", "release.md"];
    assert_eq!(names, expected);
    for (name, text) in &all {
        let file = read(text);
        let problems: String = file.problems.iter().map(|it| draw(name, text, it)).collect();
        assert!(file.problems.iter().all(|it| it.severity < Severity::Warning), "{problems}");
        assert!(file.title.is_some() && file.items.len() > 2, "{name}");
    }
}

#[test]
fn every_example_works_in_a_directory_of_its_own_and_takes_it_away_again() {
    for (name, text) in examples() {
        let own = format!("punchlist-{}", name.trim_end_matches(".md"));
        let file = read(&text);
        for item in &file.items {
            for command in item.fields.run.iter().chain(&item.fields.verify) {
                assert!(command.contains(&own), "{name}: {command}");
            }
        }
        let last = file.items.last().unwrap().fields.run.as_ref().unwrap();
        assert!(last.starts_with("rm -rf \"${TMPDIR:-/tmp}/punchlist-"), "{name}: {last}");
    }
}

#[test]
fn every_example_without_an_agent_runs_to_its_end() {
    let world = World::new();
    for (name, text) in examples().into_iter().filter(|it| it.0 != "agent.md") {
        world.write(&format!("project/{name}"), text);
        let mut command = world.command("project");
        command.env("TMPDIR", world.path("")).args(["run", &name, "--yes"]);
        let ran = finish(command, b"");
        assert_eq!(ran.code, 0, "{name}: {}\n{}", ran.out, ran.err);
        assert!(ran.out.contains(" 0 failed, 0 left."), "{name}: {}", ran.out);
        let own = format!("punchlist-{}", name.trim_end_matches(".md"));
        assert!(!world.path(&own).exists(), "{name} cleans up");
    }
}
