//! `punchlist work` and `punchlist run --share`: several processes do the items of one plan.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::run::until;
use crate::world::{Ran, World, finish};

mod ending;
mod losing;
mod server;
mod sharing;
mod trust;

/// The cases: each on a database file, and those of the second list on a server too.
macro_rules! cases {
    (on_sqlite $sqlite:tt on_both $both:tt) => {
        mod on_sqlite {
            cases!(@all () (crate::world::World::new) $sqlite);
        }
        mod on_sqlite_too {
            cases!(@all () (crate::world::World::new) $both);
        }
        mod postgres {
            cases!(
                @all (#[ignore = "needs a server: cargo xtask test postgres"])
                (crate::work::server::world) $both
            );
        }
    };
    (@all $attribute:tt $world:tt { $($module:ident: $($case:ident)*;)* }) => {
        $(mod $module {
            $(cases!(@case $attribute $world $module $case);)*
        })*
    };
    (@case ($($attribute:tt)*) ($($world:tt)*) $module:ident $case:ident) => {
        #[test]
        $($attribute)*
        fn $case() {
            crate::work::$module::$case(&$($world)*());
        }
    };
}

cases! {
    on_sqlite {
        losing: a_worker_that_cannot_renew_its_lease_ends_its_command;
        trust:
            a_publisher_who_is_not_trusted_is_skipped_and_named
            what_policy_allows_runs_whoever_published_it
            the_check_of_a_stranger_needs_a_rule_too
            a_named_publisher_is_trusted_and_a_rule_that_denies_holds_for_everybody
            whom_to_trust_is_only_read_from_the_users_own_file;
    }
    on_both {
        sharing:
            workers_do_a_shared_plan_in_order_and_no_item_twice
            a_group_is_completed_with_its_last_item_and_nested_items_wait_for_what_their_group_waits_for
            the_progress_of_workers_is_shown_as_if_it_were_local
            a_failed_item_is_tried_again_when_a_person_says_so
            a_failed_item_with_retries_is_tried_again_by_its_worker
            ctrl_c_ends_the_watching_and_not_the_work
            without_a_worker_the_person_is_told_how_to_start_one
            an_approval_is_a_question_that_somebody_answers_elsewhere_and_blocks_no_other_item
            kinds_decide_which_items_a_worker_takes
            a_worker_with_a_plan_leaves_others_alone
            a_plan_that_is_not_shared_is_left_alone
            a_plain_run_takes_a_plan_back_unless_a_worker_holds_an_item
            the_output_of_an_item_is_in_the_store_and_not_only_in_the_workers_files
            commands_run_in_the_same_directory_of_the_workers_checkout;
        ending:
            a_worker_without_work_ends_at_once
            an_item_without_retry_is_finished_and_nothing_new_is_taken
            an_item_with_retry_is_handed_back_and_another_worker_does_it
            an_item_that_waits_for_an_approval_is_handed_back
            a_second_signal_stops_everything_and_what_was_cut_off_is_interrupted;
        losing:
            the_item_of_a_dead_neighbour_runs_again_if_it_has_retry
            the_item_of_a_worker_elsewhere_runs_again_when_its_lease_has_ended
            without_retry_it_waits_for_a_person_and_runs_again_when_the_wait_is_over
            an_interrupted_item_whose_check_passes_is_done_without_running_again
            an_interrupted_item_whose_check_fails_waits_for_a_person
            an_item_that_is_interrupted_again_and_again_waits_for_a_person
            a_long_item_keeps_its_lease
            an_item_that_was_released_is_not_taken_again_while_its_worker_still_executes_it
            the_result_of_a_worker_that_slept_too_long_is_refused;

    }
}

/// A process that ends with the test.
pub(crate) struct Process {
    child: Child,
    out: std::path::PathBuf,
}

impl Process {
    pub(crate) fn start(world: &World, mut command: Command, name: &str) -> Self {
        let out = world.path(&format!("{name}.out"));
        let file = fs::File::create(&out).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        Self { child: command.spawn().unwrap(), out }
    }

    /// What it has printed so far.
    pub(crate) fn said(&self) -> String {
        let mut text = String::new();
        fs::File::open(&self.out).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[track_caller]
    pub(crate) fn until_it_says(&self, what: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.said().contains(what) {
            assert!(Instant::now() < until, "it never said {what:?}:\n{}", self.said());
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Kills it without a chance to clean up.
    pub(crate) fn killed(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end, and returns the exit code and the output.
    #[track_caller]
    pub(crate) fn ends(mut self) -> (i32, String) {
        until(|| self.child.try_wait().unwrap().is_some());
        (self.child.wait().unwrap().code().unwrap_or(-1), self.said())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A call with the real clock: leases end.
pub(crate) fn call(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.command("project");
    command.env_remove("PUNCHLIST_NOW").env_remove("PUNCHLIST_SEED");
    command.env("PATH", "/usr/bin:/bin").args(arguments);
    command
}

pub(crate) fn called(world: &World, arguments: &[&str]) -> Ran {
    finish(call(world, arguments), b"")
}

/// A worker.
pub(crate) fn worker(world: &World, name: &str, arguments: &[&str]) -> Process {
    worker_on(world, name, "host", arguments)
}

/// A worker that believes to be on another machine, so that nobody here knows whether it lives.
pub(crate) fn worker_on(world: &World, name: &str, host: &str, arguments: &[&str]) -> Process {
    let mut command = call(world, &["work", "--as", name]);
    command.args(arguments);
    if host != "host" {
        from_elsewhere(world, &mut command, host);
    }
    let worker = Process::start(world, command, name);
    worker.until_it_says("works in");
    worker
}

/// Lets another machine make a call. It has the database in common with this one, and no other file.
fn from_elsewhere(world: &World, command: &mut Command, host: &str) {
    let config = read(world, "home/.config/punchlist/config.toml");
    if config.contains("postgres://") {
        world.write(&format!("{host}/.config/punchlist/config.toml"), config);
    } else {
        command.arg("--db").arg(world.path("home/.local/share/punchlist/punchlist.db"));
    }
    command.env("PUNCHLIST_HOST", host);
    command.env("HOME", world.path(host)).env("PUNCHLIST_HOME", world.path(host));
}

/// Publishes `plan.md` and watches it.
pub(crate) fn share(world: &World, arguments: &[&str]) -> Process {
    let mut command = call(world, &["run", "plan.md", "--share"]);
    command.args(arguments);
    Process::start(world, command, "share")
}

/// Publishes a plan and stops watching.
pub(crate) fn publish(world: &World, plan: &str) {
    world.write("project/plan.md", plan);
    let share = share(world, &["--json"]);
    share.until_it_says("\"todo_list\"");
    share.signal(Signal::INT);
    assert_eq!(share.ends().0, 130);
}

/// An item of the plan.
pub(crate) fn item(world: &World, number: usize) -> Value {
    let list = called(world, &["list", "--plan", "plan.md", "--json", "--all"]).json();
    list["items"][number - 1].clone()
}

pub(crate) fn status(world: &World, number: usize) -> String {
    item(world, number)["status"].as_str().unwrap().to_owned()
}

pub(crate) fn read(world: &World, path: &str) -> String {
    fs::read_to_string(world.path(path)).unwrap_or_default()
}
