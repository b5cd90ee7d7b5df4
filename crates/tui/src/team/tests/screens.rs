//! Screens as a person sees them: turns, queue, passing on, stopping, sizes, hostile texts.

use punchlist_agent::workers::WorkerEnd;

use punchlist_testkit::{dangers, naughty};

use super::*;
use crate::keys::Key;

fn send(member: usize, text: &str) -> Intent {
    Intent::Send(member, text.to_owned())
}

#[test]
fn members_take_turns_and_the_last_answer_is_passed_on() {
    let mut team = Harness::new(80, 24);
    team.press("@max fix it\r");
    assert_eq!(team.intended(), [send(0, "fix it")]);
    assert!(team.screen().contains("> Max: fix it"), "{}", team.screen());
    team.prints(0, Source::ClaudeCode, &says("It **is** fixed."));
    team.ends(0, WorkerEnd::Well, "It **is** fixed.");
    assert!(team.screen().contains("Max:\n  It is fixed."), "{}", team.screen());
    // Without a name it goes to the member addressed last, and that is said.
    team.press("and the docs?\r");
    assert_eq!(team.intended(), [send(0, "and the docs?")]);
    assert!(team.screen().contains("> Max (addressed last): and the docs?"), "{}", team.screen());
    team.ends(0, WorkerEnd::Well, "Fixed too.");
    team.press("/pass kim review this\r");
    assert_eq!(team.intended(), [send(1, "review this\n\nMax answered:\n\nFixed too.")]);
    let screen = team.screen();
    assert!(screen.contains("Max's answer goes to Kim: review this"), "{screen}");
    team.ends(1, WorkerEnd::Well, "");
    team.press("/pass max\r");
    assert!(team.screen().contains("the last answer is that member's own"), "{}", team.screen());
}

#[test]
fn escape_ends_the_turns_and_clears_their_lists() {
    let mut team = Harness::new(80, 24);
    team.press("@all go\r").lists(0, &[("Mine", "pending")]).lists(1, &[("Yours", "pending")]);
    team.intended();
    team.press("/stop max\r");
    assert_eq!(team.intended(), [Intent::Cancel(0)]);
    team.ends(0, WorkerEnd::Cancelled, "");
    let screen = team.screen();
    assert!(screen.contains("Max was stopped") && !screen.contains("Mine"), "{screen}");
    assert!(screen.contains("Yours"), "{screen}");
    team.press("a draft");
    team.msg(Msg::Key(Key::Escape));
    assert_eq!(team.intended(), [Intent::Cancel(1), Intent::Cancel(2)]);
    assert!(team.screen().contains("a draft"), "{}", team.screen());
    team.ends(1, WorkerEnd::Cancelled, "").ends(2, WorkerEnd::TimedOut(60), "");
    let screen = team.screen();
    assert!(!screen.contains("Plan (") && screen.contains("zoe timed out after 60 s"), "{screen}");
}

#[test]
fn what_cannot_be_sent_is_told_and_stays_in_the_input() {
    let mut team = Harness::new(80, 24);
    team.press("@mxa fix it\r");
    let screen = team.screen();
    assert!(screen.contains("there is no member \"mxa\"; did you mean @max?"), "{screen}");
    assert_eq!(team.model.input.text(), "@mxa fix it");
    assert_eq!(team.intended(), []);
}

#[test]
fn panels_are_side_by_side_where_the_width_allows() {
    let mut team = Harness::new(120, 40);
    team.press("@all go\r");
    for member in 0..3 {
        team.lists(member, &[("First thing", "completed"), ("第二件事 is wide", "in_progress")]);
    }
    let check = |team: &Harness, beside: usize| {
        let screen = team.screen();
        let most = screen.lines().map(|it| it.matches("📋 Plan (").count()).max();
        assert_eq!(most, Some(beside), "{screen}");
        assert_eq!(screen.matches("Plan (").count(), 3, "{screen}");
        assert!(screen.contains("to Max, Kim, zoe"), "{screen}");
    };
    check(&team, 3);
    team.resize(80, 24);
    check(&team, 2);
    team.resize(50, 40);
    check(&team, 1);
    team.resize(200, 60);
    check(&team, 3);
    // On a low screen lists are cut, and the input stays.
    team.resize(40, 10);
    let screen = team.screen();
    assert!(screen.contains("to Max") && screen.contains("● Max"), "{screen}");
}

#[test]
fn a_long_list_is_cut_and_shows_what_is_open() {
    let mut team = Harness::new(80, 16);
    let titles: Vec<String> = (1..=40).map(|it| format!("Step {it}")).collect();
    let items: Vec<(&str, &str)> = titles
        .iter()
        .zip(1..)
        .map(|(title, n)| (title.as_str(), if n < 20 { "completed" } else { "pending" }))
        .collect();
    team.press("@max go\r").lists(0, &items);
    let screen = team.screen();
    assert!(screen.contains("✅ Step 19\n❕ Step 20\n"), "{screen}");
    let shown = screen.matches("Step ").count();
    assert!(screen.contains(&format!("+{} more", 40 - shown)), "{screen}");
}

#[test]
fn hostile_names_and_texts_stay_inside_their_lines() {
    for hostile in naughty().into_iter().filter(|it| it.text.len() < 10_000) {
        let text = hostile.text.as_str();
        let members = json!({"members": [
            {"name": "a", "displayName": text, "themeColor": text, "agentType": "claude"},
            {"name": "b", "displayName": "B", "themeColor": "red", "agentType": "claude"},
        ]});
        let mut team = Harness::of(&members, 80, 24);
        team.press("@all go\r");
        team.lists(0, &[(text, "in_progress")]).lists(1, &[("mine", "pending")]);
        team.prints(0, Source::ClaudeCode, &says(text));
        team.ends(0, WorkerEnd::Failed(text.to_owned()), text);
        let screen = team.screen();
        assert!(screen.contains("Plan (B):\n❕ mine"), "{}: {screen}", hostile.name);
        assert!(screen.contains("to "), "{}: {screen}", hostile.name);
        let rows = ansi::rows(&view(&team.model).buffer);
        assert!(rows.iter().all(|it| it.width <= 80), "{}: {screen}", hostile.name);
        // The isolates around text that reads from right to left are our own.
        let foreign = screen.replace(['\n', '\u{2068}', '\u{2069}'], "");
        assert!(dangers(&foreign).is_empty(), "{}: {screen}", hostile.name);
    }
}

#[test]
fn an_answer_that_cannot_be_handed_on_leaves_the_note_in_the_input() {
    let mut team = Harness::new(80, 24);
    team.press("/pass kim look at this\r");
    let screen = team.screen();
    assert!(screen.contains("nobody has answered yet"), "{screen}");
    assert!(screen.contains("> /pass kim look at this"), "{screen}");
}
