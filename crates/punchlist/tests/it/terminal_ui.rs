//! Bare `punchlist` in a real terminal, with a model that plays a scenario.

use serde_json::{Value, json};

use crate::pseudo_terminal::PseudoTerminal;
use crate::world::World;

pub(crate) fn says(text: &str) -> Value {
    json!({"text": text, "usage": {"input": 1000, "output": 20}})
}

fn slowly(ms: u64, mut answer: Value) -> Value {
    answer["delay_ms"] = ms.into();
    answer
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"calls": [{"tool": tool, "arguments": arguments}]})
}

fn starts(world: &World, terminal: &mut PseudoTerminal) {
    terminal.starts(&format!("--model scripted:{}", world.path("scenario.json").display()));
    terminal.until(|it| it.contains("? keys") || it.contains("sandbox"));
}

/// The UI with a model that gives these answers.
fn opened(world: &World, answers: &[Value]) -> PseudoTerminal {
    world.write("scenario.json", json!({"answers": answers}).to_string());
    let mut terminal = PseudoTerminal::open(world, 80);
    starts(world, &mut terminal);
    terminal
}

#[track_caller]
fn shows(terminal: &PseudoTerminal, text: &str) -> String {
    terminal.until(|it| it.contains(text))
}

/// Echo and line editing work, and nothing that the UI has set is left.
#[track_caller]
fn is_usable(terminal: &mut PseudoTerminal) {
    terminal.is_restored().unwrap();
    // What is typed before the prompt would appear before it.
    terminal.until(|it| it.ends_with('$'));
    terminal.types(&["echo us''able", "Enter"]);
    shows(terminal, "\nusable");
}

#[test]
fn a_person_talks_watches_the_plan_and_quits_and_the_terminal_is_as_before() {
    let world = World::new();
    let items = json!({"items": [{"title": "Paint the door"}, {"title": "Let it dry"}]});
    let answers = [
        call("create_todo", &items),
        slowly(1500, call("complete_todo", &json!({"todoId": "1", "outcome": "blue"}))),
        call("complete_todo", &json!({"todoId": "2", "outcome": "dry"})),
        says("It is **blue**."),
    ];
    let mut terminal = opened(&world, &answers);
    terminal.types(&["Paint it", "Enter"]);
    let shown = shows(&terminal, "○ Paint the door");
    assert!(shown.contains("> Paint it") && shown.contains("0/2 (0%)"), "{shown}");
    let shown = terminal.until(|it| it.contains("It is blue.") && !it.contains("Esc ends"));
    assert!(shown.contains("[Todo: \"Paint the door\" → completed]"), "{shown}");
    assert!(!shown.contains('○'), "the list is gone: {shown}");
    terminal.types(&["C-d"]);
    let shown = shows(&terminal, "end 0");
    assert_eq!(shown.matches("It is blue.").count(), 1, "{shown}");
    is_usable(&mut terminal);
}

#[test]
fn a_question_is_answered_by_a_key_and_the_call_runs_or_not() {
    for (key, is_made) in [("y", true), ("n", false)] {
        let world = World::new();
        world.write("home/.config/punchlist/config.toml", "[agent]\nsandbox = 'ask'\n");
        let answers = [call("shell", &json!({"command": "touch made-it"})), says("So be it.")];
        let mut terminal = opened(&world, &answers);
        terminal.types(&["Make it", "Enter"]);
        let shown = shows(&terminal, "y once");
        assert!(shown.contains("touch made-it"), "{shown}");
        assert!(!world.path("project/made-it").exists());
        terminal.types(&[key]);
        let shown = terminal.until(|it| it.contains("So be it.") && !it.contains("y once"));
        assert_eq!(world.path("project/made-it").exists(), is_made, "{shown}");
        terminal.types(&["C-d"]);
        shows(&terminal, "end 0");
    }
}

#[test]
fn a_message_is_queued_while_the_agent_works_and_is_worked_on_next() {
    let world = World::new();
    let answers = [slowly(2500, says("First.")), says("Second.")];
    let mut terminal = opened(&world, &answers);
    terminal.types(&["one", "Enter"]);
    shows(&terminal, "Thinking");
    terminal.types(&["two", "Enter"]);
    shows(&terminal, "queued: two");
    let shown = shows(&terminal, "Second.");
    let order = ["> one", "First.", "> two", "Second."].map(|it| shown.find(it).unwrap());
    assert!(order.is_sorted(), "{shown}");
    assert!(!shown.contains("queued:"), "{shown}");
    terminal.types(&["/quit", "Enter"]);
    shows(&terminal, "end 0");
}

#[test]
fn steering_reaches_the_model_at_its_next_call() {
    let world = World::new();
    let heard = json!({"text": "As you say.", "expect": {"contains": ["rather red"]}});
    let answers = [slowly(2000, call("list_todo", &json!({}))), heard];
    let mut terminal = opened(&world, &answers);
    terminal.types(&["Paint it", "Enter"]);
    shows(&terminal, "Thinking");
    terminal.types(&["rather red", "M-Enter"]);
    shows(&terminal, "steers: rather red");
    let shown = shows(&terminal, "As you say.");
    assert!(shown.contains("> rather red"), "{shown}");
    terminal.types(&["C-d"]);
    shows(&terminal, "end 0");
}

