//! Tests of when reminders are given, as stories.

use jiff::SignedDuration;

use super::*;

const AGENT: Agent =
    Agent { has_tools: true, reminds_itself: false, echoes_changes: false, hears_compaction: true };

/// One conversation under test. Each input comes a minute after the one before.
struct Story {
    watch: Watch,
    policy: Policy,
    agent: Agent,
    now: Timestamp,
}

impl Story {
    fn new() -> Self {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        Self { watch: Watch::default(), policy: Policy::default(), agent: AGENT, now }
    }

    /// Handles an input, and reports each reminder as given, with 40 bytes.
    fn step(&mut self, input: Input) -> Vec<Reminder> {
        self.now += SignedDuration::from_secs(60);
        let reminders = self.watch.step(&self.policy, self.agent, input, self.now);
        for reminder in &reminders {
            self.watch.gave(reminder.kind(), &"x".repeat(40), self.now);
        }
        // A store may write and read the state between any two inputs.
        let json = serde_json::to_string(&self.watch).unwrap();
        self.watch = serde_json::from_str(&json).unwrap();
        reminders
    }

    fn work(&mut self) -> Vec<Kind> {
        kinds(&self.step(Input::Turn { worked: true, open: 2 }))
    }

    /// In which of `n` working turns a reminder is given.
    fn reminded_in(&mut self, n: u32) -> Vec<u32> {
        (1..=n).filter(|_| !self.work().is_empty()).collect()
    }

    fn start(&mut self, at: Boundary, open: u32, items: u32) -> Vec<Kind> {
        let others = Others { items, sessions: 1 };
        kinds(&self.step(Input::Boundary { at, open, others }))
    }
}

fn kinds(reminders: &[Reminder]) -> Vec<Kind> {
    reminders.iter().map(Reminder::kind).collect()
}

#[test]
fn initial_one_line_at_the_start_of_a_conversation_that_has_a_todo_tool() {
    let mut story = Story::new();
    assert_eq!(story.start(Boundary::Start, 0, 0), [Kind::Initial]);
    assert_eq!(story.start(Boundary::Start, 0, 0), [], "once");
    let mut story = Story::new();
    assert_eq!(story.start(Boundary::Resume, 0, 0), [], "a resumed one has begun long ago");
    let mut story = Story::new();
    story.agent.has_tools = false;
    assert_eq!(story.start(Boundary::Start, 0, 0), []);
}

#[test]
fn nag_ten_model_turns_without_a_change_while_items_are_open_then_every_ten() {
    assert_eq!(Story::new().reminded_in(45), [10, 20, 30, 40]);
    let mut story = Story::new();
    for _ in 0..9 {
        assert_eq!(story.work(), []);
    }
    let reminders = story.step(Input::Turn { worked: true, open: 2 });
    let changed = BTreeSet::new();
    assert_eq!(reminders, [Reminder::Nag { turns: 10, changed, whole_list: false }]);
}

#[test]
fn no_nag_while_nothing_is_open() {
    let mut story = Story::new();
    for _ in 0..30 {
        assert_eq!(story.step(Input::Turn { worked: true, open: 0 }), []);
    }
    assert_eq!(story.reminded_in(12), [10], "turns count while items are open");
}

#[test]
fn it_fires_on_drift_work_went_on_and_the_list_did_not() {
    let mut story = Story::new();
    for _ in 0..15 {
        assert_eq!(story.step(Input::Turn { worked: false, open: 2 }), [], "only talk");
    }
    assert_eq!(story.work(), [Kind::Nag]);
}

#[test]
fn never_right_after_a_write() {
    let mut story = Story::new();
    for _ in 0..9 {
        assert_eq!(story.work(), []);
    }
    assert_eq!(story.step(Input::Changed), []);
    assert_eq!(story.reminded_in(15), [10]);
}

#[test]
fn it_says_what_changed_and_not_the_whole_list_unless_asked() {
    let mut story = Story::new();
    story.step(Input::ChangedByOthers(BTreeSet::from([Number(3), Number(5)])));
    story.policy.nag_after = 1;
    let changed = BTreeSet::from([Number(3), Number(5)]);
    let reminders = story.step(Input::Turn { worked: true, open: 1 });
    assert_eq!(reminders, [Reminder::Nag { turns: 1, changed, whole_list: false }]);
    story.policy.whole_list = true;
    let reminders = story.step(Input::Turn { worked: true, open: 1 });
    let changed = BTreeSet::new();
    assert_eq!(reminders, [Reminder::Nag { turns: 2, changed, whole_list: true }], "said once");
}

#[test]
fn it_has_a_cap_per_hour() {
    let mut story = Story::new();
    story.policy.nag_after = 1;
    story.policy.per_hour = 3;
    // One turn per minute: three reminders, then none until the first is an hour old.
    assert_eq!(story.reminded_in(65), [1, 2, 3, 61, 62, 63]);
}

#[test]
fn a_clock_set_back_does_not_lift_the_cap() {
    let mut story = Story::new();
    story.policy.nag_after = 1;
    story.policy.per_hour = 1;
    assert_eq!(story.work(), [Kind::Nag]);
    story.now -= SignedDuration::from_hours(48);
    assert_eq!(story.work(), []);
}

