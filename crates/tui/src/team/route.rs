//! Who a message is for: `@name`, `@all`, the member addressed last, or a command. Pure.

use punchlist_agent::team::config::{ALL, is_same};
use punchlist_formats::text::nearest;
use punchlist_formats::text::one_line;

use crate::input::Entered;

/// The commands, with their arguments and what they do.
pub const COMMANDS: [(&str, &str, &str); 6] = [
    ("pass", "NAME [NOTE]", "hand the last answer on to a member, with a note"),
    ("stop", "[NAME]", "end the turn of a member, or all turns"),
    ("queue", "", "messages that wait; /queue go, edit NUMBER, remove NUMBER"),
    ("members", "", "show the members"),
    ("help", "", "show this"),
    ("quit", "", "end the conversation"),
];

/// What an entered text means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Routed {
    /// A message for these members.
    Send {
        /// The members, in the order of the team.
        members: Vec<usize>,
        /// The message, without the names.
        text: String,
        /// Whether nobody was named, so that it goes to whom the last one went.
        is_last: bool,
    },
    /// Names alone: further messages are for these members.
    Choose(Vec<usize>),
    /// The last answer is for these members, with this note.
    Pass(Vec<usize>, String),
    /// The turns of these members are to be ended.
    Stop(Vec<usize>),
    /// Show or change the queue.
    Queue(QueueCommand),
    /// Show the members.
    Members,
    /// Show the commands.
    Help,
    /// End the conversation.
    Quit,
    /// It means nothing, for this reason. The text should stay.
    Wrong(String),
}

/// What is to be done with the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueCommand {
    /// Show it.
    Show,
    /// Send the first message of each member that does not work.
    Go,
    /// Take the message with this number out, to edit it.
    Edit(usize),
    /// Remove the message with this number.
    Remove(usize),
}

/// What an entered text means, in a team with these names, the last message having gone to `last`.
pub fn route(entered: &Entered, names: &[&str], last: &[usize]) -> Routed {
    let text = entered.text.trim();
    if entered.is_pasted {
        return send(named(names, last), text, names);
    }
    if let Some(command) = text.strip_prefix('/') {
        let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        // `/usr/bin` and `//` are text.
        if !word.is_empty() && word.chars().all(|it| it.is_alphabetic() || it == '-') {
            return self::command(word, rest.trim(), names);
        }
    }
    match addressed(text, names) {
        Err(wrong) => Routed::Wrong(wrong),
        Ok((None, text)) => send(named(names, last), text, names),
        Ok((Some(members), "")) => Routed::Choose(members),
        Ok((Some(members), text)) => {
            Routed::Send { members, text: text.to_owned(), is_last: false }
        }
    }
}

/// Whom a message without a name is for.
fn named(names: &[&str], last: &[usize]) -> Vec<usize> {
    if last.is_empty() && names.len() == 1 { vec![0] } else { last.to_vec() }
}

fn send(members: Vec<usize>, text: &str, names: &[&str]) -> Routed {
    if members.is_empty() {
        let all = shown(names);
        return Routed::Wrong(format!("say who it is for: {all} or @{ALL}"));
    }
    Routed::Send { members, text: text.to_owned(), is_last: true }
}

/// The members that a text begins with, and the rest of it.
fn addressed<'a>(text: &'a str, names: &[&str]) -> Result<(Option<Vec<usize>>, &'a str), String> {
    let mut members: Option<Vec<usize>> = None;
    let mut rest = text;
    while let Some(after) = rest.strip_prefix('@') {
        let is_part = |it: char| it.is_alphanumeric() || it == '-' || it == '_';
        let end = after.find(|it| !is_part(it)).unwrap_or(after.len());
        let (name, tail) = after.split_at(end);
        // `@src/main.rs` and `@` alone are text, but somebody who is addressed must exist.
        let is_end = tail.starts_with([':', ',']) || tail.trim_start().len() < tail.len();
        let found = member(name, names);
        match found {
            Some(found) if tail.is_empty() || is_end => {
                members.get_or_insert_default().extend(found);
                rest = tail.trim_start_matches([':', ',']).trim_start();
            }
            Some(_) => break,
            None if members.is_some() => break,
            None => return Err(unknown(name, names)),
        }
    }
    let members = members.map(|mut it| {
        it.sort_unstable();
        it.dedup();
        it
    });
    Ok((members, rest))
}

/// The members of this name.
fn member(name: &str, names: &[&str]) -> Option<Vec<usize>> {
    if is_same(name, ALL) {
        return Some((0..names.len()).collect());
    }
    names.iter().position(|it| is_same(it, name)).map(|it| vec![it])
}

fn command(word: &str, rest: &str, names: &[&str]) -> Routed {
    let (name, note) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let who = member(name.trim_start_matches('@'), names);
    match (word, who) {
        ("help", _) => Routed::Help,
        ("queue", _) => queue(name, note.trim()),
        ("members" | "team", _) => Routed::Members,
        ("quit" | "exit", _) => Routed::Quit,
        ("pass", Some(to)) => Routed::Pass(to, note.trim().to_owned()),
        ("pass", None) if name.is_empty() => {
            Routed::Wrong(format!("say to whom: /pass {}", names.first().unwrap_or(&"")))
        }
        ("stop", None) if name.is_empty() => Routed::Stop((0..names.len()).collect()),
        ("stop", Some(members)) => Routed::Stop(members),
        ("pass" | "stop", None) => Routed::Wrong(unknown(name, names)),
        (word, _) => {
            let near = nearest(word, COMMANDS.iter().map(|it| it.0));
            let near = near.map(|it| format!("; did you mean /{it}?"));
            let near = near.unwrap_or_else(|| "; /help shows the commands".to_owned());
            Routed::Wrong(format!("there is no command /{}{near}", one_line(word)))
        }
    }
}

fn queue(what: &str, number: &str) -> Routed {
    let number: Option<usize> = number.parse().ok();
    match (what, number) {
        ("", _) => Routed::Queue(QueueCommand::Show),
        ("go", _) => Routed::Queue(QueueCommand::Go),
        ("edit", Some(number)) => Routed::Queue(QueueCommand::Edit(number)),
        ("remove", Some(number)) => Routed::Queue(QueueCommand::Remove(number)),
        (_, _) => {
            let forms = "/queue, /queue go, /queue edit NUMBER or /queue remove NUMBER";
            Routed::Wrong(format!("write {forms}"))
        }
    }
}

fn unknown(name: &str, names: &[&str]) -> String {
    let near = nearest(name, names.iter().copied().chain([ALL]));
    let near = near.map(|it| format!("; did you mean @{it}?"));
    let near = near.unwrap_or_else(|| format!("; there are {} and @{ALL}", shown(names)));
    let name: String = name.chars().take(40).collect();
    format!("there is no member {:?}{near}", one_line(&name))
}

/// `@max, @kim`
fn shown(names: &[&str]) -> String {
    names.iter().map(|it| format!("@{it}")).collect::<Vec<_>>().join(", ")
}
