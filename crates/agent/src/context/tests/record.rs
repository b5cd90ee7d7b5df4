//! The messages that a record becomes.

use punchlist_model::Number;

use super::super::{Context, ContextOptions, build};
use super::{Story, ask, built, context, facts, shown};
use crate::provider::{Message, ThinkingBlock};
use crate::session::Entry;
use crate::turn::{Abort, Ending, Offered, Purpose, Strategy};

/// The stored messages of the next call.
fn stored(earlier: &Story, turn: &Story, options: &ContextOptions) -> Vec<Message> {
    let mut built = built(earlier, turn, options);
    built.messages.truncate(built.messages.len() - built.uncached);
    built.messages
}

fn stored_here(turn: &Story) -> Vec<Message> {
    stored(&Story::new(0), turn, &ContextOptions::default())
}

#[test]
fn results_follow_their_answer_in_the_order_of_its_calls() {
    let turn = Story::new(1)
        .user("Fix the parser.")
        .calls("a", &["read", "search"])
        .result("a-2", "second")
        .steering("Only in src.")
        .result("a-1", "first")
        .told("Item 1 is open.");
    insta::assert_snapshot!(shown(&stored_here(&turn)), @r"
    user: Fix the parser.
    assistant:  [a-1 read] [a-2 search]
    result of a-1: first
    result of a-2: second
    user: Only in src.
    user: Item 1 is open.
    ");
}

#[test]
fn a_call_without_a_result_may_have_happened() {
    let turn =
        Story::new(1).user("Fix the parser.").calls("a", &["read", "shell"]).result("a-1", "first");
    insta::assert_snapshot!(shown(&stored_here(&turn)), @r"
    user: Fix the parser.
    assistant:  [a-1 read] [a-2 shell]
    result of a-1: first
    result of a-2 (error): No result was recorded: the call was interrupted. It may have happened; check first.
    ");
}

#[test]
fn a_second_result_and_a_result_without_a_call_are_left_out() {
    let turn = Story::new(1)
        .user("Fix the parser.")
        .result("z-1", "of nobody")
        .calls("a", &["read"])
        .result("a-1", "first")
        .result("a-1", "again")
        .result("z-9", "of nobody");
    insta::assert_snapshot!(shown(&stored_here(&turn)), @r"
    user: Fix the parser.
    assistant:  [a-1 read]
    result of a-1: first
    ");
}

#[test]
fn steps_are_told_apart_and_judgements_are_not_repeated() {
    let turn = Story::new(1)
        .user("Fix the parser.")
        .says(Purpose::Classify, r#"{"isSimple": false}"#)
        .says(Purpose::Plan, "Two steps.")
        .says(Purpose::Item(Number(1)), "Did the first.")
        .says(Purpose::Item(Number(2)), "Did the second.")
        .says(Purpose::Validate, r#"{"isComplete": false, "reasoning": "No tests."}"#)
        .told("Validation result: No tests.")
        .and(Entry::Info { text: "Step 3".to_owned() })
        .and(Entry::Ended { ending: Ending::Aborted(Abort::User) });
    insta::assert_snapshot!(shown(&stored_here(&turn)), @r"
    user: Fix the parser.
    assistant: Two steps.
    user: Work on the item in progress.
    assistant: Did the first.
    user: Work on the item in progress.
    assistant: Did the second.
    user: Validation result: No tests.
    ");
}

#[test]
fn blank_messages_are_left_out() {
    let turn = Story::new(1)
        .user("Fix the parser.")
        .steering(" \n")
        .told("")
        .says(Purpose::Work, "  ")
        .calls("a", &["read"])
        .result("a-1", "text");
    insta::assert_snapshot!(shown(&stored_here(&turn)), @r"
    user: Fix the parser.
    assistant:  [a-1 read]
    result of a-1: text
    ");
}

#[test]
fn thinking_goes_back_as_received() {
    let mut turn =
        Story::new(1).user("Fix the parser.").calls("a", &["read"]).result("a-1", "text");
    let block = ThinkingBlock::Signed { text: "hm".to_owned(), signature: "c2ln".to_owned() };
    let Entry::Answer(answer) = &mut turn.entries[1].entry else { panic!("an answer") };
    answer.message.thinking = vec![block.clone()];
    let messages = stored_here(&turn);
    let Message::Assistant(said) = &messages[1] else { panic!("{messages:?}") };
    assert_eq!(said.thinking, [block]);
}

#[test]
fn a_call_of_the_model_without_tools_shows_calls_and_results_as_text() {
    let turn =
        Story::new(1).user("Fix the parser.").calls("a", &["read"]).result("a-1", "fn parse()");
    let (ask, facts) = (ask(Purpose::Validate, Offered::Nothing), facts());
    let options = ContextOptions::default();
    let context = context(&ask, &facts, &[], &turn.entries, &options);
    let built = build(&Context { strategy: Strategy::Steps, list: None, ..context });
    let stored = &built.messages[..built.messages.len() - built.uncached];
    insta::assert_snapshot!(shown(stored), @r#"
    user: Fix the parser.
    assistant: (Called read with {"path":"src/parser.rs"})
    user: Result of read:
    fn parse()
    "#);
}

/// Three earlier turns: 2, 4 and 12 messages.
fn earlier() -> Story {
    let mut story = Story::new(1)
        .user("First request.")
        .says(Purpose::Work, "First answer.")
        .next_turn()
        .user("Second request.")
        .calls("b", &["read"])
        .result("b-1", "text")
        .says(Purpose::Work, "Second answer.")
        .next_turn()
        .user("Third request.");
    for round in 1..=5 {
        story = story
            .calls(&format!("c{round}"), &["read", "list"])
            .result(&format!("c{round}-1"), "text")
            .result(&format!("c{round}-2"), "names");
    }
    story.says(Purpose::Work, "Third answer.")
}

#[test]
fn ten_messages_of_earlier_turns_are_shown_in_whole_rounds() {
    let turn = Story::new(9).user("Fourth request.");
    let messages = stored(&earlier(), &turn, &ContextOptions::default());
    insta::assert_snapshot!(shown(&messages), @r"
    user: Third request.
    assistant:  [c2-1 read] [c2-2 list]
    result of c2-1: text
    result of c2-2: names
    assistant:  [c3-1 read] [c3-2 list]
    result of c3-1: text
    result of c3-2: names
    assistant:  [c4-1 read] [c4-2 list]
    result of c4-1: text
    result of c4-2: names
    assistant:  [c5-1 read] [c5-2 list]
    result of c5-1: text
    result of c5-2: names
    assistant: Third answer.
    user: Fourth request.
    ");
}

#[test]
fn the_history_never_begins_with_a_result_and_never_exceeds_its_limit() {
    let turn = Story::new(9).user("Fourth request.");
    for history in 0..=20 {
        let options = ContextOptions { history, ..ContextOptions::default() };
        let messages = stored(&earlier(), &turn, &options);
        assert!(messages.len() <= history + 1, "{history}: {}", messages.len());
        assert!(matches!(messages.first(), Some(Message::User(_))), "{history}");
        assert!(history < 3 || messages.len() > history - 2, "{history}: {}", messages.len());
    }
}
