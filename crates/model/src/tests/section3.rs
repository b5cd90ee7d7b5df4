//! Stories for §3 of the specification, row by row. The governor's rows are in `guard`.

use super::story;
use super::world::{ctx, epoch, op};
use crate::command::{Ctx, NewItem, Op, Patch};
use crate::limits::Limits;
use crate::{Broken, IdSource, Item, Number, Plan, PlanId, Problem, Refusal, decide};

#[test]
fn one_item_in_progress_per_worker_and_a_second_start_names_the_one_that_holds_it() {
    story(
        "
        $ add a ; add b ; add c
        $ start 1
        picked 1
        $ start 2
        refused: item 2 \"b\" cannot be started: item 1 \"a\" is in progress (me)
        $ as you
        $ start 2
        picked 2
        $ reopen 3 start
        refused: item 3 \"c\" is pending: only a closed item can be reopened; legal now: in progress, completed, cancelled
        $ list
        [>] 1 a, me attempt 1
        [>] 2 b, you attempt 1
        [ ] 3 c
        ",
    );
}

#[test]
fn max_in_progress_is_for_the_plan() {
    story(
        "
        $ add a ; add b ; add c
        $ max 2
        $ start 1
        picked 1
        $ start 2
        picked 2
        $ as you
        $ start 3
        refused: item 3 \"c\" cannot be started: item 1 \"a\" is in progress (me), and at most 2 may be at once
        ",
    );
    story(
        "
        $ add a ; add b
        $ limit in-progress 1
        $ start 1
        picked 1
        $ as you
        $ start 2
        refused: item 2 \"b\" cannot be started: item 1 \"a\" is in progress (me)
        ",
    );
}

#[test]
fn entries_of_a_workers_own_list_do_not_count_as_in_progress() {
    let mut plan = Plan::new(PlanId::NIL, "/p", epoch());
    let limits = Limits { max_in_progress: Some(1), ..Limits::default() };
    let mark = serde_json::Map::from_iter([(Item::WORKER.to_owned(), "claude".into())]);
    let mut entry = NewItem { metadata: Some(mark), ..NewItem::titled("dig") };
    entry.parent = Some(Number(1).into());
    let ops = [op("add a"), Op::Add(Box::new(entry)), op("add b"), op("start 1"), op("start 2")];
    for event in decide(&plan, &ops, &Ctx { limits, ..ctx() }).unwrap().events {
        plan.evolve(&event);
    }
    let limits = Limits { max_in_progress: Some(2), ..limits };
    let ids = IdSource::fixed(epoch(), 2);
    decide(&plan, &[op("start 3")], &Ctx { limits, ids, ..ctx() }).unwrap();
}

#[test]
fn a_claim_is_a_lease_of_15_minutes() {
    story(
        "
        $ add a
        $ start 1
        picked 1
        $ as you
        $ clock 14m
        $ done 1
        refused: item 1 \"a\" is held by me until 2026-01-01T00:15:00Z
        $ next
        $ clock 1m
        $ next
        picked 1
        $ list
        [>] 1 a, you attempt 2
        $ log
        1 me add: added 1
        2 me start: started 1
        3 you next: lease_ran_out 1 started 1
        ",
    );
}

#[test]
fn a_claim_is_renewed_by_any_write_of_the_holder() {
    story(
        "
        $ add a ; add b
        $ start 1
        picked 1
        $ clock 10m
        $ context 2 -- found something
        $ show 1
        [>] 1 a, me attempt 1
        position 1, verification none, held until 2026-01-01T00:25:00Z
        $ clock 10m
        $ as you
        $ start 1
        refused: item 1 \"a\" is held by me until 2026-01-01T00:25:00Z
        ",
    );
}

#[test]
fn a_holder_that_is_late_but_unchallenged_may_still_finish() {
    story(
        "
        $ add a
        $ start 1
        picked 1
        $ clock 60m
        $ done 1
        $ list
        [x] 1 a
        ",
    );
}

