//! When results are shortened, and when a summary is asked for.

use super::super::{Context, ContextOptions, build, summary_request};
use super::{Story, ask, built, context, facts, shown};
use crate::provider::Message;
use crate::turn::{Offered, Purpose};

/// A window of 1,000 tokens: compaction begins at 700.
const OPTIONS: ContextOptions = ContextOptions {
    history: 10,
    inject: super::Inject::Always,
    context_tokens: 1000,
    compact_percent: 70,
    list_bytes: 8 * 1024,
    instruction_bytes: 32 * 1024,
};

/// Rounds `from..=to`, each with a result of 1,000 bytes, after each of which so many tokens are used.
fn rounds(mut story: Story, from: u64, to: u64, tokens: impl Fn(u64) -> u64) -> Story {
    for round in from..=to {
        let text = format!("{round}").repeat(1000 / format!("{round}").len());
        let (name, call) = (format!("r{round}"), format!("r{round}-1"));
        story = story.calls_with(&name, &["read"], tokens(round));
        story = if round % 2 == 0 {
            story.result_kept(&call, &text, "/outputs/7.txt")
        } else {
            story.result(&call, &text)
        };
    }
    story
}

fn stored(turn: &Story) -> String {
    let built = built(&Story::new(0), turn, &OPTIONS);
    let messages = &built.messages[..built.messages.len() - built.uncached];
    shown(messages)
}

/// Which rounds are whole, as a word: `w` whole, `s` shortened.
fn wholes(turn: &Story) -> String {
    let built = built(&Story::new(0), turn, &OPTIONS);
    let one = |it: &Message| match it {
        Message::Results(results) if results[0].text.starts_with("(Shortened") => "s",
        Message::Results(_) => "w",
        Message::User(_) | Message::Assistant(_) => "",
    };
    built.messages.iter().map(one).collect()
}

fn request(turn: &Story) -> Option<super::super::SummaryRequest> {
    let ask = ask(Purpose::Work, Offered::Everything);
    summary_request(&context(&ask, &facts(), &[], &turn.entries, &OPTIONS))
}

#[test]
fn below_the_limit_everything_stays() {
    let turn = rounds(Story::new(1).user("Fix it."), 1, 4, |round| round * 100);
    assert_eq!(wholes(&turn), "wwww");
    assert_eq!(request(&turn), None);
}

