//! Rules of policy in the user's file and in a project's, as far as every verb meets them.

use crate::doctor::doctor;
use crate::world::World;

const USER: &str = "home/.config/punchlist/config.toml";
const PROJECT: &str = "project/punchlist.toml";

const ALLOW: &str = "[[policy]]\ndecision = 'allow'\ntool = 'shell'\ncommand = 'cargo test'\n";
const DENY: &str = "[[policy]]\ndecision = 'deny'\ncommand = ['rm', '-rf']\n";

fn rules(world: &World) -> Option<String> {
    let ran = doctor(world, &[]);
    let line = ran.out.lines().find(|it| it.starts_with("policy"))?;
    Some(line.split_whitespace().skip(3).collect::<Vec<_>>().join(" "))
}

#[test]
fn rules_are_read_from_the_users_file_and_from_a_project_that_is_trusted() {
    let world = World::new();
    assert_eq!(rules(&world), None);
    world.write(USER, format!("{ALLOW}\n{DENY}"));
    assert_eq!(rules(&world).as_deref(), Some("2 of yours"));
    world.write(PROJECT, DENY);
    assert_eq!(rules(&world).as_deref(), Some("2 of yours"), "a file in a tree is not believed");
    world.typed("init").works();
    assert_eq!(rules(&world).as_deref(), Some("2 of yours, 1 of this project's"));
}

#[test]
fn what_a_project_allows_is_ignored_with_one_line() {
    let world = World::new();
    world.write(PROJECT, format!("{ALLOW}{ALLOW}{DENY}"));
    world.typed("init").works();
    let ran = world.typed("list");
    let said: Vec<&str> =
        ran.err.lines().filter(|it| it.contains("policy") || it.contains("rule")).collect();
    assert_eq!(said.len(), 1, "{}", ran.err);
    assert!(said[0].contains("ignored 2 rules of "), "{}", said[0]);
    assert!(said[0].ends_with("that allow something: a project may only tighten"), "{}", said[0]);
    assert_eq!(rules(&world).as_deref(), Some("1 of this project's"));
}

#[test]
fn a_rule_that_cannot_be_read_stops_every_verb_and_names_file_line_and_key() {
    let world = World::new();
    world.write(USER, "gate = 'once'\n\n[[policy]]\ndecision = 'alow'\ntool = 'shell'\n");
    let place = format!("{}:4: policy.decision = \"alow\" is not", world.path(USER).display());
    for line in ["list", "add A"] {
        let ran = world.typed(line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.err);
        assert!(ran.err.contains(&place), "{line}: {}", ran.err);
    }
    // The doctor has more to say, and says this among it.
    let ran = world.typed("doctor");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains(&place) && ran.out.contains("database"), "{}", ran.out);
}

#[test]
fn a_file_that_is_no_toml_stops_every_verb_in_one_line() {
    let world = World::new();
    world.write(USER, "gate = 'once'\n[[policy]\ndecision = 'deny'\n");
    world.write("project/plan.md", "- [ ] A\n  run: touch ran\n");
    for line in ["list", "run plan.md", "verify"] {
        let ran = world.typed(line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.err);
        let place = format!("error: {}:2: ", world.path(USER).display());
        assert!(ran.err.starts_with(&place), "{line}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 2, "{line}: {}", ran.err);
    }
    assert!(!world.path("project/ran").exists());
}

#[test]
fn no_option_brings_a_rule_along() {
    let world = World::new();
    for key in ["policy", "policy.decision", "policy.0.tool"] {
        let ran = world.run(&["-c", &format!("{key}=allow"), "list"]);
        assert_eq!(ran.code, 2, "{key}: {}", ran.err);
        assert!(ran.err.contains("rules of policy are read from files alone"), "{}", ran.err);
    }
}