#[test]
fn a_late_write_under_an_old_attempt_is_refused() {
    story(
        "
        $ add a
        $ start 1
        picked 1
        $ clock 16m
        $ as you
        $ next
        picked 1
        $ as me
        $ done 1
        refused: item 1 \"a\" is held by you until 2026-01-01T00:31:00Z
        $ as you
        $ attempt 1
        $ done 1
        refused: item 1 \"a\" has been claimed again: this is attempt 1, it is at attempt 2
        $ context 1 -- late
        refused: item 1 \"a\" has been claimed again: this is attempt 1, it is at attempt 2
        $ wait 1 -- nothing any more
        refused: item 1 \"a\" has been claimed again: this is attempt 1, it is at attempt 2
        $ prove 1 passed
        refused: item 1 \"a\" has been claimed again: this is attempt 1, it is at attempt 2
        $ attempt 2
        $ done 1
        $ list
        [x] 1 a
        ",
    );
}

#[test]
fn an_attempt_is_about_the_item_that_is_named_and_not_about_its_children() {
    story(
        "
        $ add a ; add b under entry1
        $ start 1
        picked 1
        $ attempt 2
        $ done 1 with-children
        refused: item 1 \"a\" has been claimed again: this is attempt 2, it is at attempt 1
        $ attempt 1
        $ done 1 with-children
        $ list
        [x] 1 a
        [x] 2 b, under 1
        ",
    );
}

#[test]
fn a_claim_is_released_early_only_when_its_process_is_gone() {
    story(
        "
        $ add a
        $ process 100
        $ start 1
        picked 1
        $ as you
        $ gone 101
        $ next
        $ gone 100
        $ next
        picked 1
        $ list
        [>] 1 a, you attempt 2
        ",
    );
}

#[test]
fn a_person_may_take_any_item_back_a_worker_only_its_own() {
    story(
        "
        $ add a
        $ start 1
        picked 1
        $ as you
        $ release 1
        refused: item 1 \"a\" is held by me until 2026-01-01T00:15:00Z
        $ skip 1
        refused: item 1 \"a\" is held by me until 2026-01-01T00:15:00Z
        $ person
        $ release 1
        $ list
        [ ] 1 a
        ",
    );
}

#[test]
fn an_open_item_missing_from_a_whole_list_write_is_superseded_with_a_warning() {
    story(
        "
        $ add a ; add b ; add c
        $ done 1
        $ replace [ ] c
        warning: Dropped while open: #2 b
        $ list
        [ ] 3 c
        ",
    );
}

#[test]
fn most_open_items_counts_what_is_open_not_what_is_done() {
    story(
        "
        $ limit open 2
        $ add a ; add b
        $ add c
        refused: the plan has 2 open items; 1 more would exceed the limit of 2
        $ done 1
        $ add c
        $ reopen 1
        refused: the plan has 2 open items; 1 more would exceed the limit of 2
        $ replace [ ] a | [ ] b | [ ] c
        refused: the plan has 2 open items; 1 more would exceed the limit of 2
        $ replace [x] a | [ ] b | [ ] d
        warning: Dropped while open: #3 c
        ",
    );
}

#[test]
fn longest_text_is_counted_in_characters() {
    story(
        "
        $ limit title 3
        $ limit text 4
        $ add äöü
        $ add äöüß
        refused: the title has 4 characters; at most 3 are allowed
        $ active 1 -- abcd
        refused: item 1 \"äöü\": the active form has 4 characters; at most 3 are allowed
        $ context 1 -- 12345
        refused: item 1 \"äöü\": the context has 5 characters; at most 4 are allowed
        $ done 1 -- 12345
        refused: the outcome has 5 characters; at most 4 are allowed
        ",
    );
}

#[test]
fn of_several_new_items_every_bad_one_is_named_by_its_place() {
    story(
        "
        $ limit title 3
        $ add -- \t ; add abcd ; add ok
        refused: the title of entry 1 is empty
        refused: the title of entry 2 has 4 characters; at most 3 are allowed
        $ add abcd ; add ok
        refused: the title of entry 1 has 4 characters; at most 3 are allowed
        $ list
        ",
    );
}

#[test]
fn a_refusal_of_very_many_entries_stays_short() {
    let problem = |entry| Problem { entry, item: None, broken: Broken::EmptyTitle { entry } };
    let refusal = Refusal { problems: (0..1000).map(problem).collect(), entries: 1000 };
    let text = refusal.to_string();
    assert_eq!(text.lines().count(), 101);
    assert!(text.ends_with("\nthe title of entry 100 is empty\n… and 900 more"), "{text}");
}

