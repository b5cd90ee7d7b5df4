//! Stories for §2 of the specification: ready, blocked and waiting items, and `next`.

use super::story;

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
