//! Processes under the guardian: they start correctly, and none is ever left.
//!
//! A family of stubborn processes holds a named pipe open; its reader sees the end when all of them
//! are gone. So no test sleeps and hopes. A process that lives too long writes `survived`.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command as StdCommand, Stdio};
use std::time::Duration;

use punchlist_sched::output::Stream;
use punchlist_sched::process::{Command, Error, Exit, Options, Processes, Running};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

mod driver;
mod victim;

pub(crate) fn processes() -> Processes {
    let mut options = options();
    options.grace = Duration::from_millis(200);
    Processes::new(options)
}

fn options() -> Options {
    Options::new(env!("CARGO_BIN_EXE_punchlist"), [OsString::from("guardian")])
}

/// A command for the shell, with a `PATH` and nothing else.
fn shell(line: &str) -> Command {
    Command::shell(line, "/").env("PATH", "/usr/bin:/bin")
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: Result<Exit, Error>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn code(&self) -> Option<i32> {
        self.exit.as_ref().unwrap().code
    }
}

pub(crate) async fn finish(running: Running) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = running
        .finish(|stream, bytes| match stream {
            Stream::Out => out.extend_from_slice(bytes),
            Stream::Err => err.extend_from_slice(bytes),
        })
        .await;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { exit, out: text(out), err: text(err) }
}

pub(crate) async fn run(processes: &Processes, command: Command) -> Ran {
    finish(processes.spawn(command).await.unwrap()).await
}

/// Stubborn processes, each in its own way.
pub(crate) const FAMILY: &[(&str, &str)] = &[
    ("a child in the group that ignores SIGTERM", "stay & hold"),
    ("a child that is stopped", "sh -c 'echo ready >&9; kill -STOP $$; sleep 60' & hold"),
    ("a grandchild in a session of its own", "setsid sh -c \"$STAY\" & hold"),
    (
        "a daemon: forked twice, in a session of its own",
        "(setsid sh -c 'sh -c \"$STAY\" &' &); hold",
    ),
    (
        "a daemon without any environment",
        "(env -i STAY=\"$STAY\" setsid /bin/sh -c 'env -u STAY sh -c \"$STAY\" &' &); hold",
    ),
    ("a leader that ignores SIGTERM itself", "trap '' TERM; stay & hold"),
];

/// A leader that ends when its input ends.
pub(crate) const READ: &str = "read line";

/// A family of processes, and the pipe that it holds open.
pub(crate) struct Family {
    _dir: tempfile::TempDir,
    pub(crate) pipe: PathBuf,
}

/// A family that has started.
pub(crate) struct Alive(BufReader<File>);

impl Family {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(StdCommand::new("mkfifo").arg(&pipe).status().unwrap().success());
        Self { _dir: dir, pipe }
    }

    /// The command that starts the family. `hold` is what the leader does then.
    pub(crate) fn command(&self, birth: &str, hold: &str) -> Command {
        shell(&script(&self.pipe, birth, hold))
    }

    /// Waits until the family has started; the starter must run at the same time.
    pub(crate) async fn alive(&self) -> Alive {
        let pipe = self.pipe.clone();
        let wait = move || {
            let mut reader = BufReader::new(File::open(pipe).unwrap());
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            assert_eq!(line, "ready\n");
            Alive(reader)
        };
        tokio::task::spawn_blocking(wait).await.unwrap()
    }
}

fn script(pipe: &Path, birth: &str, hold: &str) -> String {
    // The loop of a stubborn process.
    let stay = "trap \"\" TERM HUP INT; echo ready >&9; sleep 60; echo survived >&9";
    format!(
        "exec 9>'{}'; STAY='{stay}'; export STAY; stay() {{ sh -c \"$STAY\"; }}; \
         hold() {{ {hold}; }}; {birth}",
        pipe.display()
    )
}

impl Alive {
    /// Waits until all processes are gone; none may have ended by itself.
    pub(crate) async fn gone(mut self) {
        let read = move || {
            let mut rest = String::new();
            self.0.read_to_string(&mut rest).unwrap();
            rest
        };
        assert_eq!(tokio::task::spawn_blocking(read).await.unwrap(), "");
    }
}

#[tokio::test]
async fn a_process_has_what_it_is_given_and_nothing_else() {
    let processes = processes();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let mut command = Command::new("sh", &dir)
        .arg("-c")
        .arg("pwd; cat; env | sort; echo trouble >&2; exit 3")
        .env("PATH", "/usr/bin:/bin")
        .env("ONE", "first")
        .env("ONE", "second");
    command.stdin = Some(b"from stdin\n".to_vec());
    command.apart = true;
    let ran = run(&processes, command).await;
    assert_eq!(ran.code(), Some(3));
    assert_eq!(ran.err, "trouble\n");
    let (before, mark) = ran.out.split_once("PUNCHLIST_CALL=").unwrap();
    let after = mark.split_once('\n').unwrap().1;
    let expected = format!("{}\nfrom stdin\nONE=second\nPATH=/usr/bin:/bin\n", dir.display());
    assert_eq!(before, expected);
    // Variables that the shell sets itself.
    assert!(after.lines().all(|it| it.starts_with("PWD=") || it.starts_with("_=")), "{after}");
}