/// Whether these operations are allowed on a plan of two items under the given limits.
fn allowed(limits: Limits, ops: &[Op]) -> bool {
    let mut plan = Plan::new(PlanId(IdSource::fixed(epoch(), 0).nth(0)), "/p", epoch());
    for event in decide(&plan, &[op("add a"), op("add b")], &ctx()).unwrap().events {
        plan.evolve(&event);
    }
    decide(&plan, ops, &Ctx { limits, ids: IdSource::fixed(epoch(), 2), ..ctx() }).is_ok()
}

#[test]
fn most_open_items_are_100_unless_configured_otherwise() {
    let add = |n| vec![op("add c"); n];
    assert!(allowed(Limits::default(), &add(98)));
    assert!(!allowed(Limits::default(), &add(99)));
    let fewer = Limits { open_items: 3, ..Limits::default() };
    assert!(allowed(fewer, &add(1)) && !allowed(fewer, &add(2)));
}

#[test]
fn longest_text_is_500_characters_for_title_and_active_form_and_20000_for_the_others() {
    type Write = fn(String) -> Op;
    fn edit(patch: Patch) -> Op {
        Op::Edit { item: Number(1).into(), patch: Box::new(patch) }
    }
    let fields: [(&str, usize, Write); 8] = [
        ("title of a new item", 500, |it| Op::Add(Box::new(NewItem::titled(it)))),
        ("title", 500, |it| edit(Patch { title: Some(it), ..Patch::default() })),
        ("active form", 500, |it| edit(Patch { active_form: Some(Some(it)), ..Patch::default() })),
        ("context", 20_000, |it| edit(Patch { context: Some(it), ..Patch::default() })),
        ("criteria", 20_000, |it| {
            edit(Patch { completion_criteria: Some(it), ..Patch::default() })
        }),
        ("outcome", 20_000, |it| Op::Complete {
            item: Number(1).into(),
            outcome: Some(it),
            with_children: false,
        }),
        ("reason", 20_000, |it| Op::Cancel { item: Number(1).into(), reason: Some(it) }),
        ("what it waits for", 20_000, |on| Op::Wait { item: Number(1).into(), on }),
    ];
    for (field, most, write) in fields {
        let of = |length| [write("ä".repeat(length))];
        assert!(allowed(Limits::default(), &of(most)), "{field}");
        assert!(!allowed(Limits::default(), &of(most + 1)), "{field}");
        let shorter = Limits { title: 5, text: 7, ..Limits::default() };
        let most = if most == 500 { 5 } else { 7 };
        assert!(allowed(shorter, &of(most)) && !allowed(shorter, &of(most + 1)), "{field}");
    }
}

#[test]
fn a_title_is_not_empty_after_trimming() {
    story(
        "
        $ add --  \t 
        refused: the title of entry 1 is empty
        $ add a ; add -- \u{a0}
        refused: the title of entry 2 is empty
        $ list
        ",
    );
}

#[test]
fn dependencies_are_known_and_in_the_same_plan() {
    story(
        "
        $ add a after 2
        refused: there is no item 2
        $ add a
        $ after 1 9
        refused: item 1 \"a\": there is no item 9
        $ after 1 1
        refused: item 1 \"a\" would depend on itself: 1 → 1
        ",
    );
}

#[test]
fn a_cycle_is_refused_and_the_error_prints_it() {
    story(
        "
        $ add a ; add b after entry1 ; add c after entry2
        $ after 1 3
        refused: item 1 \"a\" would depend on itself: 1 → 3 → 2 → 1
        $ not-after 3 2
        $ after 1 3
        $ list
        [ ] 1 a, after 3
        [ ] 2 b, after 1
        [ ] 3 c
        ",
    );
}

#[test]
fn a_parent_is_not_under_itself() {
    story(
        "
        $ add a ; add b under entry1 ; add c under entry2
        $ under 1 3
        refused: item 1 \"a\" would be under itself: 1 → 3 → 2 → 1
        ",
    );
}

