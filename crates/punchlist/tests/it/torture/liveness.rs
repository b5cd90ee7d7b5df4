//! Claims that are bound to a process: released early when that process is certainly gone, and
//! never otherwise.

#![cfg(target_os = "linux")]

use std::io::Read as _;
use std::process::{Child, Command, Output, Stdio};

use pollster::block_on;
use punchlist_model::store::Change;
use punchlist_model::{Ctx, Holder, ItemRef, Number, Op, Process, Status};

use super::judge::{only, store};
use super::place::Place;
use super::writer::ctx;
use super::{Round, scenario, skip};

/// A process that runs until it is killed.
fn live() -> Child {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Whether another worker can take the only item now.
fn is_free(place: &Place, round: &mut Round<'_>) -> bool {
    let ran = place.run(&["next", "--claim", "--as", "bob"]);
    round.tally.processes += 1;
    round.tally.writes += 1;
    round.tally.acknowledged += usize::from(ran.code == 0);
    let fine = matches!(ran.code, 0 | 4);
    round.tally.must(fine, || format!("exit {}: {}", ran.code, ran.err));
    ran.code == 0
}

#[test]
fn a_claim_is_freed_early_only_when_its_process_is_gone() {
    scenario("liveness", liveness);
}

pub(super) fn liveness(round: &mut Round<'_>) {
    for _ in 0..round.of(2, 20) {
        let place = round.place();
        place.run(&["add", "One"]).works();
        let (worker, bystander) = (live(), live());
        let pid = worker.id().to_string();
        place.run(&["start", "1", "--as", "ann", "--pid", &pid]).works();
        round.tally.processes += 4;
        round.tally.writes += 2;
        round.tally.acknowledged += 2;
        if is_free(&place, round) {
            round.tally.double("taken while its process runs");
        }
        end(bystander);
        if is_free(&place, round) {
            round.tally.double("taken when another process ended");
        }
        end(worker);
        round.tally.kills += 2;
        if !is_free(&place, round) {
            round.tally.wrong("still held though its process is gone");
        }
        only(&place.db, round.tally);
    }
    pretenders(round);
}

/// Processes that only look like the holder: the same pid, with another difference.
fn pretenders(round: &mut Round<'_>) {
    let place = round.place();
    place.run(&["add", "One"]).works();
    let worker = live();
    let pid = worker.id().to_string();
    place.run(&["start", "1", "--as", "ann", "--pid", &pid]).works();
    let case = only(&place.db, round.tally);
    let claim = case.plan.get(Number(1)).unwrap().claim.clone().unwrap();
    let real = claim.holder.process.unwrap();
    let boot_id = "00000000-0000-0000-0000-000000000000".to_owned();
    for (what, process, is_gone) in [
        ("itself", real.clone(), false),
        ("an earlier one", Process { start_time: real.start_time - 1, ..real.clone() }, true),
        ("one before a reboot", Process { boot_id, ..real.clone() }, false),
        ("one of another namespace", Process { pid_namespace: 1, ..real.clone() }, false),
        ("one of another host", Process { host: "elsewhere".into(), ..real.clone() }, false),
        (
            "an ended one of another host",
            Process { host: "elsewhere".into(), start_time: 1, ..real },
            false,
        ),
    ] {
        let place = round.place();
        place.run(&["add", "One"]).works();
        let plan = only(&place.db, round.tally).plan;
        // The time of the add, so that the lease has not expired.
        let mut ctx = Ctx { now: plan.updated_at, ..ctx("ann", what) };
        ctx.holder = Holder { name: "ann".to_owned(), process: Some(process) };
        let change = Change::new(vec![Op::Start(ItemRef::Number(Number(1)))], ctx);
        block_on(store(&place.db).change(plan.id, change)).unwrap();
        let free = is_free(&place, round);
        round.tally.must(free == is_gone, || format!("{what}: free is {free}"));
        let item = only(&place.db, round.tally).plan.get(Number(1)).unwrap().clone();
        round.tally.must(item.status == Status::InProgress, || format!("{what}: not in progress"));
    }
    end(worker);
}

/// Starts an item for a process, ends that process, starts processes until a newer one has the same
/// pid, and lets another worker take the item. `$0` is the program; its output does not matter.
const REUSE: &str = r#"
set -e
now() { cut -d ' ' -f 22 "/proc/$1/stat"; }
mkfifo "$1/never"
cat "$1/never" & first=$!
began=$(now $first)
"$0" start 1 --as ann --pid $first > /dev/null
"$0" next --claim --as bob > /dev/null 2>&1 && exit 50
kill -9 $first
wait $first || true
for try in $(seq 500); do
    echo $((first - 1)) > /proc/sys/kernel/ns_last_pid
    cat "$1/never" & second=$!
    if [ $second = $first ] && [ "$(now $second)" != "$began" ]; then
        "$0" next --claim --as bob > /dev/null || exit 51
        kill -9 $second
        exit 0
    fi
    kill -9 $second
    wait $second || true
done
exit 52
"#;

/// Whether a namespace can be made here, with pids of its own choice.
pub(super) fn can_choose_pids() -> bool {
    let mut command = namespace();
    command.args(["/bin/sh", "-c", "echo 100 > /proc/sys/kernel/ns_last_pid"]);
    command.stderr(Stdio::null()).status().is_ok_and(|it| it.success())
}

/// Whether a pid namespace can be made here.
pub(super) fn can_make_namespaces() -> bool {
    namespace().arg("true").stderr(Stdio::null()).status().is_ok_and(|it| it.success())
}

#[test]
fn a_pid_that_is_used_again_is_another_process() {
    if !can_choose_pids() {
        return skip("pid reuse", "pids cannot be chosen here");
    }
    scenario("pid reuse", reuse);
}

pub(super) fn reuse(round: &mut Round<'_>) {
    let place = round.place();
    place.run(&["add", "One"]).works();
    let program = place.command(&[]);
    let mut command = namespace();
    command.args(["/bin/sh", "-c", REUSE]).arg(program.get_program());
    command.arg(place.world.path("")).current_dir(program.get_current_dir().unwrap());
    for (name, value) in program.get_envs() {
        command.envs(value.map(|value| (name, value)));
    }
    let Output { status, stderr, .. } = command.stdin(Stdio::null()).output().unwrap();
    let done = usize::from(status.success());
    round.tally.processes += 5;
    round.tally.kills += 2 * done;
    round.tally.writes += 4;
    round.tally.acknowledged += 1 + 2 * done;
    match status.code() {
        Some(0) => {}
        Some(50) => round.tally.double("taken while its process runs"),
        Some(51) => round.tally.wrong("still held though another process has its pid"),
        Some(52) => round.tally.wrong("the pid did not come again in 500 tries"),
        _ => {
            let said = String::from_utf8_lossy(&stderr);
            round.tally.wrong(format!("the script ended with {status}: {said}"));
        }
    }
    only(&place.db, round.tally);
}

/// A command in its own pid namespace, which ends with it.
fn namespace() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    command
}

