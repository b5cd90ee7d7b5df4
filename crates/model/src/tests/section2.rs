//! §2, sentence by sentence.

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
fn ready_is_pending_with_dependencies_completed_and_not_waiting() {
    story(
        "
        $ add a ; add b after entry1
        $ show 2
        [ ] 2 b, after 1
        position 2, verification none, blocked
        $ done 1
        $ show 2
        [ ] 2 b, after 1
        position 2, verification none, ready
        $ wait 2 -- legal
        $ show 2
        [ ] 2 b, after 1, waits for legal
        position 2, verification none
        $ resume 2
        $ start 2
        picked 2
        $ show 2
        [>] 2 b, me attempt 1, after 1
        position 2, verification none, held until 2026-01-01T00:15:00Z
        ",
    );
}

#[test]
fn blocked_means_a_dependency_is_open_or_cancelled() {
    story(
        "
        $ add a ; add b after entry1
        $ start 1
        picked 1
        $ show 2
        [ ] 2 b, after 1
        position 2, verification none, blocked
        $ skip 1 -- no need
        warning: Depends on #1 a, which was cancelled: #2 b
        $ show 2
        [ ] 2 b, after 1
        position 2, verification none, blocked
        $ start 2
        refused: item 2 \"b\" cannot be started: it depends on item 1 \"a\", which is cancelled
        ",
    );
}

#[test]
fn what_was_superseded_blocks_nothing() {
    story(
        "
        $ add a ; add b after entry1
        $ drop 1
        $ show 2
        [ ] 2 b, after 1
        position 1, verification none, ready
        ",
    );
}

#[test]
fn next_takes_of_the_ready_items_the_lowest_priority_then_position() {
    story(
        "
        $ add plain ; add later priority 2 ; add soon priority 1 ; add too priority 1
        $ add blocked after 1 priority 0
        $ next
        picked 3
        $ done 3
        $ next
        picked 4
        $ done 4
        $ next
        picked 2
        $ done 2
        $ next
        picked 1
        $ done 1
        $ next
        picked 5
        $ done 5
        $ next
        ",
    );
}

#[test]
fn next_gives_a_worker_what_it_has_in_progress_already() {
    story(
        "
        $ add a ; add b
        $ next
        picked 1
        $ next
        picked 1
        $ plan
        revision 2, next number 3, open
        $ as you
        $ next
        picked 2
        ",
    );
}

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
fn recorded_keeps_and_marks_what_was_finished_without_its_verification() {
    story(
        "
        $ add a ; add b
        $ check 1 -- make test
        $ recorded
        $ done 1
        $ replace [x] a | [x] b
        $ list
        [x] 1 a {Unverified}
        [x] 2 b
        $ show 1
        [x] 1 a {Unverified}
        position 1, verification required, reported
        ",
    );
}

#[test]
fn a_box_that_a_person_ticked_counts_and_shows_what_it_rests_on() {
    story(
        "
        $ add a ; add b ; add c under 2
        $ check 1 -- make test
        $ tick 1 -- plan.md
        $ tick 2 -- plan.md
        refused: item 2 \"b\" cannot be completed: item 3 \"c\" under it is open
        $ tick 3 -- plan.md ; tick 2 -- plan.md
        $ tick 2 -- plan.md
        refused: item 2 \"b\" is completed already; legal now: pending, in progress, if it is reopened
        $ show 1
        [x] 1 a {Unverified}
        position 1, verification required, reported
        $ show 2
        [x] 2 b
        position 2, verification none, reported
        $ reopen 1
        $ show 1
        [ ] 1 a
        position 1, verification required, ready
        ",
    );
}

#[test]
fn a_new_check_is_not_met_by_what_the_old_one_showed() {
    story(
        "
        $ add a
        $ check 1 -- make test
        $ prove 1 passed
        $ approve 1
        $ check 1 -- make test
        $ show 1
        [ ] 1 a
        position 1, verification passed, ready, approved
        $ check 1 -- make all
        $ show 1
        [ ] 1 a
        position 1, verification passed, ready, approved
        $ add b
        $ check 2 -- make test
        $ prove 2 passed
        $ check 2 -- make all
        $ done 2
        refused: item 2 \"b\" cannot be completed: it needs checked evidence and has none
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
fn evidence_is_reported_unless_the_engine_or_a_person_says_more() {
    story(
        "
        $ add a ; add b ; add c
        $ done 1
        $ show 1
        [x] 1 a
        position 1, verification none, reported
        $ check 2 -- true
        $ show 2
        [ ] 2 b
        position 2, verification required, ready
        $ prove 2 passed
        $ done 2
        $ show 2
        [x] 2 b
        position 2, verification passed, checked
        $ approve 3
        $ done 3
        $ show 3
        [x] 3 c
        position 3, verification none, approved
        ",
    );
}

#[test]
fn verification_is_none_required_passed_failed_or_stale_from_check_and_evidence() {
    story(
        "
        $ add a
        $ show 1
        [ ] 1 a
        position 1, verification none, ready
        $ show 1 stale
        [ ] 1 a
        position 1, verification none, ready
        $ check 1 -- make test
        $ show 1 stale
        [ ] 1 a
        position 1, verification required, ready
        $ prove 1 failed
        $ show 1 stale
        [ ] 1 a
        position 1, verification failed, ready
        $ prove 1 passed
        $ show 1
        [ ] 1 a
        position 1, verification passed, ready, checked
        $ show 1 stale
        [ ] 1 a
        position 1, verification stale, ready, checked
        $ prove 1 failed
        $ show 1
        [ ] 1 a
        position 1, verification failed, ready, checked
        $ approve 1
        $ show 1 stale
        [ ] 1 a
        position 1, verification passed, ready, approved
        ",
    );
}

#[test]
fn an_approval_ends_the_wait_for_it_and_no_other() {
    story(
        "
        $ add a
        $ wait 1 -- a person's approval
        $ prove 1 passed
        $ show 1
        [ ] 1 a, waits for a person's approval
        position 1, verification none, checked
        $ approve 1
        $ show 1
        [ ] 1 a
        position 1, verification none, ready, approved
        $ wait 1 -- legal
        $ approve 1
        $ show 1
        [ ] 1 a, waits for legal
        position 1, verification none, approved
        ",
    );
}

#[test]
fn a_plan_may_demand_a_level() {
    story(
        "
        $ add a
        $ demand approved
        $ prove 1 passed
        $ done 1
        refused: item 1 \"a\" cannot be completed: it needs approved evidence and has none
        $ approve 1
        $ done 1
        $ show 1
        [x] 1 a
        position 1, verification passed, approved
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
fn an_item_may_wait_for_a_person_or_an_event_and_is_open() {
    story(
        "
        $ add a
        $ wait 1 -- legal
        $ list
        [ ] 1 a, waits for legal
        $ plan
        revision 2, next number 2, open
        $ next
        $ start 1
        picked 1
        $ list
        [>] 1 a, me attempt 1
        $ wait 1 --  
        refused: item 1 \"a\" needs a reason to wait that is not empty
        $ done 1
        $ wait 1 -- nothing
        refused: item 1 \"a\" is completed: only an open item can wait
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

#[test]
fn an_agent_cannot_approve_whatever_name_it_gives() {
    story(
        "
        $ add a
        $ agent
        $ prove 1 approved
        refused: item 1 \"a\" cannot be approved by an agent, only by a person
        $ person
        $ prove 1 approved
        $ show 1
        [ ] 1 a
        position 1, verification none, ready, approved
        ",
    );
}