#[test]
fn esc_ends_the_turn_pauses_the_queue_and_resume_goes_on_with_the_session() {
    let world = World::new();
    let answers = [slowly(60_000, says("Never.")), says("Back."), says("And on.")];
    let mut terminal = opened(&world, &answers);
    terminal.types(&["one", "Enter"]);
    shows(&terminal, "Thinking");
    terminal.types(&["two", "Enter"]);
    shows(&terminal, "queued: two");
    terminal.types(&["Escape"]);
    shows(&terminal, "stopped; the list stays");
    shows(&terminal, "paused: /queue go");
    terminal.types(&["C-c", "C-c"]);
    shows(&terminal, "end 0");
    // The answer that was never given is not skipped.
    world.write("scenario.json", json!({"answers": [says("Back."), says("And on.")]}).to_string());
    starts(&world, &mut terminal);
    terminal.types(&["/resume", "Enter"]);
    let shown = shows(&terminal, "paused: /queue go");
    assert!(shown.contains("> one"), "what was said is there again: {shown}");
    terminal.types(&["/queue go", "Enter"]);
    let shown = shows(&terminal, "Back.");
    assert!(shown.contains("> two"), "{shown}");
    terminal.until(|it| !it.contains("queued:") && !it.contains("Esc ends"));
    terminal.types(&["three", "Enter"]);
    shows(&terminal, "And on.");
    terminal.types(&["C-d"]);
    shows(&terminal, "end 0");
}

#[test]
fn a_session_that_another_terminal_runs_is_refused_and_messages_are_still_heard() {
    let world = World::new();
    let mut first = opened(&world, &[says("First."), says("Still here.")]);
    first.types(&["one", "Enter"]);
    shows(&first, "First.");
    let mut second = PseudoTerminal::open(&world, 80);
    starts(&world, &mut second);
    second.types(&["/resume", "Enter"]);
    shows(&second, "is run by another process");
    second.types(&["two", "Enter"]);
    let shown = shows(&second, "First.");
    assert!(shown.contains("> two") && !shown.contains("> one"), "{shown}");
    first.types(&["three", "Enter"]);
    shows(&first, "Still here.");
    for terminal in [&mut first, &mut second] {
        terminal.types(&["C-d"]);
        shows(terminal, "end 0");
    }
}

#[test]
fn an_edited_command_is_confirmed_and_shown_as_it_ran() {
    let world = World::new();
    world.write("home/.config/punchlist/config.toml", "[agent]\nsandbox = 'ask'\n");
    let answers = [call("shell", &json!({"command": "touch one"})), says("So be it.")];
    let mut terminal = opened(&world, &answers);
    terminal.types(&["Make it", "Enter"]);
    shows(&terminal, "y once");
    terminal.types(&["e"]);
    shows(&terminal, "run instead: touch one");
    terminal.types(&[" two", "Enter"]);
    shows(&terminal, "this would run instead:");
    assert!(!world.path("project/one").exists());
    terminal.types(&["y"]);
    let shown = shows(&terminal, "So be it.");
    assert!(shown.contains("shell  touch one two"), "{shown}");
    assert!(world.path("project/one").exists() && world.path("project/two").exists());
    terminal.types(&["C-d"]);
    shows(&terminal, "end 0");
}

#[test]
fn a_new_plan_is_in_the_database_of_the_ui() {
    let world = World::new();
    let mut terminal = opened(&world, &[]);
    terminal.types(&["/plan new Release 1.3", "Enter"]);
    shows(&terminal, "Ctrl-T opens the new plan");
    terminal.types(&["C-t"]);
    shows(&terminal, "There is no item yet");
    terminal.types(&["a"]);
    terminal.types(&["Paint the door", "Enter"]);
    shows(&terminal, "1  Paint the door");
    terminal.types(&["Escape"]);
    shows(&terminal, "? keys");
    terminal.types(&["C-d"]);
    shows(&terminal, "end 0");
    let plans = world.run(&["plans"]);
    assert!(plans.out.contains("Release 1.3"), "{}", plans.out);
}

#[test]
fn a_killed_ui_leaves_a_terminal_that_can_be_used_and_a_session_that_goes_on() {
    // Before the first message, while the agent works, with a message in the queue, and in a dialog.
    for keys in [&[][..], &["one", "Enter"], &["one", "Enter", "two", "Enter"], &["?"]] {
        let world = World::new();
        let answers = [slowly(60_000, says("Never.")), says("Never.")];
        let mut terminal = opened(&world, &answers);
        for pair in keys.chunks(2) {
            terminal.types(pair);
            let text = match pair[0] {
                "one" => "Thinking",
                "two" => "queued: two",
                _ => "Ctrl-T",
            };
            shows(&terminal, text);
        }
        assert!(terminal.kill());
        shows(&terminal, "end 137");
        is_usable(&mut terminal);
        if keys.len() == 4 {
            starts(&world, &mut terminal);
            terminal.types(&["/resume", "Enter"]);
            let shown = shows(&terminal, "queued: two");
            assert!(shown.contains("> one"), "{shown}");
            assert!(terminal.kill());
        }
    }
}

#[test]
fn a_ui_that_is_killed_as_soon_as_it_has_the_terminal_leaves_a_usable_one() {
    let world = World::new();
    world.write("scenario.json", json!({"answers": []}).to_string());
    let mut terminal = PseudoTerminal::open(&world, 80);
    for _ in 0..5 {
        terminal.starts(&format!("--model scripted:{}", world.path("scenario.json").display()));
        terminal.is_taken();
        assert!(terminal.kill());
        shows(&terminal, "end 137");
        is_usable(&mut terminal);
    }
}

#[test]
fn off_a_terminal_the_list_is_printed_as_before() {
    let world = World::new();
    world.typed("add 'Paint the door'").works();
    let ran = world.run::<&str>(&[]);
    assert!(ran.out.contains("Paint the door") && ran.out.contains("Next: 1"), "{}", ran.out);
}