#[tokio::test]
async fn joined_streams_come_in_the_order_in_which_they_were_written() {
    let ran = run(&processes(), shell("echo 1; echo 2 >&2; echo 3; echo 4 >&2")).await;
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("1\n2\n3\n4\n", ""));
}

#[tokio::test]
async fn much_goes_in_and_out_at_the_same_time() {
    let mut command = shell("cat");
    let text = "0123456789abcde\n".repeat(1 << 16);
    command.stdin = Some(text.clone().into_bytes());
    let ran = run(&processes(), command).await;
    assert_eq!(ran.code(), Some(0));
    assert!(ran.out == text, "{} bytes came back of {}", ran.out.len(), text.len());
}

#[tokio::test]
async fn a_process_that_does_not_read_what_it_is_given_is_no_trouble() {
    let mut command = shell("exec true");
    command.stdin = Some(vec![b'x'; 1 << 20]);
    assert_eq!(run(&processes(), command).await.code(), Some(0));
}

#[tokio::test]
async fn how_a_process_ended_is_said_in_words() {
    let processes = processes();
    let told = |ran: Ran| ran.exit.unwrap().to_string();
    assert_eq!(told(run(&processes, shell("exit 7")).await), "exit code 7");
    let killed = run(&processes, shell("kill -9 $$")).await;
    assert_eq!(told(killed), "ended by signal 9 (SIGKILL)");
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let processes = processes();
    let why = async |command: Command| match processes.spawn(command).await {
        Err(Error::NotStarted(why)) => why,
        Ok(_) => panic!("it started"),
        Err(other) => panic!("{other:?}"),
    };
    let nowhere = Command::new("/bin/sh", "/no/such/place");
    assert_eq!(
        why(nowhere).await,
        "it cannot work in /no/such/place: No such file or directory (os error 2)"
    );
    let nothing = Command::new("no-such-program", "/").env("PATH", "/usr/bin:/bin");
    assert_eq!(why(nothing).await, "there is no program no-such-program in PATH");
    let text = tempfile::NamedTempFile::new().unwrap();
    let no_program = Command::new(text.path(), "/");
    let expected =
        format!("{} cannot be started: Permission denied (os error 13)", text.path().display());
    assert_eq!(why(no_program).await, expected);
    let endless = shell("true").arg("x".repeat(40 << 20));
    assert_eq!(why(endless).await, "arguments and environment are too long");
    // The guardian still works.
    assert_eq!(run(&processes, shell("exit 0")).await.code(), Some(0));
}

#[tokio::test]
async fn a_guardian_that_is_none_is_an_error() {
    let options = Options::new("/no/such/guardian", []);
    let error = Processes::new(options).spawn(shell("true")).await.err().unwrap();
    assert!(matches!(error, Error::NoGuardian(_)), "{error:?}");
    let options = Options::new("/bin/true", []);
    let error = Processes::new(options).spawn(shell("true")).await.err().unwrap();
    assert!(matches!(error, Error::NoGuardian(_)), "{error:?}");
}

#[tokio::test]
async fn whoever_is_stopped_takes_its_whole_family_along() {
    for (who, birth) in FAMILY {
        let processes = processes();
        let family = Family::new();
        let (running, alive) =
            tokio::join!(processes.spawn(family.command(birth, "wait; sleep 60")), family.alive());
        let running = running.unwrap();
        running.stop();
        let ran = finish(running).await;
        assert!(ran.exit.unwrap().signal.is_some(), "{who}");
        alive.gone().await;
    }
}

#[tokio::test]
async fn whoever_is_dropped_takes_its_whole_family_along() {
    let processes = processes();
    let family = Family::new();
    let command = family.command("(setsid sh -c 'sh -c \"$STAY\" &' &); hold", "wait; sleep 60");
    let (running, alive) = tokio::join!(processes.spawn(command), family.alive());
    drop(running);
    alive.gone().await;
}

#[tokio::test]
async fn whoever_ends_by_itself_leaves_nobody_behind() {
    for (who, birth) in FAMILY {
        let mut options = options();
        (options.grace, options.linger) = (Duration::from_millis(100), Duration::ZERO);
        let processes = Processes::new(options);
        let family = Family::new();
        let mut command = family.command(&format!("{birth}; exit 4"), READ);
        command.stdin = Some(Vec::new());
        let (running, alive) = tokio::join!(processes.spawn(command), family.alive());
        let ran = finish(running.unwrap()).await;
        let exit = ran.exit.unwrap();
        assert_eq!(exit.code, Some(4), "{who}");
        assert!(exit.left_behind > 0, "{who}");
        alive.gone().await;
    }
}

