//! `log --follow` reports the changes of other processes as they happen.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use crate::world::World;

/// A follower that ends with the test.
struct Follower {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Follower {
    fn start(world: &World, arguments: &[&str]) -> Self {
        let mut command = world.command("project");
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("it goes on").unwrap()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn what_others_do_is_told_as_it_happens() {
    let world = World::new();
    world.typed("add a").works();
    let mut follower = Follower::start(&world, &["log", "--follow"]);
    assert!(follower.line().ends_with("added 1 \"a\""));
    for n in 2..6 {
        world.typed(&format!("--as you add b{n}")).works();
        let line = follower.line();
        assert!(line.starts_with(&format!("{n} ")), "{line}");
        assert!(line.contains("you") && line.ends_with(&format!("added {n} \"b{n}\"")), "{line}");
    }
}

#[test]
fn many_writers_are_followed_in_order_and_without_gaps() {
    let world = World::new();
    world.typed("add a").works();
    let mut follower = Follower::start(&world, &["log", "--follow", "--json", "-n", "1"]);
    assert!(follower.line().contains("\"revision\":1,"));
    let writers: Vec<Child> = (0..12)
        .map(|n| {
            let mut command = world.command("project");
            command.args(["add", &format!("w{n}")]).stdout(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for revision in 2..14 {
        let line = follower.line();
        assert!(line.contains(&format!("\"revision\":{revision},")), "{line}");
    }
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let world = World::new();
    world.typed("add a").works();
    let mut follower = Follower::start(&world, &["log", "--follow"]);
    follower.line();
    let Follower { child, lines } = &mut follower;
    drop(std::mem::replace(lines, nothing()));
    // It notices the closed pipe with its next output.
    world.typed("add b").works();
    assert!(child.wait().unwrap().success());
}

/// The lines of a process without output.
fn nothing() -> Lines<BufReader<ChildStdout>> {
    let mut child = std::process::Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    child.wait().unwrap();
    lines
}
