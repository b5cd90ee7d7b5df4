//! `punchlist add`.

use punchlist_model::item::RESERVED;
use punchlist_model::{Check, ItemRef, NewItem, Op, Origin, Place, Position, Status};
use serde_json::{Map, Value};

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::error::Fail;
use crate::items::{self, Several, Typed};
use crate::print::Reply;
use crate::{checklist, input, person};

/// Put items on the list
///
/// Each title becomes an item, in the order given, at the end unless told otherwise. The first `add`
/// in a project makes its plan; with `--plan NAME` it makes one of that name. Lines of a checklist
/// (`- [ ] title`) are understood, nested ones too. `punchlist import FILE` merges a checklist instead:
/// it adds only what the list does not have.
#[derive(clap::Args)]
pub(crate) struct Add {
    /// What is to be done; `-` reads titles or a checklist from stdin, one item a line
    #[arg(required = true, value_name = "TITLE")]
    titles: Vec<String>,
    /// What whoever does it needs to know
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// How to tell that it is done
    #[arg(long, value_name = "TEXT")]
    criteria: Option<String>,
    /// How it reads while in progress ("Fixing the tests")
    #[arg(long, value_name = "TEXT")]
    active: Option<String>,
    /// Which kind of agent should do it
    #[arg(long, value_name = "KIND")]
    agent: Option<String>,
    /// Who answers for it
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// 0 comes first
    #[arg(long, value_name = "N")]
    priority: Option<u32>,
    /// Not ready before this item is completed; may be repeated
    #[arg(long, value_name = "ITEM")]
    after: Vec<Several>,
    /// A part of this item
    #[arg(long, value_name = "ITEM")]
    under: Option<Typed>,
    /// What it waits for: a person or an event
    #[arg(long, value_name = "WHAT")]
    wait: Option<String>,
    /// The shell command that shows that it is done; it is not completed before that passed
    #[arg(long, value_name = "COMMAND")]
    verify: Option<String>,
    /// The files that this speaks for, as in `src/**`: when they change, it is to be run again
    #[arg(long, value_name = "GLOB", value_delimiter = ',', requires = "verify")]
    covers: Vec<String>,
    /// Anything else to keep with it, as a JSON object
    #[arg(long, value_name = "JSON")]
    meta: Option<String>,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    changing: Changing,
}

#[derive(clap::Args)]
#[group(multiple = false)]
struct Where {
    /// At the top of the list
    #[arg(long)]
    first: bool,
    /// At this position
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(u32).range(1..))]
    at: Option<u32>,
    /// In front of this item
    #[arg(long, value_name = "ITEM")]
    before: Option<Typed>,
    /// Right behind this item
    #[arg(long, value_name = "ITEM")]
    behind: Option<Typed>,
}

impl Verb for Add {
    const NAME: &'static str = "add";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist add \"Fix the failing tests\" \"Update the documentation\"
  punchlist add \"Publish\" --after 1,2 --criteria \"the tag is on the server\"
  punchlist add \"Fix the tests\" --verify \"make test\" --covers \"src/**\"
  punchlist add \"Write the API reference\" --under 2
  grep -rn TODO src | punchlist add - --plan todos
  punchlist add - < notes.md";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let titles = titles(&self.titles, app.ctx()?.most_open())?;
        if self.active.is_some() && titles.len() > 1 {
            return Err(Fail::usage("--active is for one title; there are several")
                .hint("add that item by itself."));
        }
        let new = NewItem {
            title: String::new(),
            active_form: self.active,
            context: self.context.unwrap_or_default(),
            completion_criteria: self.criteria.unwrap_or_default(),
            agent_type: self.agent,
            owner: self.owner,
            priority: self.priority,
            depends_on: items::each(app, &self.after)?,
            parent: self.under.map(|it| it.find(app)).transpose()?,
            waiting_on: self.wait,
            check: self.verify.map(|command| check(command, self.covers)),
            metadata: self.meta.as_deref().map(meta).transpose()?,
            ..NewItem::default()
        };
        let lines = entries(titles);
        let mut ops = Vec::with_capacity(lines.len());
        for (n, line) in (0..).zip(&lines) {
            let place = self.place.of(app, n)?;
            let parent = line.parent.map(ItemRef::Batch).or_else(|| new.parent.clone());
            let title = line.title.clone();
            ops.push(Op::Add(Box::new(NewItem { title, place, parent, ..new.clone() })));
        }
        ops.extend(settled(&lines));
        let request = Request::new(ops, self.changing);
        Request { makes_plan: true, ..request }.answer(app)
    }
}

