//! Stories for §2 of the specification: revisions, numbers, positions, the journal, and how a plan
//! ends.

use super::story;

#[test]
fn a_plans_revision_goes_up_by_one_with_each_change() {
    story(
        "
        $ plan
        revision 0, next number 1, open
        $ add a
        $ add b ; add c
        $ plan
        revision 2, next number 4, open
        $ title 1 -- a
        $ plan
        revision 2, next number 4, open
        ",
    );
}

#[test]
fn numbers_count_up_from_1_and_are_never_reused() {
    story(
        "
        $ add a ; add b
        $ drop 2
        $ add c
        $ list
        [ ] 1 a
        [ ] 3 c
        $ undo
        $ add d
        $ list
        [ ] 1 a
        [ ] 4 d
        ",
    );
}

#[test]
fn positions_are_order_only_and_dense() {
    story(
        "
        $ add a ; add b ; add c
        $ add e first
        $ add d behind 2
        $ list
        [ ] 4 e
        [ ] 1 a
        [ ] 2 b
        [ ] 5 d
        [ ] 3 c
        $ move 3 first
        $ move 4 last
        $ move 1 before 2
        $ move 5 to 1
        $ list
        [ ] 5 d
        [ ] 3 c
        [ ] 1 a
        [ ] 2 b
        [ ] 4 e
        $ drop 3
        $ show 4
        [ ] 4 e
        position 4, verification none, ready
        $ add z at 99
        $ show 6
        [ ] 6 z
        position 5, verification none, ready
        $ move @1 last ; done @1
        $ move 5 first
        $ list
        [x] 5 d
        [ ] 1 a
        [ ] 2 b
        [ ] 4 e
        [ ] 6 z
        ",
    );
}

#[test]
fn what_a_replacement_drops_is_superseded_and_keeps_its_number() {
    story(
        "
        $ add a ; add b
        $ replace [ ] b | [ ] c
        warning: Dropped while open: #1 a
        $ list
        [ ] 2 b
        [ ] 3 c
        $ show 1
        [ ] 1 a
        superseded, verification none
        $ start 1
        refused: item 1 \"a\" is no longer on the list: it was dropped
        ",
    );
}

#[test]
fn each_change_appends_to_the_journal() {
    story(
        "
        $ add a ; add b
        $ start 1
        picked 1
        $ as you
        $ done 2
        $ move 2 first
        $ log
        1 me add: added 1 added 2
        2 me start: started 1
        3 you done: completed 2
        4 you move: moved 2
        ",
    );
}

#[test]
fn a_change_is_atomic_and_the_error_names_every_bad_entry() {
    story(
        "
        $ add a ; add b
        $ done 1 ; done 9 ; reopen 2 ; title 2 --  
        refused: there is no item 9
        refused: item 2 \"b\" is pending already; legal now: in progress, completed, cancelled
        refused: item 2 \"b\": the title is empty
        $ list
        [ ] 1 a
        [ ] 2 b
        $ plan
        revision 1, next number 3, open
        ",
    );
}

#[test]
fn a_plan_ends_open_drained_or_stopped_with_open_items() {
    story(
        "
        $ add a ; add b
        $ done 1
        $ park 2
        $ plan
        revision 3, next number 3, stopped with open items
        $ list
        [x] 1 a
        [ ] 2 b {Parked}
        $ title 2 -- c
        $ list
        [x] 1 a
        [ ] 2 c
        $ plan
        revision 4, next number 3, open
        $ skip 2
        $ plan
        revision 5, next number 3, finished
        ",
    );
}

#[test]
fn a_list_that_was_emptied_is_drained_and_one_that_never_began_is_open() {
    story(
        "
        $ plan
        revision 0, next number 1, open
        $ add a ; add b
        $ drop 1
        $ plan
        revision 2, next number 3, open
        $ drop 2
        $ plan
        revision 3, next number 3, finished
        $ add c
        $ plan
        revision 4, next number 4, open
        ",
    );
}

#[test]
fn progress_is_of_leaves_that_are_neither_cancelled_nor_superseded() {
    story(
        "
        $ progress
        0/0 (0%)
        $ add a ; add b ; add c ; add d ; add child under entry1 ; add e
        $ done 2 ; skip 3 ; done 5
        $ drop 6
        $ progress
        2/3 (67%)
        $ done 1 ; done 4
        $ progress
        3/3 (100%)
        ",
    );
}