#[test]
fn a_parent_is_not_completed_while_a_child_is_open() {
    story(
        "
        $ add a ; add b under entry1 ; add c under entry2
        $ done 1
        refused: item 1 \"a\" cannot be completed: item 2 \"b\" under it is open
        $ done 1 with-children
        $ list
        [x] 1 a
        [x] 2 b, under 1
        [x] 3 c, under 2
        $ reopen 2
        refused: item 2 \"b\" cannot be open under item 1 \"a\", which is completed
        $ add d under 1
        refused: item 4 \"d\" cannot be open under item 1 \"a\", which is completed
        $ replace [ ] a | [ ] b | [x] c
        $ list
        [ ] 1 a
        [ ] 2 b, under 1
        [x] 3 c, under 2
        $ replace [x] a | [x] b | [x] c
        ",
    );
}

#[test]
fn a_parent_may_be_cancelled_and_says_what_is_still_open_under_it() {
    story(
        "
        $ add a ; add b under entry1
        $ skip 1
        warning: Still open under #1 a: #2 b
        ",
    );
}

#[test]
fn where_verification_is_required_an_item_stays_in_progress_until_it_passed() {
    story(
        "
        $ add a
        $ check 1 -- make test
        $ start 1
        picked 1
        $ done 1
        refused: item 1 \"a\" cannot be completed: it needs checked evidence and has none
        $ replace [x] a
        refused: item 1 \"a\" cannot be completed: it needs checked evidence and has none
        $ prove 1 failed
        $ done 1
        refused: item 1 \"a\" cannot be completed: its last check failed
        $ list
        [>] 1 a, me attempt 1
        $ prove 1 passed
        $ done 1
        $ list
        [x] 1 a
        ",
    );
}

#[test]
fn nul_is_refused_and_everything_else_is_stored_as_sent() {
    story(
        "
        $ add -- a\\0b
        refused: the title contains a NUL character
        $ add -- \u{1b}[31mred\u{202e}
        $ list
        [ ] 1 \u{1b}[31mred\u{202e}
        ",
    );
}

#[test]
fn a_whole_list_matches_by_id_then_by_equal_title() {
    story(
        "
        $ add a ; add b ; add b
        $ replace [x] b | [ ] #1 renamed | [ ] new | [ ] b
        $ list
        [x] 2 b
        [ ] 1 renamed
        [ ] 4 new
        [ ] 3 b
        $ replace [x] b | [ ] #1 renamed | [ ] new | [ ] b
        $ plan
        revision 2, next number 5, open
        $ replace [ ] #1 x | [ ] #1 y
        refused: entries 1 and 2 are the same item
        ",
    );
}

#[test]
fn a_whole_list_may_finish_one_item_and_begin_the_next_in_any_order() {
    story(
        "
        $ add a ; add b
        $ start 2
        picked 2
        $ replace [>] a | [x] b
        $ list
        [>] 1 a, me attempt 1
        [x] 2 b
        $ replace [>] a | [>] b
        refused: item 2 \"b\" cannot be started: item 1 \"a\" is in progress (me)
        ",
    );
}

#[test]
fn a_lease_that_ran_out_is_not_the_takers_to_take_back() {
    story(
        "
        $ add a
        $ start 1
        picked 1
        $ clock 16m
        $ as you
        $ next
        picked 1
        $ undo
        $ list
        [ ] 1 a
        ",
    );
}

#[test]
fn a_parent_and_its_children_may_be_completed_together_in_any_order() {
    story(
        "
        $ add a ; add b under entry1 ; add c under entry2
        $ done 1 ; done 3 ; done 2
        $ list
        [x] 1 a
        [x] 2 b, under 1
        [x] 3 c, under 2
        $ done 1 ; done 9 ; done 3
        refused: item 1 \"a\" is completed already; legal now: pending, in progress, if it is reopened
        refused: there is no item 9
        refused: item 3 \"c\" is completed already; legal now: pending, in progress, if it is reopened
        ",
    );
}

#[test]
fn a_refusal_names_titles_as_people_wrote_them() {
    story(
        "
        $ add 👨\u{200d}👩\u{200d}👧 نمی\u{200c}خواهم
        $ release 1
        refused: item 1 \"👨\u{200d}👩\u{200d}👧 نمی\u{200c}خواهم\" is pending already; legal now: in progress, completed, cancelled
        ",
    );
}