#[tokio::test]
async fn what_the_background_still_says_is_heard_while_it_may_linger() {
    let mut options = options();
    options.linger = Duration::from_secs(60);
    let processes = Processes::new(options);
    let ran = run(&processes, shell("(sleep 0.1; echo late) & echo early")).await;
    assert_eq!((ran.out.as_str(), ran.exit.unwrap().left_behind), ("early\nlate\n", 0));
}

#[tokio::test]
async fn to_stop_one_leaves_the_others_alone() {
    let processes = processes();
    let (one, other) = (Family::new(), Family::new());
    let birth = "(setsid sh -c 'sh -c \"$STAY\" &' &); hold";
    let (first, alive) =
        tokio::join!(processes.spawn(one.command(birth, "wait; sleep 60")), one.alive());
    let mut command = other.command(birth, READ);
    command.stdin = Some(Vec::new());
    let (second, unharmed) = tokio::join!(processes.spawn(command), other.alive());
    let (first, second) = (first.unwrap(), second.unwrap());
    // Their daemons look alike and have the same parent.
    first.stop();
    drop(finish(first).await);
    alive.gone().await;
    // The other one ends now, and its daemon only then.
    let exit = finish(second).await.exit.unwrap();
    assert_eq!((exit.code, exit.left_behind > 0), (Some(1), true));
    unharmed.gone().await;
}

#[tokio::test]
async fn many_run_side_by_side() {
    let processes = processes();
    let mut all = tokio::task::JoinSet::new();
    for n in 0..200 {
        let processes = processes.clone();
        let command = shell(&format!("exit {}", n % 7));
        all.spawn(async move { (n, run(&processes, command).await.code()) });
    }
    let mut ended = all.join_all().await;
    ended.sort_unstable();
    assert_eq!(ended, (0..200).map(|n| (n, Some(n % 7))).collect::<Vec<_>>());
}

/// The pid that a process printed on its first line.
async fn number(running: Running) -> (Pid, Ran) {
    let ran = finish(running).await;
    let pid = ran.out.lines().next().unwrap().parse().unwrap();
    (Pid::from_raw(pid).unwrap(), ran)
}

#[tokio::test]
async fn a_terminal_cannot_end_the_guardian_and_close_does() {
    let processes = processes();
    let line = "echo $PPID; kill -INT $PPID; kill -HUP $PPID; kill -TERM $PPID; kill -QUIT $PPID";
    let (guardian, ran) = number(processes.spawn(shell(line)).await.unwrap()).await;
    assert_eq!(ran.code(), Some(0));
    let (again, _) = number(processes.spawn(shell("echo $PPID")).await.unwrap()).await;
    assert_eq!(again, guardian, "one guardian for all");
    let family = Family::new();
    let (running, alive) = tokio::join!(
        processes.spawn(family.command(FAMILY[3].1, "wait; sleep 60")),
        family.alive()
    );
    processes.close().await;
    assert!(test_kill_process(guardian).is_err());
    drop(running);
    alive.gone().await;
}

#[tokio::test]
async fn a_guardian_that_is_killed_is_noticed_and_its_groups_are_killed() {
    let processes = processes();
    let family = Family::new();
    let birth = "echo $PPID; stay & hold";
    let (running, alive) =
        tokio::join!(processes.spawn(family.command(birth, "wait; sleep 60")), family.alive());
    let running = running.unwrap();
    let guardian = parent_of(running.pid());
    kill_process(guardian, Signal::KILL).unwrap();
    let ran = finish(running).await;
    assert_eq!(ran.exit, Err(Error::GuardianGone));
    alive.gone().await;
    // The next process gets a new guardian.
    assert_eq!(run(&processes, shell("exit 0")).await.code(), Some(0));
}

fn parent_of(pid: u32) -> Pid {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit_once(')').unwrap().1;
    Pid::from_raw(rest.split_whitespace().nth(1).unwrap().parse().unwrap()).unwrap()
}

#[tokio::test]
async fn nobody_outlives_us_even_if_we_are_killed() {
    for (who, birth) in FAMILY {
        let family = Family::new();
        let mut victim = victim::start(&script(&family.pipe, birth, "wait; sleep 60"));
        let alive = family.alive().await;
        victim.kill().unwrap();
        assert!(!victim.wait().unwrap().success(), "{who}");
        alive.gone().await;
    }
}

#[test]
fn the_verb_says_whom_it_is_for() {
    let world = crate::world::World::new();
    let ran = world.run(&["guardian"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("for punchlist itself"), "{}", ran.err);
    let output = StdCommand::new(env!("CARGO_BIN_EXE_punchlist"))
        .args(["help"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("guardian"));
}
