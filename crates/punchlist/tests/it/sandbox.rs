//! The sandbox against commands that try to leave it, on this machine's kernel.
//!
//! An attempt is first made without the sandbox, where it must succeed: otherwise the test would
//! show nothing. Only attempts that fail on some machines for other reasons are exempt. Where the kernel lacks what the sandbox needs, the tests say so and pass.

mod attempts;

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::PathBuf;
use std::process::{Child, Command as StdCommand, Stdio};

use punchlist_sched::process::{Command, Processes};
use punchlist_sched::sandbox::{self, SandboxOptions, Support};

use crate::processes::{FAMILY, Family, READ, Ran, finish, processes, run};
use attempts::{ATTEMPTS, Attempt, WORK};

/// Whether this machine has a sandbox. Says so if it has none.
#[expect(clippy::print_stdout, reason = "a test that shows nothing should say so")]
pub(crate) fn is_supported() -> bool {
    match sandbox::support() {
        Support::Full => true,
        Support::Missing(why) => {
            println!("skipped: there is no sandbox here: {why}");
            false
        }
    }
}

/// A project, and everything outside of it that a command could reach.
struct World {
    directory: tempfile::TempDir,
    /// A process outside the sandbox.
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    name: String,
    _sockets: (UnixListener, UnixDatagram, UnixListener),
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["project", "project/sub", "outside", "outside/empty", "home"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::write(path("outside/file"), "kept\n").unwrap();
        fs::write(path("project/file"), "ours\n").unwrap();
        let victim = StdCommand::new("sleep")
            .arg("300")
            .env("CANARY", "secret of the victim")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let name = format!("punchlist-test-{}", victim.id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let sockets = (
            UnixListener::bind(path("outside/stream")).unwrap(),
            UnixDatagram::bind(path("outside/datagram")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
        );
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        Self { directory, victim, tcp, udp, name, _sockets: sockets }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// A command for the shell in the project.
    fn command(&self, line: &str, is_sandboxed: bool) -> Command {
        let project = self.path("project");
        let sandbox = is_sandboxed.then(|| SandboxOptions { writable: vec![project.clone()] });
        let command = Command::shell(line, project)
            .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", self.path("home"))
            .env("OUT", self.path("outside"))
            .env("TCP", self.tcp.local_addr().unwrap().port().to_string())
            .env("UDP", self.udp.local_addr().unwrap().port().to_string())
            .env("NAME", &self.name)
            .env("VICTIM", self.victim.id().to_string());
        Command { sandbox, apart: true, ..command }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.victim.kill().unwrap();
        self.victim.wait().unwrap();
    }
}

/// Whether an attempt can be made by this user on this machine.
fn is_possible(attempt: &Attempt) -> bool {
    let has_perl = StdCommand::new("perl").arg("-e").arg("1").stdin(Stdio::null()).status();
    let has_perl = has_perl.is_ok_and(|it| it.success());
    assert!(has_perl || std::env::var_os("CI").is_none(), "CI needs perl");
    let is_root = rustix::process::geteuid().is_root();
    (has_perl || !attempt.line.contains("perl")) && (is_root || !attempt.needs_root)
}

#[tokio::test]
async fn no_attempt_to_leave_the_sandbox_succeeds() {
    if !is_supported() {
        return;
    }
    let processes = processes();
    let mut failures = Vec::new();
    for attempt in ATTEMPTS.iter().filter(|it| is_possible(it)) {
        let Attempt { what, line, .. } = attempt;
        if attempt.works_outside {
            let world = World::new();
            let free = run(&processes, world.command(line, false)).await;
            if free.code() != Some(0) {
                failures.push(format!("{what}: fails without the sandbox: {free:?}"));
            }
        }
        let world = World::new();
        let stopped = run(&processes, world.command(line, true)).await;
        let kept = fs::read_to_string(world.path("outside/file")).unwrap_or_default();
        let names = |place: &str| {
            let entries = fs::read_dir(world.path(place)).unwrap();
            let mut names: Vec<_> = entries.map(|it| it.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let is_untouched = kept == "kept\n"
            && names("outside") == ["datagram", "empty", "file", "stream"]
            && names("home").is_empty();
        if stopped.code() == Some(0) || !is_untouched {
            failures.push(format!("{what}: succeeds in the sandbox: {stopped:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[tokio::test]
async fn ordinary_work_succeeds_in_the_sandbox() {
    if !is_supported() {
        return;
    }
    let processes = processes();
    for (what, line) in WORK {
        let world = World::new();
        let done = run(&processes, world.command(line, true)).await;
        assert_eq!(done.code(), Some(0), "{what}: {done:?}");
    }
}

#[tokio::test]
async fn a_sandboxed_command_has_a_temporary_directory_that_is_removed() {
    if !is_supported() {
        return;
    }
    let (processes, world) = (processes(), World::new());
    let leave = "mkdir -p \"$TMPDIR/a/b\"; touch \"$TMPDIR/a/b/c\"; chmod 500 \"$TMPDIR/a\"; \
                 stat -c %a \"$TMPDIR\"; echo $TMPDIR; echo $TMP; echo $TEMP";
    let done = run(&processes, world.command(leave, true)).await;
    let lines: Vec<&str> = done.out.lines().collect();
    let [mode, directory, tmp, temp] = lines[..] else { panic!("{done:?}") };
    assert_eq!((mode, tmp, temp), ("700", directory, directory));
    assert!(!PathBuf::from(directory).exists(), "{directory}");

    // It is where the caller wants temporary files.
    let command = world.command("echo $TMPDIR", true).env("TMPDIR", world.path("home"));
    let done = run(&processes, command).await;
    assert!(done.out.starts_with(world.path("home").to_str().unwrap()), "{done:?}");
    assert_eq!(fs::read_dir(world.path("home")).unwrap().count(), 0);

    // It is removed also when the driver ends first.
    let command = world.command("echo x > \"$TMPDIR/x\"; echo ready > ready; sleep 60", true);
    let running = processes.spawn(command.env("TMPDIR", world.path("home"))).await.unwrap();
    for _ in 0..2_000 {
        if world.path("project/ready").exists() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(fs::read_dir(world.path("home")).unwrap().count(), 1);
    processes.close().await;
    assert!(!finish(running).await.exit.is_ok_and(|it| it.is_success()));
    assert_eq!(fs::read_dir(world.path("home")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_sandboxed_command_has_the_environment_that_it_is_given() {
    if !is_supported() {
        return;
    }
    let (processes, world) = (processes(), World::new());
    let done = run(&processes, world.command("env | cut -d= -f1 | sort", true)).await;
    let names: Vec<&str> = done.out.lines().filter(|it| *it != "_").collect();
    assert_eq!(
        names,
        [
            "HOME",
            "NAME",
            "OUT",
            "PATH",
            "PUNCHLIST_CALL",
            "PWD",
            "TCP",
            "TEMP",
            "TMP",
            "TMPDIR",
            "UDP",
            "VICTIM"
        ]
    );
}

#[tokio::test]
async fn nobody_of_a_sandboxed_family_is_left() {
    if !is_supported() {
        return;
    }
    for (who, birth) in FAMILY {
        let (processes, family) = (processes(), Family::new());
        // Leaving the session, the group and the environment behind does not leave the sandbox.
        let outside = World::new();
        let file = outside.path("outside/new");
        let birth = format!("(setsid sh -c 'sh -c \": > {}\" &' &); {birth}", file.display());
        let mut command = family.command(&birth, READ);
        let directory = family.pipe.parent().unwrap().to_owned();
        command.sandbox = Some(SandboxOptions { writable: vec![directory] });
        command.stdin = Some(Vec::new());
        let (started, alive) = tokio::join!(processes.spawn(command), family.alive());
        let Ran { exit, .. } = finish(started.unwrap()).await;
        assert!(exit.is_ok(), "{who}: {exit:?}");
        alive.gone().await;
        assert!(!file.exists(), "{who}");
    }
}

#[tokio::test]
async fn a_command_does_not_run_if_its_sandbox_cannot_be_set_up() {
    let world = World::new();
    let processes: Processes = processes();
    let mut command = world.command("echo ran", true);
    command.sandbox = Some(SandboxOptions { writable: vec![world.path("missing")] });
    let done = run(&processes, command).await;
    assert_eq!((done.code(), done.out.as_str()), (Some(127), ""), "{done:?}");
    assert!(done.err.contains("its sandbox was not"), "{done:?}");
    let command = world.command("echo ran", true).env("TMPDIR", world.path("missing"));
    let why = processes.spawn(command).await.map(|it| it.pid()).unwrap_err();
    assert!(why.to_string().contains("cannot create a temporary directory in"), "{why}");
}