#[test]
fn nags_do_not_use_up_what_a_boundary_may_say() {
    let mut story = Story::new();
    story.policy.nag_after = 1;
    story.policy.per_hour = 1;
    assert_eq!(story.reminded_in(5), [1]);
    assert_eq!(story.start(Boundary::Compaction, 2, 0), [Kind::Boundary]);
}

#[test]
fn it_has_an_off_switch_per_kind() {
    for off in [Kind::Initial, Kind::Nag, Kind::Boundary, Kind::Offer] {
        let mut story = Story::new();
        story.policy.off.insert(off);
        let mut reminders = story.start(Boundary::Start, 0, 3);
        reminders.extend(story.start(Boundary::Resume, 2, 3));
        (0..10).for_each(|_| reminders.extend(story.work()));
        let expected: Vec<Kind> = [Kind::Initial, Kind::Offer, Kind::Boundary, Kind::Nag]
            .into_iter()
            .filter(|kind| *kind != off)
            .collect();
        assert_eq!(reminders, expected);
    }
}

#[test]
fn it_is_off_where_the_agent_reminds_itself() {
    let mut story = Story::new();
    story.agent.reminds_itself = true;
    assert_eq!(story.start(Boundary::Start, 0, 0), []);
    assert!(story.reminded_in(30).is_empty());
    assert_eq!(story.start(Boundary::Compaction, 2, 0), [Kind::Boundary], "nobody else can");
}

#[test]
fn after_a_change_is_not_under_the_policy() {
    let mut story = Story::new();
    assert_eq!(story.step(Input::Changed), [], "only where the dialect has it");
    story.agent = Agent { echoes_changes: true, reminds_itself: true, ..AGENT };
    story.policy.per_hour = 0;
    story.policy.off.extend(Kind::ALL);
    for _ in 0..20 {
        assert_eq!(story.step(Input::Changed), [Reminder::AfterChange]);
    }
    assert_eq!(story.watch.ledger.kinds[&Kind::AfterChange].tokens, 200, "but it is counted");
}

#[test]
fn boundary_session_start_resume_and_compaction_put_the_open_list_back() {
    for at in [Boundary::Start, Boundary::Resume, Boundary::Compaction] {
        assert_eq!(Story::new().start(at, 2, 0), [Kind::Boundary]);
        assert!(!Story::new().start(at, 0, 0).contains(&Kind::Boundary), "nothing to put back");
    }
}

#[test]
fn where_an_agent_takes_no_context_at_compaction_it_goes_with_the_next_prompt() {
    let mut story = Story::new();
    story.agent.hears_compaction = false;
    assert_eq!(story.start(Boundary::Compaction, 2, 0), []);
    assert_eq!(story.step(Input::Prompt { open: 2 }), [Reminder::Boundary]);
    assert_eq!(story.step(Input::Prompt { open: 2 }), [], "once");
    story.start(Boundary::Compaction, 2, 0);
    assert_eq!(story.step(Input::Prompt { open: 0 }), [], "all done meanwhile");
}

#[test]
fn open_items_of_sessions_that_ended_are_offered_once_as_a_count() {
    let mut story = Story::new();
    story.agent.has_tools = false;
    let others = Others { items: 4, sessions: 2 };
    let start = Input::Boundary { at: Boundary::Start, open: 0, others };
    assert_eq!(story.step(start.clone()), [Reminder::Offer(others)]);
    assert_eq!(story.step(start), []);
}

#[test]
fn the_ledger_counts_what_it_spent_and_whether_the_next_turn_acted_on_it() {
    let mut story = Story::new();
    story.policy.nag_after = 2;
    assert_eq!(story.reminded_in(2), [2]);
    story.step(Input::Changed);
    story.work();
    assert_eq!(story.work(), [Kind::Nag]);
    story.work();
    // The list was written in a later turn, so the reminder was not followed.
    story.step(Input::Changed);
    let nag = story.watch.ledger.kinds[&Kind::Nag];
    assert_eq!(nag, Tally { given: 2, tokens: 20, acted: 1, ignored: 1 });
    assert_eq!(story.watch.ledger.total(), nag);
}

impl Story {
    /// How many reminders of a kind were followed, ignored, and are not judged yet.
    fn came_of(&self, kind: Kind) -> (u64, u64, u64) {
        let Tally { given, acted, ignored, .. } = self.watch.ledger.kinds[&kind];
        (acted, ignored, given - acted - ignored)
    }
}

/// A reminder at the start of a conversation is judged by the whole turn that follows.
#[test]
fn a_list_put_back_is_held_against_the_turn_that_follows_and_no_later_one() {
    let back = || {
        let mut story = Story::new();
        assert_eq!(story.start(Boundary::Resume, 2, 0), [Kind::Boundary]);
        story.step(Input::Prompt { open: 2 });
        (0..3).for_each(|_| drop(story.work()));
        story
    };
    let mut wrote = back();
    assert_eq!(wrote.came_of(Kind::Boundary), (0, 0, 1), "the turn goes on");
    wrote.step(Input::Changed);
    wrote.step(Input::Stopped);
    assert_eq!(wrote.came_of(Kind::Boundary), (1, 0, 0));
    for end in [Input::Stopped, Input::Prompt { open: 2 }] {
        let mut story = back();
        story.step(end);
        story.step(Input::Changed);
        assert_eq!(story.came_of(Kind::Boundary), (0, 1, 0), "that was in the turn after it");
    }
    let mut killed = back();
    killed.start(Boundary::Resume, 2, 0);
    assert_eq!(killed.came_of(Kind::Boundary), (0, 1, 1));
}

