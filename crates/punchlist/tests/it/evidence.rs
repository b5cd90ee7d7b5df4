//! Checks, evidence, and who may give it.

use std::fs::{self, File};
use std::io::Write as _;

use crate::person::{Person, typed};
use crate::world::{Ran, World, finish, words};

/// A call from an agent's shell tool.
fn by_agent(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.command("project");
    command.args(arguments).env("CLAUDECODE", "1");
    finish(command, b"")
}

/// A call at its own terminal, where each line of `keys` answers a question.
fn at_terminal(world: &World, arguments: &str, keys: &str) -> Option<(i32, String)> {
    let mut command = world.command("project");
    command.args(words(arguments));
    let mut person = Person::calls(&command, &typed(&command));
    for line in keys.split_inclusive('\n') {
        if !person.sees_question() {
            break;
        }
        person.types(line);
    }
    Some(person.ends())
}

fn verification(world: &World, number: usize) -> String {
    let list = world.run(&["list", "--json"]).json();
    list["items"][number - 1]["verification"].as_str().unwrap().to_owned()
}

#[test]
fn an_item_stays_open_until_its_check_has_passed() {
    let world = World::new();
    world.write("project/src/a", "a");
    let before = world.story(
        r#"add "Build" --verify "test -f built && echo all is well" --covers "src/**"
           add "Rest"
           verify
           start 1
           done 1
           verify
           verify 2
           verify 3
           show 1"#,
    );
    world.write("project/built", "");
    let after = world.story(
        r#"verify
           verify
           done 1
           verify --all
           verify --stale
           list --view plain
           show 1
           log"#,
    );
    told!(format!("{before}# the file is there now\n\n{after}"));
}

