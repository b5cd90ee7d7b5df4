//! The conformance suite: a list of cases that every store passes.
//!
//! A store is added with a line in `worlds!`. Cases see a store only through its traits, through as
//! many handles as they like; a handle stands for a process.

mod access;
mod attachments;
mod calls;
mod changes;
mod claims;
pub(crate) mod conversations;
mod follow;
pub(crate) mod forget;
mod import;
mod journal;
mod maintenance;
mod messages;
mod notices;
mod plans;
mod questions;
mod sessions;
mod shared_work;
pub(crate) mod turn_entries;
mod turns;
mod undo;
mod writes;

use std::sync::Arc;

use punchlist_model::Timestamp;
use punchlist_model::session::Store;
use punchlist_model::store::memory::Memory;
use punchlist_store::postgres::{Clock, Located, Options as Server, Place, Postgres};
use punchlist_store::{Durability, Options, Sqlite, Threaded};
use tempfile::TempDir;

use crate::support::database;

/// A store that several handles may be opened on.
pub(crate) struct World {
    open: Box<dyn Fn() -> Arc<dyn Store> + Send + Sync>,
    _directory: Option<TempDir>,
}

impl World {
    /// Another handle on the same store.
    pub(crate) fn handle(&self) -> Arc<dyn Store> {
        (self.open)()
    }

    fn memory() -> Self {
        let store = Arc::new(Memory::new());
        Self { open: Box::new(move || Arc::clone(&store) as Arc<dyn Store>), _directory: None }
    }

    fn sqlite() -> Self {
        Self::in_a_file(|options| Arc::new(Sqlite::open(options).unwrap()))
    }

    fn threaded() -> Self {
        Self::in_a_file(|options| Arc::new(Threaded::open(options).unwrap()))
    }

    fn server() -> Self {
        Self::on_a_server(|options| Arc::new(Postgres::open(options).unwrap()))
    }

    /// As the program uses a server: with the names that projects have on one machine.
    fn located() -> Self {
        Self::on_a_server(|options| {
            let place = Place {
                host: "here".to_owned(),
                directory: "/here".to_owned(),
                project: None,
                repository: &|| None,
                now: Timestamp::UNIX_EPOCH,
            };
            Arc::new(Located::open(options, &place).unwrap())
        })
    }

    fn on_a_server(open: fn(&Server) -> Arc<dyn Store>) -> Self {
        let address = database().parse().unwrap();
        let options = Server { clock: Clock::Caller, ..Server::new(address) };
        Self { open: Box::new(move || open(&options)), _directory: None }
    }

    fn in_a_file(open: fn(&Options) -> Arc<dyn Store>) -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("store").join("plans.db");
        let options = Options { path, durability: Durability::Normal };
        Self { open: Box::new(move || open(&options)), _directory: Some(directory) }
    }
}