#[test]
fn at_the_limit_old_results_become_a_line_that_names_where_the_whole_is() {
    let turn = rounds(Story::new(1).user("Fix it."), 1, 4, |round| 50 + round * 100);
    let shown = stored(&turn);
    let shown =
        shown.replace(&"3".repeat(1000), "(all of 3)").replace(&"4".repeat(1000), "(all of 4)");
    insta::assert_snapshot!(shown, @r"
    user: Fix it.
    assistant:  [r1-1 read]
    result of r1-1: (Shortened: the result had 1000 bytes. It is entry 1003 of this session; call the tool again if you need it.)
    assistant:  [r2-1 read]
    result of r2-1: (Shortened: the result had 1000 bytes. The whole is in /outputs/7.txt.)
    assistant:  [r3-1 read]
    result of r3-1: (all of 3)
    assistant:  [r4-1 read]
    result of r4-1: (all of 4)
    ");
}

#[test]
fn what_is_short_already_is_not_shortened() {
    let mut turn = Story::new(1).user("Fix it.").calls("a", &["read"]).result("a-1", "3 lines");
    turn = rounds(turn, 1, 3, |round| 300 + round * 100);
    assert_eq!(wholes(&turn), "wsww");
}

#[test]
fn a_shortened_result_stays_so_although_there_is_room_again() {
    let full = |round| if round == 4 { 690 } else { 300 };
    let mut turn = rounds(Story::new(1).user("Fix it."), 1, 4, full);
    assert_eq!(wholes(&turn), "ssww");
    turn = rounds(turn, 5, 5, full);
    assert_eq!(wholes(&turn), "sswww");
    turn = rounds(turn, 6, 6, |_| 690);
    assert_eq!(wholes(&turn), "ssssww");
}

#[test]
fn without_a_count_of_the_provider_bytes_are_estimated() {
    let turn = rounds(Story::new(1).user("Fix it."), 1, 3, |_| 0);
    assert_eq!(wholes(&turn), "sww");
    assert_eq!(wholes(&rounds(turn, 4, 4, |_| 0)), "ssww");
}

#[test]
fn words_of_the_user_are_never_shortened() {
    let words = "Mind the edge cases. ".repeat(50);
    let mut turn =
        rounds(Story::new(1).user("Fix it."), 1, 2, |_| 100).steering(&words).user(&words);
    turn = rounds(turn, 3, 5, |_| 690);
    assert_eq!(wholes(&turn), "sssww");
    assert_eq!(stored(&turn).matches(&words).count(), 2);
}

/// Five rounds. The provider counts more tokens in the last than shortened results save.
fn overfull() -> Story {
    let turn = Story::new(1).user("Fix it.").steering("Only in src.");
    rounds(turn, 1, 5, |round| if round == 5 { 1500 } else { 300 })
}

#[test]
fn if_shortening_is_not_enough_the_oldest_rounds_are_to_be_summarised() {
    let turn = overfull();
    assert_eq!(wholes(&turn), "sssww");
    let request = request(&turn).unwrap();
    // The third round is the last before the newest two: its result is entry 1008.
    assert_eq!(request.through, 1008);
    let mut text = format!("{}\n\n{}", request.system, shown(&request.messages));
    // Each result has its share of the room.
    for round in ["1", "2", "3"] {
        assert!(text.contains(&round.repeat(600)));
        text = text.replace(&round.repeat(600), "(600)").replace(&round.repeat(10), "");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_summary_takes_the_place_of_what_it_covers_but_not_of_the_users_words() {
    let turn = overfull().summary("The parser was read. ```", 1008);
    let shown = stored(&turn)
        .replace(&"4".repeat(1000), "(all of 4)")
        .replace(&"5".repeat(1000), "(all of 5)");
    insta::assert_snapshot!(shown, @r"
    user: Summary of what was before in this conversation:
    ````data
    The parser was read. ```
    ````
    user: Fix it.
    user: Only in src.
    assistant:  [r4-1 read]
    result of r4-1: (all of 4)
    assistant:  [r5-1 read]
    result of r5-1: (all of 5)
    ");
}

#[test]
fn between_two_answers_there_is_at_most_one_summary() {
    let turn = overfull().summary("The parser was read.", 1008);
    assert_eq!(request(&turn), None);
    assert_eq!(request(&rounds(turn.clone(), 6, 6, |_| 400)), None);
    let again = rounds(turn, 6, 7, |_| 1500);
    let request = request(&again).unwrap();
    assert!(request.through > 1008 && request.through < again.last());
    // The new summary replaces the old one, so it is made from it.
    assert!(shown(&request.messages).contains("The parser was read."));
}

#[test]
fn a_summary_that_parts_a_round_drops_it_whole() {
    let turn = rounds(Story::new(1).user("Fix it."), 1, 3, |_| 100).summary("Read.", 1004);
    assert_eq!(wholes(&turn), "w");
}

#[test]
fn request_and_list_come_after_a_summary_too() {
    let turn = overfull().summary("The parser was read.", 1008);
    let built = built(&Story::new(0), &turn, &OPTIONS);
    let last = super::last(&built);
    assert!(last.contains("Fix the parser.") && last.contains("TODO list (as of now):"), "{last}");
}

#[test]
fn a_summary_that_gains_little_is_not_asked_for() {
    let huge = "Too much. ".repeat(500);
    let turn = Story::new(1).user("Fix it.").calls("a", &["read"]).result("a-1", "3 lines");
    let turn =
        turn.calls("b", &["read"]).result("b-1", &huge).calls("c", &["read"]).result("c-1", &huge);
    assert_eq!(request(&turn), None);
}

#[test]
fn a_history_that_is_too_long_is_to_be_summarised_before_the_first_call() {
    let mut earlier = Story::new(1).user("Old request.");
    earlier = rounds(earlier, 1, 2, |_| 5000).says(Purpose::Work, &"Long answer. ".repeat(500));
    let turn = Story::new(2).user("Fix it.");
    let (ask, facts) = (ask(Purpose::Work, Offered::Everything), facts());
    let context = context(&ask, &facts, &earlier.entries, &turn.entries, &OPTIONS);
    let request = summary_request(&context).unwrap();
    // The long answer would make the request itself too long for the model.
    assert_eq!(request.through, earlier.last() - 1);
    let turn = turn.clone().summary("All old.", earlier.last());
    let after = build(&Context { turn: &turn.entries, ..context });
    insta::assert_snapshot!(shown(&after.messages[..after.messages.len() - 1]), @r"
    user: Summary of what was before in this conversation:
    ```data
    All old.
    ```
    user: Fix it.
    ");
}