impl Where {
    /// The place of the n-th item, so that several stay in the order given.
    fn of(&self, app: &App, n: u32) -> Result<Place, Fail> {
        let follow = |first: Place| if n == 0 { first } else { Place::After(ItemRef::Batch(n)) };
        if self.first {
            return Ok(follow(Place::Front));
        }
        if let Some(at) = self.at {
            return Ok(Place::At(Position(at.saturating_add(n))));
        }
        if let Some(item) = &self.before {
            return Ok(Place::Before(item.find(app)?));
        }
        match &self.behind {
            Some(_) if n > 0 => Ok(Place::After(ItemRef::Batch(n))),
            Some(item) => Ok(Place::After(item.find(app)?)),
            None => Ok(Place::Back),
        }
    }
}

/// The titles given, with those on stdin where `-` stands; at most so many.
fn titles(given: &[String], most: Option<u32>) -> Result<Vec<Given>, Fail> {
    let stdin =
        if given.iter().any(|title| title == "-") { input::stdin()? } else { String::new() };
    // Where a box stands says what it is under.
    let cut = |line| if checklist::boxed(line).is_some() { line.trim_end() } else { line.trim() };
    let lines = || stdin.lines().map(cut).filter(|line: &&str| !line.is_empty());
    let on_stdin = if stdin.is_empty() { 0 } else { lines().count() };
    let count = given.iter().filter(|title| *title != "-").count() + on_stdin;
    // Decided here, because a refusal that names a million entries helps nobody.
    // A person's plan has no cap, but one call does not bring a whole log file.
    if most.is_none() && count > checklist::MOST {
        return Err(checklist::too_many());
    }
    let most = most.unwrap_or(u32::MAX);
    if count > usize::try_from(most).unwrap_or(usize::MAX) {
        let message = format!("{count} items at once; a plan has at most {most} open");
        return Err(
            Fail::refused(message).hint("add fewer, or allow more with `-c limits.open_items=N`.")
        );
    }
    if count == 0 {
        return Err(Fail::usage("there is no title on stdin")
            .hint("write one a line, or name a file with a checklist: `punchlist import FILE`."));
    }
    let mut titles = Vec::with_capacity(count);
    let mut read = false;
    for title in given {
        if title != "-" {
            titles.push(Given::Title(title.clone()));
        } else if !std::mem::replace(&mut read, true) {
            titles.extend(lines().map(|line| Given::Line(line.to_owned())));
        }
    }
    Ok(titles)
}

/// A title as it was given.
enum Given {
    /// As an argument: it is what it is.
    Title(String),
    /// On a line of its own, which may be one of a checklist.
    Line(String),
}

/// One item to be added: a title, or a line of a checklist.
struct Entry {
    title: String,
    status: Status,
    /// Which entry it stands under, from 1.
    parent: Option<u32>,
}

/// What the lines say: `- [x] title` is a box, and what stands further in is under what is above it.
fn entries(titles: Vec<Given>) -> Vec<Entry> {
    let mut above: Vec<(usize, u32)> = Vec::new();
    let mut entries = Vec::with_capacity(titles.len());
    for (n, given) in (1..).zip(titles) {
        let found = match &given {
            Given::Line(line) => checklist::boxed(line),
            Given::Title(_) => None,
        };
        let Some(found) = found else {
            above.clear();
            let (Given::Title(title) | Given::Line(title)) = given;
            entries.push(Entry { title, status: Status::Pending, parent: None });
            continue;
        };
        while above.last().is_some_and(|(indent, _)| *indent >= found.indent) {
            above.pop();
        }
        let (title, parent) = (found.title.to_owned(), above.last().map(|it| it.1));
        above.push((found.indent, n));
        entries.push(Entry { title, status: found.status, parent });
    }
    entries
}

/// The steps for boxes that are ticked, from the bottom up. What is begun says nothing of who is at
/// it, so it stays pending.
fn settled(entries: &[Entry]) -> Vec<Op> {
    let numbered = (1..).zip(entries).collect::<Vec<(u32, _)>>();
    let step = |(n, entry): &(u32, &Entry)| match entry.status {
        Status::Completed => {
            Some(Op::Complete { item: ItemRef::Batch(*n), outcome: None, with_children: false })
        }
        Status::Cancelled => Some(Op::Cancel { item: ItemRef::Batch(*n), reason: None }),
        Status::Pending | Status::InProgress => None,
    };
    numbered.iter().rev().filter_map(step).collect()
}

/// A check, and whose word it is.
pub(super) fn check(command: String, covers: Vec<String>) -> Check {
    let origin = if person::is_agent() { Origin::Agent } else { Origin::Person };
    Check { command, covers, origin }
}

/// A JSON object as typed.
pub(super) fn meta(text: &str) -> Result<Map<String, Value>, Fail> {
    let fail = |why: String| {
        Fail::usage(format!("--meta is not a JSON object: {why}"))
            .hint("write it as `--meta '{\"ticket\": 12}'`.")
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) if map.contains_key(RESERVED) => {
            Err(Fail::usage(format!("the key {RESERVED:?} of --meta is reserved"))
                .hint("`punchlist run` keeps there where a plan file lies; use another key."))
        }
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(fail("it is another kind of value".to_owned())),
        Err(why) => Err(fail(why.to_string())),
    }
}
