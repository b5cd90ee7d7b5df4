//! The nine success criteria of a team's list display.

use punchlist_agent::workers::WorkerEnd;
use punchlist_streams::Source;
use vt100::Color;

use super::*;

#[test]
fn criterion_1_the_items_of_codex_are_visible_with_their_signs() {
    let mut team = Harness::new(80, 24);
    team.press("@kim go\r").prints(
        1,
        Source::Codex,
        &codex("item.started", &[("Research metrics", false), ("Design it", true)]),
    );
    let screen = team.screen();
    assert!(screen.contains("📋 Plan (Kim):\n❕ Research metrics\n✅ Design it"), "{screen}");
}

#[test]
fn criterion_2_the_list_of_claude_is_updated_in_place_without_duplicates() {
    let mut team = Harness::new(80, 24);
    team.press("@max go\r");
    for status in ["pending", "in_progress", "completed"] {
        team.lists(0, &[("Research", status), ("Design", "pending")]);
    }
    let all = team.all();
    assert_eq!(all.matches("Plan (Max)").count(), 1, "{all}");
    assert!(all.contains("✅ Research\n❕ Design"), "{all}");
}

#[test]
fn criterion_3_the_items_of_gemini_are_visible_with_their_signs() {
    let mut team = Harness::new(80, 24);
    let items = [("Read", "completed"), ("Write", "in_progress"), ("Send", "pending")];
    team.press("@zoe go\r").prints(2, Source::Gemini, &gemini(&items));
    let screen = team.screen();
    assert!(screen.contains("📋 Plan (zoe):\n✅ Read\n❕ Write\n❕ Send"), "{screen}");
}

#[test]
fn criterion_4_the_members_name_is_in_its_colour_and_cyan_without_one() {
    let mut team = Harness::new(100, 24);
    team.press("@all go\r");
    for member in 0..3 {
        team.lists(member, &[("Do", "completed"), ("Rest", "pending")]);
    }
    assert_eq!(team.colour("📋 Plan (Max)"), (Color::Idx(5), true, false));
    assert_eq!(team.colour("📋 Plan (Kim)"), (Color::Rgb(0xff, 0x88, 0), true, false));
    assert_eq!(team.colour("📋 Plan (zoe)"), (Color::Idx(6), true, false));
    assert_eq!(team.colour("✅ Do").0, Color::Idx(2));
    assert_eq!(team.colour("❕ Rest").0, Color::Idx(3));
}

#[test]
fn criterion_5_the_list_stays_after_the_turn_and_open_items_are_assumed_done() {
    let mut team = Harness::new(80, 24);
    team.press("@max go\r").lists(0, &[("Done", "completed"), ("Open", "in_progress")]);
    team.ends(0, WorkerEnd::Well, "That is it.");
    let screen = team.screen();
    assert!(screen.contains("📋 Plan (Max):\n✅ Done\n☑  Open"), "{screen}");
    // What was assumed is not what was reported.
    assert_ne!(team.colour("☑").0, team.colour("✅").0);
}

#[test]
fn criterion_6_the_list_is_cleared_when_another_member_starts() {
    let mut team = Harness::new(80, 24);
    team.press("@max go\r").lists(0, &[("Mine", "completed")]).ends(0, WorkerEnd::Well, "Ok.");
    assert!(team.screen().contains("Plan (Max)"));
    team.press("@kim go\r");
    assert!(!team.screen().contains("Plan ("), "{}", team.screen());
}

#[test]
fn criterion_7_the_events_of_a_conversation_include_the_lists() {
    // The record is the events as they are reported; here is one as it is written.
    let options = StreamOptions { agent: Some("kim".to_owned()), ..StreamOptions::default() };
    let mut stream = Stream::new(Source::Codex, options);
    let mut out = Vec::new();
    let lines = codex("item.started", &[("Research", false)]);
    stream.push(lines.as_bytes(), &mut |event: &Event<'_>| event.write_json(&mut out));
    let line = out.split(|it| *it == b'\n').find(|it| it.windows(9).any(|it| it == b"todo_list"));
    let event: Value = serde_json::from_slice(line.unwrap()).unwrap();
    assert_eq!((&event["agentId"], &event["type"]), (&json!("kim"), &json!("todo_list")));
    assert_eq!(event["items"], json!([{"text": "Research", "status": "pending"}]));
    assert!(event["todoId"].is_string() && event["eventId"].is_string(), "{event}");
}

#[test]
fn criterion_8_no_list_enters_the_scrollback() {
    let mut team = Harness::new(60, 12);
    for turn in 0..6 {
        team.press("@max go\r").lists(0, &[("One", "in_progress"), ("Two", "pending")]);
        team.prints(0, Source::ClaudeCode, &says(&format!("Turn {turn}\n\nis a longer text.")));
        team.lists(0, &[("One", "completed"), ("Two", "completed")]);
        team.ends(0, WorkerEnd::Well, "Ok.");
    }
    let all = team.all();
    assert_eq!(all.matches("Plan (Max)").count(), 1, "{all}");
    assert_eq!(all.matches("is a longer text.").count(), 6, "{all}");
}

#[test]
fn criterion_9_cancelled_items_show_a_cross() {
    let mut team = Harness::new(80, 24);
    let items = [("Keep", "pending"), ("Drop", "cancelled")];
    team.press("@zoe go\r").prints(2, Source::Gemini, &gemini(&items));
    assert!(team.screen().contains("❕ Keep\n❌ Drop"), "{}", team.screen());
    team.ends(2, WorkerEnd::Well, "");
    // Cancelled items are not assumed to be done.
    assert!(team.screen().contains("☑  Keep\n❌ Drop"), "{}", team.screen());
}
