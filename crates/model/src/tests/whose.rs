//! Stories about whose list it is: blocked items, sub-items, and what only a person may do.

use super::story;

#[test]
fn a_blocked_item_is_neither_started_nor_completed() {
    story(
        "
        $ add dig ; add pour after entry1
        $ start 2
        refused: item 2 \"pour\" cannot be started: it depends on item 1 \"dig\", which is pending
        $ done 2
        refused: item 2 \"pour\" cannot be completed: it depends on item 1 \"dig\", which is pending
        $ set 2 in_progress
        refused: item 2 \"pour\" cannot be started: it depends on item 1 \"dig\", which is pending
        $ write [ ] dig | [x] pour
        refused: item 2 \"pour\" cannot be completed: it depends on item 1 \"dig\", which is pending
        $ write [ ] dig | [>] pour
        refused: item 2 \"pour\" cannot be started: it depends on item 1 \"dig\", which is pending
        $ done 1
        $ done 2
        $ list
        [x] 1 dig
        [x] 2 pour, after 1
        $ reopen 1
        $ reopen 2 start
        refused: item 2 \"pour\" cannot be started: it depends on item 1 \"dig\", which is pending
        ",
    );
}

#[test]
fn an_approval_is_refused_from_an_agent() {
    story(
        "
        $ add dig
        $ prove 1 approved
        refused: item 1 \"dig\" cannot be approved by an agent, only by a person
        $ person
        $ prove 1 approved
        $ show 1
        [ ] 1 dig
        position 1, verification none, ready, approved
        ",
    );
}

#[test]
fn a_person_goes_on_anyway_and_an_agent_does_not() {
    story(
        "
        $ add dig ; add pour after entry1
        $ anyway
        $ start 2
        refused: item 2 \"pour\" cannot be started: it depends on item 1 \"dig\", which is pending
        $ person
        $ start 2
        picked 2
        warning: #2 pour is blocked by #1 dig
        $ done 2
        warning: #2 pour is blocked by #1 dig
        ",
    );
}

#[test]
fn recorded_mode_marks_what_was_done_while_it_was_blocked() {
    story(
        "
        $ add dig ; add pour after entry1 ; add dry after entry2
        $ recorded
        $ done 2
        warning: #2 pour is blocked by #1 dig
        $ reopen 2
        $ start 3
        picked 3
        warning: #3 dry is blocked by #2 pour
        $ list
        [ ] 1 dig
        [ ] 2 pour, after 1 {Blocked}
        [>] 3 dry, me attempt 1, after 2 {Blocked}
        ",
    );
}

#[test]
fn what_is_completed_together_does_not_block_itself() {
    story(
        "
        $ add dig ; add pour after entry1 ; add dry after entry2
        $ done 3 ; done 2 ; done 1
        $ list
        [x] 1 dig
        [x] 2 pour, after 1
        [x] 3 dry, after 2
        ",
    );
    story(
        "
        $ add house ; add pour under 1 ; add dig ; after 2 3
        $ write [x] house | [x] pour | [x] dig
        $ list
        [x] 1 house
        [x] 2 pour, after 3, under 1
        [x] 3 dig
        ",
    );
    story(
        "
        $ add house ; add pour under 1 ; add dig under 1 ; after 2 3
        $ done 1 with-children
        $ list
        [x] 1 house
        [x] 2 pour, after 3, under 1
        [x] 3 dig, under 1
        ",
    );
}

#[test]
fn a_parent_is_ready_once_nothing_under_it_is_open() {
    story(
        "
        $ add house ; add walls under 1 ; add bricks under 2
        $ next
        picked 3
        $ show 2
        [ ] 2 walls, under 1
        position 2, verification none
        $ done 3
        $ next
        picked 2
        $ done 2
        $ show 1
        [ ] 1 house
        position 1, verification none, ready
        $ next
        picked 1
        $ add paint under 1
        $ clock 16m
        $ as you
        $ next
        picked 4
        ",
    );
}

