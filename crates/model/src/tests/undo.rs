//! Stories for §2 of the specification: undo and forget.

use super::story;

#[test]
fn undo_takes_back_the_callers_own_last_change_that_is_not_yet_undone() {
    story(
        "
        $ add a
        $ title 1 -- b
        $ as you
        $ context 1 -- yours
        $ as me
        $ undo
        $ list
        [ ] 1 a
        $ undo
        refused: revision 1 cannot be undone: you changed the context of item 1 since (revision 3)
        $ as you
        $ undo
        $ as me
        $ undo
        $ list
        $ undo
        refused: me has no change left to undo in this plan
        $ log
        1 me add: added 1
        2 me edit: edited 1
        3 you edit: edited 1
        4 me undo: undone 1
        5 you undo: undone 1
        6 me undo: superseded 1
        ",
    );
}

#[test]
fn undo_conflicts_if_someone_changed_the_same_fields_since() {
    story(
        "
        $ add a ; add b
        $ title 1 -- mine
        $ as you
        $ title 1 -- yours
        $ as me
        $ undo
        refused: revision 2 cannot be undone: you changed the title of item 1 since (revision 3)
        ",
    );
}

#[test]
fn claims_attempts_and_evidence_are_never_undone() {
    story(
        "
        $ add a
        $ start 1
        picked 1
        $ undo
        $ list
        [ ] 1 a
        $ start 1
        picked 1
        $ list
        [>] 1 a, me attempt 2
        $ done 1
        $ undo
        $ show 1
        [>] 1 a, me attempt 2
        position 1, verification none, reported, held until 2026-01-01T00:15:00Z
        ",
    );
}

#[test]
fn undo_may_not_break_a_rule() {
    story(
        "
        $ limit in-progress 1
        $ add a ; add b
        $ start 1
        picked 1
        $ done 1
        $ as you
        $ start 2
        picked 2
        $ as me
        $ undo
        refused: revision 3 cannot be undone: item 1 \"a\" cannot be started: item 2 \"b\" is in progress (you)
        ",
    );
}

#[test]
fn undo_minds_only_the_callers_own_items_in_progress() {
    story(
        "
        $ add a ; add b
        $ start 1
        picked 1
        $ done 1
        $ as you
        $ start 2
        picked 2
        $ as me
        $ undo
        $ list
        [>] 1 a, me attempt 1
        [>] 2 b, you attempt 1
        ",
    );
}

#[test]
fn undo_may_not_bring_back_a_link_that_closes_a_circle() {
    story(
        "
        $ add a ; add b after entry1
        $ not-after 2 1
        $ as you
        $ after 1 2
        $ as me
        $ undo
        refused: revision 2 cannot be undone: item 2 \"b\" would depend on itself: 2 → 1 → 2
        $ list
        [ ] 1 a, after 2
        [ ] 2 b
        ",
    );
    story(
        "
        $ add a ; add b under entry1
        $ under 2
        $ as you
        $ under 1 2
        $ as me
        $ undo
        refused: revision 2 cannot be undone: item 2 \"b\" would be under itself: 2 → 1 → 2
        $ list
        [ ] 1 a, under 2
        [ ] 2 b
        ",
    );
}

#[test]
fn undo_may_not_open_a_child_of_a_completed_parent_nor_complete_the_parent_of_an_open_child() {
    story(
        "
        $ add a ; add b under entry1
        $ done 2
        $ as you
        $ done 1
        $ as me
        $ undo
        refused: revision 2 cannot be undone: item 2 \"b\" cannot be open under item 1 \"a\", which is completed
        $ list
        [x] 1 a
        [x] 2 b, under 1
        ",
    );
    story(
        "
        $ add a
        $ done 1
        $ reopen 1
        $ as you
        $ add b under 1
        $ as me
        $ undo
        refused: revision 3 cannot be undone: item 1 \"a\" cannot be completed: item 2 \"b\" under it is open
        ",
    );
}

#[test]
fn undo_of_a_replacement_brings_back_what_it_dropped() {
    story(
        "
        $ add a ; add b ; add c
        $ replace [x] c | [ ] d
        warning: Dropped while open: #1 a
        warning: Dropped while open: #2 b
        $ undo
        $ list
        [ ] 1 a
        [ ] 2 b
        [ ] 3 c
        ",
    );
}

#[test]
fn forget_erases_texts_and_leaves_a_tombstone() {
    story(
        "
        $ add secret ; add kept
        $ context 1 -- the password
        $ done 1 -- told nobody
        $ forget 1
        $ list
        [x] 1 [forgotten]: [forgotten]
        [ ] 2 kept
        $ log
        1 me add: added 1 added 2
        2 me edit: edited 1
        3 me done: completed 1
        4 me forget: forgotten 1
        ",
    );
}
