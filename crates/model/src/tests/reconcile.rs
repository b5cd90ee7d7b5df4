//! Stories for §4 of the specification: whole-list tools reconcile, they do not replace.

use super::story;

#[test]
fn a_reworded_entry_is_the_same_entry() {
    story(
        "
        $ add Fix failing tests ; add Update docs
        $ replace [x] Fix failing tests | [ ] Update the documentation
        $ list
        [x] 1 Fix failing tests
        [ ] 2 Update the documentation
        ",
    );
}

#[test]
fn what_is_closed_matches_nothing_by_similarity() {
    story(
        "
        $ add Fix failing tests
        $ done 1
        $ replace [ ] Fix the failing tests
        $ list
        [ ] 2 Fix the failing tests
        ",
    );
    story(
        "
        $ add Fix failing tests
        $ replace [-] Fix the failing tests
        warning: Dropped while open: #1 Fix failing tests
        $ list
        [-] 2 Fix the failing tests
        ",
    );
}

#[test]
fn an_open_entry_that_is_reworded_and_completed_at_once_is_that_entry() {
    story(
        "
        $ write [>] Fix failing tests | [ ] Update docs
        $ write [x] Fix the failing tests | [>] Update docs
        $ list
        [x] 1 Fix the failing tests
        [>] 2 Update docs, me attempt 1
        $ log
        1 me replace: added 1 added 2 started 1
        2 me replace: released 1 edited 1 completed 1 started 2
        ",
    );
}

#[test]
fn a_reworded_and_completed_entry_that_could_be_two_is_neither() {
    story(
        "
        $ write [ ] Fix tests | [ ] Fix all the tests
        $ write [x] Fix the tests
        warning: Dropped while open: #1 Fix tests
        warning: Dropped while open: #2 Fix all the tests
        $ list
        [x] 3 Fix the tests
        ",
    );
}

#[test]
fn evidence_does_not_make_a_reworded_entry_complete() {
    story(
        "
        $ write [ ] Fix tests
        $ check 1 -- make test
        $ prove 1 passed
        $ write [x] Fix the tests
        refused: item 1 \"Fix the tests\" cannot be completed: it needs checked evidence and has none
        ",
    );
}

#[test]
fn an_agents_own_list_takes_away_only_what_came_from_such_a_list() {
    story(
        "
        $ add Review the design ; add Ship it
        $ done 2
        $ write [>] Write the parser | [ ] Write the printer
        warning: Not of this list, and still open: #1 Review the design
        $ write [x] Write the parser
        warning: Dropped while open: #4 Write the printer
        warning: Not of this list, and still open: #1 Review the design
        $ list
        [x] 3 Write the parser
        [ ] 1 Review the design
        [x] 2 Ship it
        $ recorded
        $ write [ ] Something else
        warning: Not of this list, and still open: #1 Review the design
        $ list
        [ ] 5 Something else
        [ ] 1 Review the design
        [x] 2 Ship it
        ",
    );
}

#[test]
fn what_an_agents_list_names_is_changed_wherever_it_came_from() {
    story(
        "
        $ add Review the design
        $ write [x] Review the design | [ ] Build
        $ write [ ] Build
        $ list
        [ ] 2 Build
        [x] 1 Review the design
        ",
    );
}

#[test]
fn what_did_not_come_from_a_list_leaves_room_for_it() {
    story(
        "
        $ person
        $ add a ; add b ; add c
        $ agent
        $ limit open 2
        $ write [ ] one thing | [ ] another matter
        warning: Not of this list, and still open: #1 a
        warning: Not of this list, and still open: #2 b
        warning: Not of this list, and still open: #3 c
        $ write [ ] one thing | [ ] another matter | [ ] yet more
        refused: the plan has 2 open items; 1 more would exceed the limit of 2
        ",
    );
}

#[test]
fn a_list_does_not_reword_what_another_worker_holds() {
    story(
        "
        $ write [ ] Fix tests
        $ as you
        $ start 1
        picked 1
        $ as me
        $ write [ ] Fix the tests
        refused: item 1 \"Fix tests\" is held by you until 2026-01-01T00:15:00Z
        ",
    );
}

#[test]
fn similarity_matches_only_where_it_is_unique() {
    story(
        "
        $ add Fix tests
        $ replace [ ] Fix the tests | [ ] Fix all tests
        warning: Dropped while open: #1 Fix tests
        $ list
        [ ] 2 Fix the tests
        [ ] 3 Fix all tests
        ",
    );
}

#[test]
fn evidence_and_claim_are_never_carried_over_by_similarity() {
    story(
        "
        $ add Fix tests
        $ check 1 -- make test
        $ start 1
        picked 1
        $ prove 1 passed
        $ replace [>] Fix the tests
        $ list
        [>] 1 Fix the tests, me attempt 2
        $ done 1
        refused: item 1 \"Fix the tests\" cannot be completed: it needs checked evidence and has none
        ",
    );
}

#[test]
fn what_others_added_since_stays_and_is_named() {
    story(
        "
        $ add a ; add b
        $ shown 1
        $ as you
        $ add yours first
        $ as me
        $ replace [x] a | [ ] b
        warning: Added since by you: #3 yours
        $ list
        [x] 1 a
        [ ] 2 b
        [ ] 3 yours
        ",
    );
}