#[test]
fn what_passed_can_be_completed_at_once_and_programs_read_what_was_seen() {
    let world = World::new();
    world.write("project/src/a", "a");
    world.typed(r#"add "Build" --verify "echo fine" --covers src"#).works();
    let seen = world.typed("verify 1 --done --json").json();
    let check = &seen["checks"][0];
    assert_eq!(check["passed"], true);
    assert_eq!(check["exitCode"], 0);
    assert_eq!(check["output"], "fine\n");
    // The output of `printf 'fine\n' | sha256sum`.
    let digest = "8ecc5f94c57b05d6c5e0ee316bee4875427e1845bbeef3ead59df29c72aab36e";
    assert_eq!(check["outputDigest"], digest);
    assert_eq!(check["covered"], 1);
    assert_eq!(seen["changed"][0]["status"], "completed");
    assert_eq!(seen["changed"][0]["verification"], "passed");
    let evidence = &seen["changed"][0]["evidence"][0];
    assert_eq!(evidence["level"], "checked");
    assert_eq!(evidence["run"]["covered"][0]["path"], "src/a");
    assert_eq!(evidence["run"]["worktree"], world.path("project").to_str().unwrap());
    // Something else failed: the exit code says so, and the output is still one object.
    world.typed(r#"add "Break" --verify "echo no; exit 7""#).works();
    let failed = world.typed("verify 2 --json");
    assert_eq!(failed.code, 3);
    let failed: serde_json::Value = serde_json::from_str(&failed.out).unwrap();
    assert_eq!(failed["checks"][0]["exitCode"], 7);
    assert_eq!(failed["changed"][0]["verification"], "failed");
}

#[test]
fn files_that_changed_make_it_stale_and_only_that_is_checked_again() {
    let world = World::new();
    for file in ["project/a/one", "project/b/one"] {
        world.write(file, "1");
    }
    world.typed(r#"add "A" --verify "echo a >> ran" --covers "a/**""#).works();
    world.typed(r#"add "B" --verify "echo b >> ran" --covers "b/**""#).works();
    world.typed("verify 1 2 --done").ok();
    assert_eq!(
        (verification(&world, 1), verification(&world, 2)),
        ("passed".into(), "passed".into())
    );
    world.write("project/a/one", "12");
    assert_eq!(
        (verification(&world, 1), verification(&world, 2)),
        ("stale".into(), "passed".into())
    );
    let shown = world.run(&["list", "--view", "list"]).ok();
    told!(shown);
    assert_eq!(world.typed("verify --stale").ok(), "passed 1  A (1 file), completed\n");
    assert_eq!(verification(&world, 1), "passed");
    assert_eq!(world.typed("verify --stale").ok(), "Nothing is stale.\n");
    let ran = fs::read_to_string(world.path("project/ran")).unwrap();
    assert_eq!(ran, "a\nb\na\n");
}

#[test]
fn other_content_of_the_same_size_and_time_is_found_by_verify() {
    let world = World::new();
    world.write("project/src/a", "1");
    world.typed(r#"add "A" --verify "echo a >> ran" --covers "src/**""#).works();
    world.typed("verify 1 --done").ok();
    let path = world.path("project/src/a");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let mut file = File::options().write(true).open(&path).unwrap();
    file.write_all(b"2").unwrap();
    file.set_modified(time).unwrap();
    drop(file);
    assert_eq!(verification(&world, 1), "passed", "a view does not read files");
    assert_eq!(world.typed("verify --stale").ok(), "passed 1  A (1 file), completed\n");
    // A new file is a change, and so is a removed one.
    world.write("project/src/b", "");
    assert_eq!(world.typed("verify --stale").ok(), "passed 1  A (2 files), completed\n");
    fs::remove_file(world.path("project/src/b")).unwrap();
    assert_eq!(verification(&world, 1), "stale");
    assert_eq!(world.typed("verify").ok(), "passed 1  A (1 file), completed\n");
}

#[test]
fn a_check_that_an_agent_wrote_runs_only_by_a_rule_and_a_persons_word() {
    let world = World::new();
    by_agent(&world, &["add", "A", "--verify", "touch ran"]).works();
    // Without a rule, no consent would be enough.
    let unruled = world.typed("verify 1");
    world.write(
        "home/.config/punchlist/config.toml",
        "[[policy]]\ndecision = \"allow\"\ntool = \"verify\"\ncommand = [\"touch\", \"ran\"]\n",
    );
    let refused = by_agent(&world, &["verify", "1"]);
    let nobody = world.typed("verify 1");
    assert_eq!((unruled.code, refused.code, nobody.code), (3, 3, 3));
    let has_run = || fs::remove_file(world.path("project/ran")).is_ok();
    assert!(!has_run());
    told!("refused", [unruled.err, refused.err, nobody.err].join("---\n"));

    let Some((code, said)) = at_terminal(&world, "verify 1", "n\n") else { return };
    assert_eq!((code, has_run()), (130, false), "{said}");
    let (code, asked) = at_terminal(&world, "verify 1", "y\n").unwrap();
    assert_eq!((code, has_run()), (0, true), "{asked}");
    // The terminal echoes the keys at varying times, so this is no snapshot.
    for words in ["1  A: touch ran", "it can do all that you can do", "[y/N]", "passed 1  A"] {
        assert!(asked.contains(words), "{words}: {asked}");
    }
    let word = world.path("home").join(".local/share/punchlist/checks");
    assert!(fs::read_to_string(&word).unwrap().contains("project"));

    // Consent is given once per project: from now on it also covers calls by agents, within the
    // rules.
    by_agent(&world, &["verify", "1"]).ok();
    assert!(has_run());
    by_agent(&world, &["edit", "1", "--verify", "touch ran; touch more"]).works();
    assert_eq!((by_agent(&world, &["verify", "1"]).code, has_run()), (3, false));
    by_agent(&world, &["edit", "1", "--verify", "touch ran"]).works();
    world.typed("verify --no-consent").ok();
    assert_eq!((by_agent(&world, &["verify", "1"]).code, has_run()), (3, false));
    // An agent cannot consent for itself.
    assert_eq!(by_agent(&world, &["verify", "--consent"]).code, 3);
}

#[test]
fn a_rule_that_denies_holds_for_everybodys_checks() {
    let world = World::new();
    world.write(
        "home/.config/punchlist/config.toml",
        "[[policy]]\ndecision = \"deny\"\ntool = \"verify\"\ncommand = \"touch\"\n",
    );
    world.typed(r#"add "A" --verify "touch ran""#).works();
    told!(world.story("verify 1"));
    assert!(!world.path("project/ran").exists());
}

#[test]
fn a_check_that_a_person_wrote_is_not_an_agents_to_change() {
    let world = World::new();
    world.typed(r#"add "A" --verify "false""#).works();
    for verify in ["true", ""] {
        let refused = by_agent(&world, &["edit", "1", "--verify", verify]);
        assert_eq!(refused.code, 3, "{}", refused.err);
    }
    assert_eq!(by_agent(&world, &["edit", "1", "--title", "B"]).code, 0);
    // An agent may run the check: the person's command is trusted, whoever calls.
    assert_eq!(by_agent(&world, &["verify", "1"]).code, 3);
    assert_eq!(verification(&world, 1), "failed");
    world.typed(r#"edit 1 --verify """#).works();
    assert_eq!(verification(&world, 1), "none");
}

#[test]
fn an_approval_is_a_persons_word_at_a_terminal() {
    let world = World::new();
    world.typed(r#"add "A""#).works();
    world.typed("goal --demand approved").ok();
    assert_eq!(by_agent(&world, &["goal", "--demand", "reported"]).code, 3);
    let agent = by_agent(&world, &["approve", "1"]);
    let piped = world.typed("approve 1");
    assert_eq!((agent.code, piped.code), (3, 3));
    let story = world.story("done 1\nverify 1");
    told!("nobody_else", format!("{}---\n{}---\n{story}", agent.err, piped.err));
    let Some((code, said)) = at_terminal(&world, "approve 1 --note fine --done", "y\n") else {
        return;
    };
    assert_eq!(code, 0, "{said}");
    let item = &world.run(&["show", "1", "--json"]).json()["item"];
    assert_eq!(item["status"], "completed");
    assert_eq!(item["verification"], "passed");
    assert_eq!(item["evidence"][0]["level"], "approved");
    assert_eq!(item["metadata"]["approval_note"], "fine");
}

#[test]
fn a_plan_has_a_goal_and_may_demand_evidence() {
    let world = World::new();
    told!(world.story(
        r#"goal
           add "Build" "Ship"
           goal
           goal --budget turns=3
           goal "It ships" --accept 2
           goal --budget tokens=1000,minutes=90
           goal --budget hours=1
           goal --accept 7
           goal --demand checked
           start 1
           done 1
           show
           goal --demand reported
           done 1
           goal --clear
           goal"#
    ));
}

#[test]
fn a_settled_list_is_held_against_its_goal() {
    let world = World::new();
    told!(world.story(
        r#"add "Build" "Ship" "Tell"
           goal "It ships" --accept 2,3 --budget minutes=90
           list
           goal --met
           done 1
           skip 2 --reason "no time"
           done 3
           list
           list --view box
           show
           goal
           goal --met
           reopen 2
           done 2
           list
           show
           goal
           log"#
    ));
    let list = world.typed("list --json").json();
    assert_eq!(list["goal"]["standing"], "met", "{list:#}");
    assert_eq!(list["goal"]["spent"]["turns"], serde_json::Value::Null);
    world.typed("reopen 3").ok();
    world.typed("skip 3").ok();
    let list = world.typed("list --json").json();
    assert_eq!(list["goal"]["standing"], "unmet", "{list:#}");
    assert_eq!(list["goal"]["givenUp"], serde_json::json!([3]));
    let missing = serde_json::json!([{
        "item": 3, "why": "3 was cancelled", "next": "punchlist reopen 3",
    }]);
    assert_eq!(list["goal"]["missing"], missing);
}

#[test]
fn a_goal_without_items_is_met_by_somebodys_word() {
    let world = World::new();
    told!(world.story(
        r#"add "Build"
           goal "It ships"
           done 1
           list
           goal --met
           list
           log
           goal "It ships everywhere"
           goal
           goal --demand approved
           goal --met
           goal --clear
           list"#
    ));
    world.typed(r#"goal "It ships""#).ok();
    assert_eq!(by_agent(&world, &["goal", "--met"]).code, 3);
    let Some((code, said)) = at_terminal(&world, "goal --met", "y\n") else { return };
    assert_eq!(code, 0, "{said}");
    let goal = &world.run(&["goal", "--json"]).json()["goal"];
    assert_eq!((&goal["standing"], &goal["met"]["level"]), (&"met".into(), &"approved".into()));
}

#[test]
fn a_run_says_whether_its_plan_has_met_its_goal() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Build\n  run: true\n- [-] Ship\n  run: true\n");
    let run = || world.typed("run plan.md");
    assert_eq!(run().code, 0);
    world.typed(r#"goal "It ships" --accept 2 --plan plan.md"#).ok();
    let ran = run();
    let said = "Goal not met: 2 was cancelled\nNext: punchlist reopen 2; if it is met all the same: \
                punchlist goal --met\n";
    assert_eq!((ran.code, ran.out.ends_with(said)), (7, true), "{}", ran.out);
    world.typed("goal \"It ships\" --accept 1 --plan plan.md").ok();
    let ran = run();
    assert_eq!((ran.code, ran.out.ends_with("Goal met: It ships\n")), (0, true), "{}", ran.out);
    assert!(world.typed("run plan.md --json").out.contains("Goal met: It ships"));
}

#[test]
fn a_check_runs_in_its_plans_own_project_and_nowhere_else() {
    let world = World::new();
    world.repository("other/.git");
    world.write("project/mine", "");
    world.write("other/theirs", "");
    world.typed(r#"add "A" --verify "test -e mine""#).works();
    world.typed(r#"add "B" --verify "test -e theirs""#).works();
    let plan = world.typed("list --json").json()["plan"]["id"].as_str().unwrap().to_owned();
    let seen = world.typed_in("other", &format!("verify 1 2 --plan {plan} --json"));
    let seen: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    let place = world.path("project").display().to_string();
    for (check, passed) in seen["checks"].as_array().unwrap().iter().zip([true, false]) {
        assert_eq!(
            (&check["passed"], &check["worktree"]),
            (&passed.into(), &place.as_str().into())
        );
    }
    // The directory is shown.
    let shown = world.typed("show 1").ok();
    assert!(shown.contains(&format!("test -e mine (exit 0), in {place}")), "{shown}");
    // A directory that only has the name `.git` is no worktree.
    world.write("project/deep/.git/x", "");
    world.write("project/deep/theirs", "");
    assert_eq!(world.typed_in("project/deep", "verify 1").ok().lines().next(), Some("passed 1  A"));
    assert_eq!(world.typed_in("project/deep", "verify 2").code, 3);
}

#[test]
fn a_plan_file_in_another_repository_gives_no_evidence_for_this_project() {
    let world = World::new();
    world.repository("other/.git");
    world.write("other/plan.md", "- [ ] A\n  verify: touch ran\n");
    world.write("project/plan.md", "- [ ] A\n  verify: touch ran\n");
    world.typed("run ../other/plan.md --yes");
    std::fs::remove_file(world.path("other/ran")).ok();
    let refused = world.typed("verify --all --plan plan.md");
    assert_eq!(refused.code, 3, "{}{}", refused.out, refused.err);
    assert!(refused.err.contains("is not in the project"), "{}", refused.err);
    assert!(!world.path("other/ran").exists());
    assert!(!world.path("project/ran").exists());
}

#[test]
fn where_a_plan_file_lies_is_written_by_a_run_alone() {
    let world = World::new();
    world.write("project/sub/plan.md", "- [ ] A\n  verify: test -e here\n");
    world.write("project/sub/here", "");
    world.typed("run sub/plan.md --yes");
    let shown = world.typed("show --json --plan plan.md").json();
    let plan = shown["plan"]["id"].as_str().unwrap().to_owned();
    let kept = |plan: &str, database: &str| {
        let line = format!("show 1 --json --plan {plan} {database}");
        world.typed(line.trim_end()).json()["item"]["metadata"]["plan_file"]["directory"].clone()
    };
    let sub = world.path("project/sub").display().to_string();
    assert_eq!(kept(&plan, ""), sub.as_str());
    let elsewhere = r#"{"plan_file": {"directory": "/"}}"#;
    let edit = ["edit", "1", "--plan", &plan, "--meta", elsewhere];
    for arguments in [&["add", "B", "--meta", elsewhere][..], &edit] {
        let refused = world.run(arguments);
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains("is reserved"), "{}", refused.err);
    }
    // Other metadata does not remove it.
    world.run(&["edit", "1", "--plan", &plan, "--meta", r#"{"ticket": 12}"#]).works();
    assert_eq!(kept(&plan, ""), sub.as_str());
    assert_eq!(world.typed(&format!("verify 1 --plan {plan}")).code, 0);
    // Tools cannot write it either.
    let arguments = format!(r#"{{"subject": "B", "description": "", "metadata": {elsewhere}}}"#);
    let told = world.run_with(&["tool", "tasks", "TaskCreate"], arguments.as_bytes()).ok();
    assert!(told.contains("`plan_file` of the parameter `metadata` is reserved"), "{told}");
    // Nor can an imported file.
    let exported = world.typed(&format!("export --plan {plan}")).ok();
    assert!(exported.contains("plan_file"));
    let ran = world.run_with(&["import", "-", "--db", "../copy.db"], exported.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(kept(&plan, "--db ../copy.db").is_null());
}

/// A plan with a passed check, a changed check, and an approval.
fn proven(world: &World) -> String {
    world.typed(r#"add "A" --verify "echo old""#).works();
    world.typed(r#"edit 1 --verify "true""#).works();
    world.typed("verify 1 --done").ok();
    at_terminal(world, "approve 1", "y\n").unwrap();
    world.run(&["export"]).ok()
}

#[test]
fn what_an_imported_file_claims_counts_only_if_a_person_has_seen_it() {
    let world = World::new();
    let exported = proven(&world);
    world.write("plan.jsonl", &exported);
    let item = |world: &World, database: &str| {
        world.typed(&format!("show 1 --json --db {database}")).json()["item"].clone()
    };
    let levels = |item: &serde_json::Value| -> Vec<String> {
        let all = item["evidence"].as_array().unwrap().iter();
        all.map(|it| it["level"].as_str().unwrap().to_owned()).collect()
    };
    // Without a terminal nobody has confirmed it; every entry of the journal is examined.
    let ran = world.typed("import ../plan.jsonl --db ../piped.db");
    assert_eq!(ran.code, 0, "{}", ran.err);
    for words in
        ["2 commands", "verify: echo old", "verify: true", "checks and approvals", "agent's"]
    {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    let unseen = item(&world, "../piped.db");
    assert_eq!(
        (&unseen["check"]["origin"], levels(&unseen)),
        (&"agent".into(), vec!["reported".into(); 2])
    );
    assert_eq!(world.typed("verify 1 --db ../piped.db").code, 3, "no rule allows it");
    let again = world.typed("export --db ../piped.db").ok();
    assert!(!again.contains(r#""origin":"person""#) && !again.contains("approved\""), "{again}");
    // A person who has seen the list accepts it, or not.
    let import = |database: &str, answer: &str| {
        let mut command = world.command("project");
        command.args(["import", "../plan.jsonl", "--db", database]);
        world.answering(&command, &[answer])
    };
    let (ran, seen) = import("../yes.db", "y");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{seen}");
    for words in ["2 commands", "verify: echo old", "verify: true", "approved: by me@host", "[y/N]"]
    {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    assert_eq!(world.typed("export --db ../yes.db").ok(), exported);
    let (ran, _) = import("../no.db", "n");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(item(&world, "../no.db")["check"]["origin"], "agent");
}

#[test]
fn what_an_agent_imports_is_an_agents() {
    let world = World::new();
    let exported = proven(&world);
    world.write("plan.jsonl", exported);
    let ran = by_agent(&world, &["import", "../plan.jsonl", "--db", "../agent.db"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("kept as an agent's") && !ran.err.contains("terminal"), "{}", ran.err);
    let again = world.typed("export --db ../agent.db").ok();
    for word in [
        r#""origin":"person""#,
        r#""kind":"person""#,
        r#""level":"checked""#,
        r#""level":"approved""#,
    ] {
        assert!(!again.contains(word), "{word}: {again}");
    }
}

#[test]
fn a_refusal_tells_an_agent_to_ask_and_not_what_a_person_would_type() {
    let world = World::new();
    world.typed(r#"add "A""#).works();
    world.typed("goal --demand approved").ok();
    for arguments in [
        &["done", "1"][..],
        &["approve", "1"],
        &["answer", "yes"],
        &["forget", "1"],
        &["init"],
        &["gate", "off"],
        &["verify", "--consent"],
        &["uninstall", "claude"],
    ] {
        let ran = by_agent(&world, arguments);
        assert_eq!(ran.code, 3, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains("ask your user"), "{arguments:?}: {}", ran.err);
        assert!(!ran.err.contains("`punchlist"), "{arguments:?}: {}", ran.err);
    }
    let told = world.run_with(
        &["tool", "turn", "complete_todo", "--conversation", "c"],
        br#"{"todoId": "1", "outcome": "well"}"#,
    );
    assert!(!told.out.contains("punchlist approve"), "{}", told.out);
}
