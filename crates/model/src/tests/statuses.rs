//! Stories for §2 of the specification: how items change, in enforced and in recorded mode.

use super::story;

#[test]
fn items_move_from_pending_to_in_progress_to_completed_or_cancelled() {
    story(
        "
        $ add a ; add b ; add c ; add d
        $ start 1
        picked 1
        $ done 1 -- it works
        $ start 2
        picked 2
        $ skip 2 -- not needed
        $ done 3 --  
        $ skip 4 --
        $ list
        [x] 1 a: it works
        [-] 2 b: not needed
        [x] 3 c
        [-] 4 d
        $ plan
        revision 7, next number 5, finished
        ",
    );
}

#[test]
fn in_progress_goes_back_to_pending_by_release() {
    story(
        "
        $ add a
        $ start 1
        picked 1
        $ release 1
        $ list
        [ ] 1 a
        $ release 1
        refused: item 1 \"a\" is pending already; legal now: in progress, completed, cancelled
        ",
    );
}

#[test]
fn completed_and_cancelled_open_again_only_by_an_explicit_reopen_or_a_whole_list_write() {
    story(
        "
        $ add a ; add b ; add c
        $ done 1 -- fine ; skip 2 ; done 3
        $ start 1
        refused: item 1 \"a\" is completed: it can be in progress only if it is reopened
        $ release 2
        refused: item 2 \"b\" is cancelled: it can be pending only if it is reopened
        $ reopen 1
        $ reopen 2 start
        picked 2
        $ replace [ ] a | [>] b | [ ] c
        $ list
        [ ] 1 a
        [>] 2 b, me attempt 1
        [ ] 3 c
        ",
    );
}

#[test]
fn everything_else_is_refused_with_the_item_its_status_and_what_is_legal() {
    story(
        "
        $ add a
        $ reopen 1
        refused: item 1 \"a\" is pending already; legal now: in progress, completed, cancelled
        $ done 1
        $ done 1
        refused: item 1 \"a\" is completed already; legal now: pending, in progress, if it is reopened
        $ skip 1
        refused: item 1 \"a\" is completed: it cannot become cancelled; legal now: pending, in progress, if it is reopened
        $ start 7
        refused: there is no item 7
        ",
    );
}

#[test]
fn enforced_refuses_what_recorded_keeps_and_marks() {
    story(
        "
        $ recorded
        $ add a ; add b ; add --
        $ start 1
        picked 1
        $ start 2
        picked 2
        $ done 3 ; done 3
        $ done 9
        warning: Ignored: there is no item 9
        $ add x under 8 after 9
        $ list
        [>] 1 a, me attempt 1
        [>] 2 b, me attempt 1 {TwoInProgress}
        [x] 3  {EmptyTitle, IllegalTransition}
        [ ] 4 x {BadLink}
        ",
    );
}

#[test]
fn recorded_never_refuses_limits_nuls_children_or_other_workers() {
    story(
        "
        $ add parent ; add child under entry1
        $ as you
        $ start 2
        picked 2
        $ recorded
        $ as me
        $ limit open 1
        $ limit title 3
        $ add abcd
        $ done 1
        $ done 2
        $ title 3 -- a\\0b
        $ list
        [x] 1 parent {OpenChild}
        [x] 2 child, under 1 {HeldByOther}
        [ ] 3 ab {OverLimit, NulRemoved}
        ",
    );
}

#[test]
fn reopening_forgets_the_earlier_result() {
    story(
        "
        $ add a
        $ check 1 -- true
        $ prove 1 passed
        $ done 1 -- works
        $ reopen 1
        $ show 1
        [ ] 1 a
        position 1, verification required, ready
        ",
    );
}

#[test]
fn an_item_is_set_to_a_status_by_the_act_that_leads_there() {
    story(
        "
        $ add A ; add B after 1 ; add C
        $ set 1 in_progress
        picked 1
        $ set 1 in_progress
        $ set 3 in_progress
        refused: item 3 \"C\" cannot be started: item 1 \"A\" is in progress (me)
        $ set 1 pending
        $ set 2 completed
        refused: item 2 \"B\" cannot be completed: it depends on item 1 \"A\", which is pending
        $ not-after 2 1
        $ set 2 completed
        $ set 2 in_progress
        picked 2
        $ set 2 cancelled
        $ set 2 completed
        refused: item 2 \"B\" is cancelled: it cannot become completed; legal now: pending, in progress, if it is reopened
        $ set 2 pending
        $ set 2 pending
        $ list
        [ ] 1 A
        [ ] 2 B
        [ ] 3 C
        $ plan
        revision 8, next number 4, open
        ",
    );
}

#[test]
fn what_another_holds_is_not_taken_over_by_saying_that_it_is_in_progress() {
    story(
        "
        $ add A
        $ start 1
        picked 1
        $ as you
        $ set 1 in_progress
        refused: item 1 \"A\" is held by me until 2026-01-01T00:15:00Z
        $ clock 16m
        $ set 1 in_progress
        picked 1
        $ list
        [>] 1 A, you attempt 2
        ",
    );
}

#[test]
fn keys_are_merged_into_metadata_and_null_takes_one_away() {
    story(
        "
        $ add A
        $ merge 1 -- {\"area\": \"db\", \"points\": 3}
        $ merge 1 -- {\"points\": null, \"pr\": [17, null]}
        $ show 1
        [ ] 1 A
        position 1, verification none, ready, metadata {\"area\":\"db\",\"pr\":[17,null]}
        $ merge 1 -- {\"area\": null, \"pr\": null, \"gone\": null}
        $ show 1
        [ ] 1 A
        position 1, verification none, ready
        ",
    );
}