#[test]
fn what_both_added_under_one_title_is_one_item() {
    story(
        "
        $ add a
        $ shown 1
        $ as you
        $ add b
        $ as me
        $ replace [ ] a | [ ] b
        $ list
        [ ] 1 a
        [ ] 2 b
        ",
    );
}

#[test]
fn what_only_others_changed_is_kept_and_named() {
    story(
        "
        $ add a ; add b ; add c
        $ shown 1
        $ as you
        $ done 1
        $ title 2 -- better
        $ drop 3
        $ as me
        $ replace [ ] a | [ ] b | [ ] c
        warning: Changed since by you: #1 a (completed)
        warning: Changed since by you: #2 better (pending)
        warning: Taken off the list since by you: #3 c
        $ list
        [x] 1 a
        [ ] 2 better
        ",
    );
}

#[test]
fn what_only_the_caller_changed_is_taken() {
    story(
        "
        $ add a ; add b
        $ shown 1
        $ as you
        $ done 1
        $ as me
        $ replace [ ] a | [>] b
        warning: Changed since by you: #1 a (completed)
        $ list
        [x] 1 a
        [>] 2 b, me attempt 1
        ",
    );
}

#[test]
fn the_same_item_changed_by_both_is_a_conflict_that_the_result_shows() {
    story(
        "
        $ add a ; add b
        $ shown 1
        $ as you
        $ skip 1
        $ title 2 -- yours
        $ as me
        $ replace [x] a | [ ] #2 mine
        refused: item 1 \"a\": the status was changed by you since you last saw it (revision 2): you have \"completed\", now it is \"cancelled\"
        refused: item 2 \"yours\": the title was changed by you since you last saw it (revision 3): you have \"mine\", now it is \"yours\"
        $ list
        [-] 1 a
        [ ] 2 yours
        $ replace [-] a | [ ] #2 yours
        $ replace
        refused: item 1 \"a\": the item was changed by you since you last saw it (revision 2): you have \"left out\", now it is \"a (cancelled)\"
        refused: item 2 \"yours\": the item was changed by you since you last saw it (revision 3): you have \"left out\", now it is \"yours (pending)\"
        ",
    );
}

#[test]
fn both_making_the_same_change_is_no_conflict() {
    story(
        "
        $ add a
        $ shown 1
        $ as you
        $ done 1
        $ as me
        $ replace [x] a
        $ plan
        revision 2, next number 2, finished
        ",
    );
}

#[test]
fn in_recorded_mode_a_conflict_is_kept_and_marked() {
    story(
        "
        $ add a ; add b
        $ shown 1
        $ as you
        $ skip 1
        $ as me
        $ recorded
        $ replace [x] a | [ ] b
        warning: #1 a: the status was changed by you since you last saw it (revision 2): you have \"completed\", now it is \"cancelled\"
        $ list
        [x] 1 a {Conflict}
        [ ] 2 b
        ",
    );
}

#[test]
fn a_caller_that_was_never_shown_the_plan_drops_nothing() {
    story(
        "
        $ add a ; add b
        $ as you
        $ shown 0
        $ replace [ ] b | [ ] c
        warning: Added since by me: #1 a
        $ list
        [ ] 2 b
        [ ] 3 c
        [ ] 1 a
        ",
    );
}

#[test]
fn a_whole_list_says_what_waits_and_what_waits_no_more() {
    story(
        "
        $ add A ; add B ; add C
        $ done 2 ; start 3
        picked 3
        $ replace [ ] A ~ blocked | [ ] B ~ the owner | [ ] C ~ rain
        $ list
        [ ] 1 A, waits for blocked
        [ ] 2 B, waits for the owner
        [ ] 3 C, waits for rain
        $ replace [ ] A | [ ] B ~ | [>] C
        $ list
        [ ] 1 A, waits for blocked
        [ ] 2 B
        [>] 3 C, me attempt 2
        $ replace [ ] A ~ | [x] B ~ nobody | [>] C ~ rain
        refused: item 2 \"B\" is completed: only an open item can wait
        $ replace [ ] A ~ | [x] B ~ | [>] C ~ rain
        $ list
        [ ] 1 A
        [x] 2 B
        [>] 3 C, me attempt 2, waits for rain
        ",
    );
}

#[test]
fn a_list_that_does_not_say_for_what_leaves_a_better_word() {
    story(
        "
        $ add A ; add B
        $ wait 1 -- the owner
        $ replace [ ] A ~ blocked | [ ] B ~ blocked
        $ list
        [ ] 1 A, waits for the owner
        [ ] 2 B, waits for blocked
        $ shown 3
        $ as person
        $ wait 1 -- the tide
        $ resume 2
        $ as me
        $ replace [ ] A ~ blocked | [ ] B ~ blocked
        warning: Changed since by person: #1 A (pending)
        warning: Changed since by person: #2 B (pending)
        $ list
        [ ] 1 A, waits for the tide
        [ ] 2 B
        ",
    );
}