#[test]
fn a_list_that_goes_with_a_prompt_is_held_against_the_turn_that_this_begins() {
    let mut story = Story::new();
    story.watch.owe();
    story.step(Input::Prompt { open: 2 });
    // The user interrupts, so the agent reports no stop, and sends another prompt.
    story.step(Input::Prompt { open: 2 });
    story.step(Input::Changed);
    assert_eq!(story.came_of(Kind::Boundary), (0, 1, 0));
    story.watch.owe();
    story.step(Input::Listens { open: 2 });
    story.step(Input::Listens { open: 2 });
    story.step(Input::Changed);
    assert_eq!(story.came_of(Kind::Boundary), (1, 1, 0), "told in the middle of a turn");
}

#[test]
fn one_write_is_the_merit_of_one_reminder_of_a_kind() {
    let mut story = Story::new();
    (0..4).for_each(|_| drop(story.start(Boundary::Compaction, 2, 0)));
    story.step(Input::Changed);
    assert_eq!(story.came_of(Kind::Boundary), (1, 3, 0));
}

#[test]
fn what_a_sub_agent_writes_is_no_reminders_merit_and_no_drift() {
    let mut story = Story::new();
    story.start(Boundary::Resume, 2, 0);
    (0..9).for_each(|_| drop(story.work()));
    assert_eq!(story.step(Input::ChangedBySubAgent), []);
    assert_eq!(story.came_of(Kind::Boundary), (0, 0, 1));
    assert_eq!(story.reminded_in(12), [10]);
}

#[test]
fn an_offer_is_acted_on_by_taking_over_and_not_by_writing_ones_own_list() {
    for (takes_over, came) in [(false, (0, 1, 0)), (true, (1, 0, 0))] {
        let mut story = Story::new();
        assert_eq!(story.start(Boundary::Start, 0, 3), [Kind::Initial, Kind::Offer]);
        story.step(Input::Prompt { open: 0 });
        story.step(Input::Changed);
        assert_eq!(story.came_of(Kind::Initial), (1, 0, 0));
        assert_eq!(story.came_of(Kind::Offer), (0, 0, 1));
        if takes_over {
            story.watch.took_over();
        }
        story.step(Input::Stopped);
        assert_eq!(story.came_of(Kind::Offer), came);
    }
}

#[test]
fn a_prompt_is_heeded_only_while_something_is_owed_or_yet_to_be_judged() {
    let mut story = Story::new();
    assert!(!story.watch.heeds_prompts());
    story.watch.owe();
    assert!(story.watch.heeds_prompts());
    story.step(Input::Prompt { open: 2 });
    assert!(story.watch.heeds_prompts());
    story.step(Input::Stopped);
    assert!(!story.watch.heeds_prompts());
    let before = story.watch.clone();
    for input in [Input::Prompt { open: 2 }, Input::Stopped, Input::Listens { open: 2 }] {
        story.step(input);
        assert_eq!(story.watch, before, "nothing is to be stored");
    }
}

#[test]
fn a_reminder_that_was_never_given_costs_nothing() {
    let mut story = Story::new();
    story.policy.nag_after = 1;
    let turn = Input::Turn { worked: true, open: 1 };
    assert_eq!(story.watch.step(&story.policy, AGENT, turn, story.now).len(), 1);
    assert_eq!(story.watch.ledger, Ledger::default());
}

#[test]
fn tokens_are_bytes_by_four_rounded_up() {
    for (text, cost) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("äää", 2)] {
        assert_eq!(tokens(text), cost);
    }
}

#[test]
fn the_ledger_does_not_grow_with_time() {
    let mut story = Story::new();
    story.policy.nag_after = 1;
    story.reminded_in(2_000);
    let early = serde_json::to_string(&story.watch).unwrap().len();
    story.reminded_in(2_000);
    let late = serde_json::to_string(&story.watch).unwrap().len();
    assert!(late < early + 100, "{early} bytes became {late}");
}

#[test]
fn a_list_that_was_taken_over_meanwhile_is_put_back_with_the_next_prompt_once() {
    let mut story = Story::new();
    story.start(Boundary::Start, 0, 0);
    story.watch.owe();
    assert_eq!(kinds(&story.step(Input::Prompt { open: 2 })), [Kind::Boundary]);
    assert_eq!(kinds(&story.step(Input::Prompt { open: 2 })), []);
    story.watch.owe();
    assert_eq!(story.start(Boundary::Resume, 2, 0), [Kind::Boundary]);
    assert_eq!(kinds(&story.step(Input::Prompt { open: 2 })), [], "put back by the resume");
}
