//! Stories for §2 of the specification: checks, evidence and approvals.

use super::story;

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