#[test]
fn undoing_done_restores_the_claim_while_its_lease_lasts() {
    story(
        "
        $ add a ; add b
        $ next
        picked 1
        $ done 1
        $ undo
        $ as you
        $ next
        picked 2
        $ as me
        $ next
        picked 1
        ",
    );
}

#[test]
fn undoing_done_releases_the_item_once_the_lease_is_over() {
    story(
        "
        $ add a ; add b
        $ next
        picked 1
        $ done 1
        $ clock 16m
        $ undo
        $ list
        [ ] 1 a
        [ ] 2 b
        $ as you
        $ next
        picked 1
        $ as me
        $ next
        picked 2
        ",
    );
    story(
        "
        $ add a
        $ process 7
        $ start 1
        picked 1
        $ release 1
        $ gone 7
        $ undo
        $ list
        [ ] 1 a
        ",
    );
}

#[test]
fn the_cap_on_open_items_is_for_agents() {
    story(
        "
        $ limit open 2
        $ add a ; add b
        $ add c
        refused: the plan has 2 open items; 1 more would exceed the limit of 2
        $ person
        $ add c ; add d
        $ skip 1
        $ undo
        $ replace [ ] a | [ ] b | [ ] c | [ ] d | [ ] e
        $ agent
        $ done 1
        $ undo
        refused: revision 6 cannot be undone: the plan has 4 open items; 1 more would exceed the limit of 2
        ",
    );
}

#[test]
fn an_agent_neither_changes_nor_clears_a_persons_goal() {
    story(
        "
        $ person
        $ add a
        $ goal -- it ships
        $ agent
        $ goal -- it compiles
        refused: a person set the goal: an agent cannot change or clear it
        $ no-goal
        refused: a person set the goal: an agent cannot change or clear it
        $ goal 1 -- it ships
        refused: a person set the goal: an agent cannot change or clear it
        $ undo
        refused: me has no change left to undo in this plan
        $ done 1
        $ aim
        No([Word]), given up [], 0 m
        $ person
        $ no-goal
        $ agent
        $ goal -- it compiles
        $ no-goal
        ",
    );
}

#[test]
fn forgetting_an_open_item_settles_it() {
    story(
        "
        $ add a ; add b after entry1 ; add c
        $ wait 1 -- a secret
        $ done 3
        $ forget 1
        warning: Depends on #1 [forgotten], which was cancelled: #2 b
        $ list
        [-] 1 [forgotten]
        [ ] 2 b, after 1
        [x] 3 c
        $ progress
        1/2 (50%)
        $ plan
        revision 4, next number 4, open
        $ forget 2
        $ plan
        revision 5, next number 4, finished
        $ forget 3
        $ list
        [-] 1 [forgotten]
        [-] 2 [forgotten], after 1
        [x] 3 [forgotten]
        ",
    );
    story(
        "
        $ add a ; add b
        $ start 1
        picked 1
        $ forget
        $ list
        [-] 1 [forgotten]
        [-] 2 [forgotten]
        $ plan
        revision 3, next number 3, finished
        ",
    );
}

/// A value nested in `levels` others.
fn nested(levels: usize) -> String {
    format!("{{\"a\":{}1{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1))
}

#[test]
fn metadata_is_refused_beyond_thirty_two_levels() {
    let [fits, deep] = [32, 33].map(nested);
    story(&format!(
        "
        $ add a
        $ merge 1 -- {fits}
        $ merge 1 -- {deep}
        refused: item 1 \"a\": the metadata is nested more than 32 levels deep
        "
    ));
}

#[test]
fn recorded_mode_keeps_an_item_without_metadata_that_is_too_deep() {
    let deep = nested(100).replace("\"a\"", "\"b\":1,\"a\"");
    story(&format!(
        "
        $ add a
        $ recorded
        $ merge 1 -- {deep}
        $ show 1
        [ ] 1 a {{OverLimit}}
        position 1, verification none, ready, metadata {{\"b\":1}}
        "
    ));
}
