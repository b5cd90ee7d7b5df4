//! When a list is shown, dimmed and cleared; and who a message is for.

use super::super::panels::Panels;
use super::super::route::{Routed, route};
use super::*;
use crate::input::Entered;

/// Applies steps to a team of three, and says what is shown: `max` is a list, `(max)` a dimmed one, `max☑`
/// one whose turn ended. A step is `@a,b` (these begin with one message), `a=N` (a list of N items),
/// `a.` (the turn ends well), `a!` (it ends with an error or was cancelled) or `end` (the conversation).
fn shown(steps: &str) -> String {
    let names = ["a", "b", "c"];
    let member = |name: &str| names.iter().position(|it| *it == name).unwrap();
    let mut panels = Panels::default();
    for step in steps.split_whitespace() {
        if step == "end" {
            panels.clear();
        } else if let Some(these) = step.strip_prefix('@') {
            panels.begin(&these.split(',').map(member).collect::<Vec<_>>());
        } else if let Some((name, count)) = step.split_once('=') {
            let item = json!({"text": "x", "status": "pending"});
            let item: owned::Item = serde_json::from_value(item).unwrap();
            panels.list(member(name), &vec![item; count.parse().unwrap()]);
        } else {
            panels.end(member(&step[..1]), step.ends_with('.'));
        }
    }
    let words = panels.iter().map(|(at, panel)| {
        let name = names[at];
        let sign = if panel.entries().iter().all(|it| it.assumed) { "☑" } else { "" };
        if panel.is_dim { format!("({name}{sign})") } else { format!("{name}{sign}") }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_lifecycle_of_panels_is_this_table() {
    for (steps, expected) in [
        ("", ""),
        ("@a", ""),
        ("@a a=2", "a"),
        // A list replaces the member's list.
        ("@a a=2 a=3", "a"),
        // A finished turn keeps it, and assumes the rest.
        ("@a a=2 a.", "a☑"),
        // A new turn of the same member dims it until its new list comes …
        ("@a a=2 a. @a", "(a☑)"),
        ("@a a=2 a. @a a=1", "a"),
        // … or the turn ends without one.
        ("@a a=2 a. @a a.", "a☑"),
        // An empty list, Esc, an error and the end of the conversation clear it.
        ("@a a=2 a=0", ""),
        ("@a a=2 a!", ""),
        ("@a a=2 a. @a a!", ""),
        ("@a a=2 a. end", ""),
        ("@a,b a=1 b=1 end", ""),
        // Taking turns, another member starting clears it.
        ("@a a=2 a. @b", ""),
        ("@a a=2 a. @b b=1", "b"),
        ("@a a=2 a. @b b=1 b. @a", ""),
        // Side by side, each running member has its own.
        ("@a,b a=1 b=1", "a b"),
        ("@a a=1 @b b=1", "a b"),
        ("@a,b,c a=1 b=1 c=1 b!", "a c"),
        ("@a,b a=1 b=1 a.", "a☑ b"),
        ("@a,b a=1 b=1 a. b.", "a☑ b☑"),
        ("@a,b a=1 b=1 a. b. @a,b", "(a☑) (b☑)"),
        ("@a,b a=1 b=1 a. b. @a,b b=1", "(a☑) b"),
        ("@a,b a=1 b=1 a. b. @c", ""),
        ("@a,b a=1 b=1 a. @c", "b"),
        ("@a,b a=1 b=1 a. b. @a", "(a☑)"),
    ] {
        assert_eq!(shown(steps), expected, "{steps}");
    }
}

#[test]
fn a_message_finds_its_members() {
    let names = ["max", "kim", "Zoë"];
    let send = |members: &[usize], text: &str, is_last| Routed::Send {
        members: members.to_vec(),
        text: text.to_owned(),
        is_last,
    };
    let last = [1];
    for (typed, expected) in [
        ("@max fix it", send(&[0], "fix it", false)),
        ("  @MAX: fix it ", send(&[0], "fix it", false)),
        ("@zoë, hello", send(&[2], "hello", false)),
        ("@all go", send(&[0, 1, 2], "go", false)),
        ("@kim @max @kim both", send(&[0, 1], "both", false)),
        ("@max\nmany\nlines", send(&[0], "many\nlines", false)),
        ("go on", send(&[1], "go on", true)),
        ("tell @max that", send(&[1], "tell @max that", true)),
        // The second is text: nobody has that name.
        ("@max @param is wrong", send(&[0], "@param is wrong", false)),
        ("/usr/bin/ls is missing", send(&[1], "/usr/bin/ls is missing", true)),
        ("// a comment", send(&[1], "// a comment", true)),
        ("@max", Routed::Choose(vec![0])),
        ("/pass zoë", Routed::Pass(vec![2], String::new())),
        ("/pass @max look at this", Routed::Pass(vec![0], "look at this".to_owned())),
        ("/stop", Routed::Stop(vec![0, 1, 2])),
        ("/stop kim", Routed::Stop(vec![1])),
        ("/quit", Routed::Quit),
        ("/help", Routed::Help),
        ("/members", Routed::Members),
    ] {
        assert_eq!(route(&Entered::typed(typed), &names, &last), expected, "{typed}");
    }
    for (typed, last, expected) in [
        ("@maxx fix it", &[][..], "there is no member \"maxx\"; did you mean @max?"),
        ("@bob hi", &[], "there is no member \"bob\"; there are @max, @kim, @Zoë and @all"),
        ("/pass bob", &[0], "there is no member \"bob\""),
        ("/pass", &[0], "say to whom: /pass max"),
        ("/pss max", &[0], "there is no command /pss; did you mean /pass?"),
        ("go", &[], "say who it is for: @max, @kim, @Zoë or @all"),
    ] {
        let routed = route(&Entered::typed(typed), &names, last);
        let Routed::Wrong(why) = &routed else { panic!("{typed}: {routed:?}") };
        assert!(why.contains(expected), "{why}");
    }
    // What was pasted is never an address or a command.
    for text in ["@max look", "/quit"] {
        let entered = Entered { text: text.to_owned(), is_pasted: true };
        assert_eq!(route(&entered, &names, &last), send(&[1], text, true));
    }
    // The only member needs no name.
    assert_eq!(route(&Entered::typed("go"), &["max"], &[]), send(&[0], "go", true));
}