/// Starts an item for process 1 of its namespace, prints that, and waits.
const INSIDE: &str = "\"$@\" && echo claimed && exec cat";

#[test]
fn a_claim_from_another_pid_namespace_is_never_taken_for_gone() {
    if !can_make_namespaces() {
        return skip("namespaces", "no pid namespace can be made here");
    }
    scenario("namespaces", namespaces);
}

pub(super) fn namespaces(round: &mut Round<'_>) {
    let place = round.place();
    place.run(&["add", "One"]).works();
    let start = place.command(&["start", "1", "--as", "ann", "--pid", "1"]);
    let mut command = namespace();
    command.args(["/bin/sh", "-c", INSIDE, "sh"]).arg(start.get_program());
    command.args(start.get_args()).current_dir(start.get_current_dir().unwrap());
    for (name, value) in start.get_envs() {
        command.envs(value.map(|value| (name, value)));
    }
    let mut inside = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut byte = [0];
    while !said.ends_with("claimed\n") {
        assert_eq!(inside.stdout.as_mut().unwrap().read(&mut byte).unwrap(), 1, "{said}");
        said.push(char::from(byte[0]));
    }
    round.tally.processes += 3;
    round.tally.writes += 2;
    round.tally.acknowledged += 2;
    if is_free(&place, round) {
        round.tally.double("taken while its process runs elsewhere");
    }
    // Its end cannot be seen from here, where another process has its pid.
    end(inside);
    round.tally.kills += 1;
    if is_free(&place, round) {
        round.tally.double("taken though nobody here can know that it ended");
    }
    only(&place.db, round.tally);
}