/// The worlds, the worlds that need a server, and the cases.
macro_rules! worlds {
    ([$($world:ident),*] [$($server:ident),*] $cases:tt) => {
        $(worlds!(@world $world () $cases);)*
        mod postgres {
            $(worlds!(
                @world $server (#[ignore = "needs a server: cargo xtask test postgres"]) $cases
            );)*
        }
    };
    (@world $world:ident $attribute:tt { $($module:ident: $($case:ident)*;)* }) => {
        mod $world {
            $(mod $module {
                $(worlds!(@case $world $attribute $module $case);)*
            })*
        }
    };
    (@case $world:ident ($($attribute:tt)*) $module:ident $case:ident) => {
        #[test]
        $($attribute)*
        fn $case() {
            crate::conformance::$module::$case(&crate::conformance::World::$world());
        }
    };
}

worlds! {
    [memory, sqlite, threaded] [server, located] {
        changes:
            an_empty_plan_is_at_revision_0_and_has_no_journal
            each_change_adds_one_to_the_revision_and_one_entry_to_the_journal
            a_batch_with_bad_entries_changes_nothing_and_names_each_of_them
            a_change_of_nothing_writes_nothing
            a_revision_conflict_names_what_happened_since
            a_name_is_unique_in_its_project
            an_unknown_plan_is_said_to_be_unknown
            every_field_of_an_item_is_kept
            times_are_kept_to_the_millisecond
            next_takes_the_lowest_priority_then_the_first_place
            items_are_found_by_number_id_prefix_and_position
            order_is_dense_after_inserts_moves_and_removals
            handles_that_write_at_once_lose_nothing
            a_hostile_text_is_kept_as_it_is;
        journal:
            entries_are_in_order_without_gaps_and_as_many_as_asked
            the_journal_replays_to_exactly_what_is_read;
        claims:
            a_second_worker_is_refused_while_the_lease_lasts
            a_lease_that_ran_out_is_taken_over_and_the_late_write_is_refused
            any_write_of_the_holder_renews_its_lease
            two_workers_that_ask_for_the_next_get_different_items
            next_never_takes_a_blocked_item_under_one_in_progress;
        shared_work:
            shared_plans_with_open_items_are_listed
            the_store_knows_who_published_each_item
            only_the_holder_renews_a_lease_and_nothing_else_changes
            an_item_whose_lease_ran_out_is_interrupted_whoever_notices_it
            a_late_result_is_refused_even_if_nobody_has_taken_the_item
            an_item_that_a_person_does_is_not_interrupted;
        attachments:
            a_conversation_finds_its_plan_again_from_another_handle
            the_plan_of_a_conversation_is_read_at_once
            attaching_to_the_same_plan_keeps_what_was_shown
            attaching_to_another_plan_begins_anew
            what_was_shown_never_goes_back
            whoever_had_seen_all_has_seen_its_own_change
            what_was_seen_in_an_earlier_stay_does_not_count
            two_conversations_take_turns_and_each_knows_what_it_saw
            who_stays_for_long_knows_what_others_did_meanwhile
            showing_to_nobody_is_nothing
            attaching_to_an_unknown_plan_is_refused;
        sessions:
            a_session_is_found_again_from_another_handle
            every_field_of_a_session_is_kept
            who_comes_too_late_is_told_what_is_there
            the_one_that_was_seen_last_comes_first
            who_stays_for_long_sees_what_others_write
            sessions_are_found_by_their_process
            a_process_is_seen_in_other_sessions
            a_change_and_a_session_are_written_together
            a_change_that_fails_writes_no_session
            a_session_that_comes_too_late_does_not_hold_up_the_change;
        plans:
            the_most_recently_changed_comes_first
            filters_by_project_name_and_either_end_of_the_id
            a_list_comes_in_pages
            the_plans_of_a_project_are_added_up
            progress_counts_the_leaves
            items_are_found_by_their_texts_whatever_the_case
            a_search_goes_on_after_any_item_that_was_found
            the_newest_conversation_is_named;
        maintenance:
            a_sound_store_says_so_and_counts_its_plans
            everything_of_a_moved_project_is_found_at_its_new_place
            a_taken_name_stops_the_move_and_nothing_is_moved
            a_project_with_a_plan_of_its_own_keeps_it_as_such
            a_project_that_nobody_knows_has_nothing_to_move;
        follow:
            from_the_start_everything_comes_in_order
            from_now_on_only_what_is_new_comes
            after_a_cursor_the_rest_comes
            following_outlives_the_handle_that_began_it
            entries_of_another_handle_wake_a_waiting_follower
            one_plan_alone_can_be_followed
            more_than_a_batch_comes_whole
            what_exists_is_read_in_pages_without_waiting
            an_imported_plan_is_news;
        undo:
            the_callers_own_last_change_is_taken_back
            what_is_undone_is_its_workers_again_while_the_claim_would_last
            what_others_changed_since_is_a_conflict
            nothing_left_is_said_by_name
            an_old_change_is_found_behind_many_of_others
            an_expected_revision_is_checked;
        forget:
            one_items_texts_go_from_rows_and_journal
            the_whole_plans_texts_go_and_its_skeleton_stays
            an_unknown_item_is_refused
            a_forgotten_name_is_free_again
            what_was_done_and_asked_for_an_item_goes_with_it
            all_that_was_done_and_said_goes_with_a_plan;
        calls:
            a_run_is_found_again_with_all_its_fields
            what_is_unknown_is_said_to_be_unknown
            every_field_of_a_call_is_kept
            transitions_are_kept_in_order_and_the_newest_counts
            what_has_ended_never_changes
            a_plan_and_its_calls_change_together
            a_refused_change_records_nothing
            who_stays_for_long_knows_its_plan_after_a_record
            after_a_crash_what_was_executing_is_cancelled
            two_processes_that_interrupt_at_once_do_it_once
            calls_of_many_processes_lose_nothing;
        questions:
            a_question_is_there_for_everybody_with_all_that_it_says
            questions_are_found_by_project_run_and_either_end_of_the_id
            a_question_is_answered_once
            what_is_not_offered_is_no_answer
            of_many_that_answer_at_once_one_wins_and_the_others_know_whom
            a_question_whose_call_went_on_waits_no_longer
            what_was_asked_stays_as_it_was_whatever_becomes_of_the_call
            an_answer_of_any_kind_is_kept
            an_answer_of_another_process_is_news;
        messages:
            messages_from_before_a_question_are_marked
            messages_wait_in_the_order_in_which_they_came
            a_message_that_waits_can_be_changed_and_keeps_its_place
            a_message_that_waits_can_be_removed
            what_steers_can_be_taken_ahead_of_the_rest
            that_a_message_steers_can_be_said_later
            a_message_that_waits_can_be_moved
            a_message_says_something_and_not_too_much
            no_more_messages_wait_than_anybody_reads
            of_many_takers_each_gets_another_message
            a_message_is_taken_as_it_was_read_or_nothing_is_recorded
            what_steers_no_longer_is_first_when_the_turn_has_ended
            a_paused_queue_stays_paused_until_somebody_says_otherwise;
        notices:
            of_many_that_would_give_a_notice_one_does
            old_notices_are_forgotten
            several_keys_are_recorded_together;
        access:
            every_field_of_a_grant_is_kept
            one_token_of_a_name_is_in_force
            of_many_that_redeem_a_code_one_gets_a_session
            a_code_is_redeemed_before_it_expires_or_not_at_all
            old_codes_and_sessions_are_deleted_and_tokens_are_not
            the_first_path_of_the_pages_stays
            a_server_is_recorded_by_host_and_address
            a_change_of_grants_wakes_those_who_listen
            the_grants_of_a_moved_project_move_with_it;
        conversations:
            every_field_of_a_conversation_is_kept
            times_of_a_conversation_are_kept_to_the_millisecond
            a_new_conversation_has_no_turns
            an_id_is_given_to_one_conversation
            an_unknown_conversation_is_said_to_be_unknown
            one_runner_at_a_time_holds_a_conversation
            a_runner_extends_its_lease
            the_lease_of_a_runner_that_is_gone_does_not_count
            a_runner_lets_go_of_its_own_lease_only
            of_many_runners_at_once_one_holds_the_conversation
            the_conversation_that_was_recorded_last_comes_first
            conversations_are_found_by_project_and_either_end_of_the_id
            a_text_is_found_as_it_was_typed_whatever_its_case
            the_wish_to_stop_is_seen_until_the_next_turn_begins
            a_forgotten_conversation_is_gone_with_all_that_it_has
            a_conversation_outlives_the_texts_of_its_plan
            every_change_of_a_conversation_is_news;
        turn_entries:
            every_field_of_a_turn_and_its_entries_is_kept
            a_turn_is_created_once_and_then_updated
            the_state_is_that_of_the_last_record
            a_record_under_a_lost_lease_writes_nothing
            a_turn_of_an_unknown_plan_writes_nothing
            entries_count_through_all_turns_and_are_filtered
            two_that_record_at_once_leave_no_gap
            what_was_used_is_added_up
            what_was_used_on_a_plan_is_added_up_over_all_conversations
            absurd_numbers_do_not_stop_the_work;
        import:
            what_is_exported_comes_back_the_same
            a_plan_that_is_there_is_not_taken_in_twice
            work_goes_on_after_an_import;
        turns:
            a_todo_is_created_with_defaults
            a_batch_is_created_in_order_or_not_at_all
            todos_are_found_by_turn_and_filtered_by_status
            a_todo_is_found_by_id_in_its_own_turn_only
            a_todo_is_updated
            an_unknown_todo_is_not_updated
            todos_are_counted_by_status;
        writes:
            a_repeated_write_changes_nothing_and_returns_what_was_recorded
            another_write_id_is_another_write
            a_refused_write_may_be_repeated
            one_source_of_ids_is_enough_for_several_writes
            a_plan_is_found_by_what_it_was_made_for
            a_plan_file_that_moved_takes_its_plan_along;
    }
}
