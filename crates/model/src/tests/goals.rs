//! Stories for §2 of the specification: goals, their scope and their budget.

use super::story;

#[test]
fn a_goal_stands_above_the_plan_and_shrinking_scope_is_visible_as_an_event() {
    story(
        "
        $ add a ; add b
        $ goal 1 2 -- it ships
        $ replace [ ] a
        warning: Dropped while open: #2 b
        $ goal 1 -- it ships, smaller
        $ log
        1 me add: added 1 added 2
        2 me plan: plan_changed
        3 me replace: superseded 2 plan_changed
        4 me plan: plan_changed
        $ undo
        $ undo
        $ list
        [ ] 1 a
        [ ] 2 b
        ",
    );
}

#[test]
fn a_settled_list_is_held_against_the_items_that_its_goal_is_accepted_by() {
    story(
        "
        $ aim
        no goal
        $ add a ; add b ; add c
        $ goal 2 3 -- it ships
        $ aim
        NotYet, given up [], 0 m
        $ done 1 ; skip 2 ; done 3
        $ aim
        No([GivenUp(Number(2))]), given up [2], 0 m
        $ reopen 2
        $ aim
        NotYet, given up [], 0 m
        $ done 2
        $ aim
        Yes, given up [], 0 m
        $ drop 2
        $ aim
        Yes, given up [], 0 m
        $ goal 2 7 -- it ships
        $ aim
        No([GivenUp(Number(7))]), given up [], 0 m
        $ met reported 2 7 -- it ships
        $ aim
        No([GivenUp(Number(7))]), given up [], 0 m
        $ person
        $ met approved 2 7 -- it ships
        $ aim
        Yes, given up [], 0 m
        $ goal 3 7 -- it ships
        $ aim
        No([GivenUp(Number(7))]), given up [], 0 m
        ",
    );
}

#[test]
fn what_a_goal_is_accepted_by_counts_once_it_is_checked_or_approved_where_that_is_demanded() {
    story(
        "
        $ recorded
        $ add a ; add b
        $ check 1 -- make test
        $ goal 1 2 -- it ships
        $ demand checked
        $ done 1 ; done 2
        $ aim
        No([Unchecked(Number(1)), Unapproved(Number(2))]), given up [], 0 m
        $ prove 1 failed
        $ aim
        No([Failed(Number(1)), Unapproved(Number(2))]), given up [], 0 m
        $ prove 1 passed ; approve 2
        $ aim
        Yes, given up [], 0 m
        $ aim 1
        No([Unchecked(Number(1))]), given up [], 0 m
        ",
    );
}

#[test]
fn a_goal_without_items_is_met_by_a_word_that_is_worth_what_the_plan_demands() {
    story(
        "
        $ add a
        $ goal -- it ships
        $ done 1
        $ aim
        No([Word]), given up [], 0 m
        $ met reported -- it ships
        $ aim
        Yes, given up [], 0 m
        $ demand approved
        $ aim
        No([Word]), given up [], 0 m
        $ person
        $ met approved -- it ships
        $ aim
        Yes, given up [], 0 m
        $ goal -- it ships and installs
        $ aim
        No([Word]), given up [], 0 m
        $ undo
        $ aim
        Yes, given up [], 0 m
        ",
    );
}

#[test]
fn scope_is_what_is_given_up_while_the_goal_stands_and_is_taken_back_with_it() {
    story(
        "
        $ add a ; add b ; add c ; add d ; add child under entry1
        $ skip 4
        $ goal 1 -- it ships
        $ skip 2 ; skip 5
        $ drop 4
        $ aim
        NotYet, given up [2], 0 m
        $ as you
        $ drop 3
        $ aim
        NotYet, given up [2 3], 0 m
        $ as me
        $ undo
        $ undo
        $ aim
        NotYet, given up [3], 0 m
        $ as you
        $ undo
        $ aim
        NotYet, given up [], 0 m
        ",
    );
}

#[test]
fn minutes_count_from_the_goal_to_the_end_of_the_last_item() {
    story(
        "
        $ add a
        $ clock 5m
        $ goal -- it ships
        $ clock 30m
        $ aim
        NotYet, given up [], 30 m
        $ clock 1m
        $ aim
        NotYet, given up [], 31 m, over budget
        $ done 1
        $ clock 60m
        $ aim
        No([Word]), given up [], 31 m, over budget
        ",
    );
}
