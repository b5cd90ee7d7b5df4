//! `punchlist add`.

use punchlist_model::{Check, ItemRef, NewItem, Op, Origin, Place, Position};
use serde_json::{Map, Value};

use super::{Group, Verb};
use crate::app::App;
use crate::change::{Changing, Request};
use crate::error::Fail;
use crate::input;
use crate::items::{self, Typed};
use crate::person;
use crate::print::Reply;

/// Put items on the list
///
/// Each title becomes an item, in the order given, at the end unless told otherwise. The first `add`
/// in a project makes its plan; with `--plan NAME` it makes one of that name.
#[derive(clap::Args)]
pub(crate) struct Add {
    /// What is to be done; `-` reads titles from stdin, one a line
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
    #[arg(long, value_name = "ITEM", value_delimiter = ',')]
    after: Vec<Typed>,
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
  grep -rn TODO src | punchlist add - --plan todos";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let titles = titles(&self.titles, app.settings()?.limits.open_items)?;
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
            depends_on: items::refs(self.after),
            parent: self.under.map(|it| it.0),
            waiting_on: self.wait,
            check: self.verify.map(|command| check(command, self.covers)),
            metadata: self.meta.as_deref().map(meta).transpose()?,
            ..NewItem::default()
        };
        let ops = (0..).zip(titles).map(|(n, title)| {
            let place = self.place.of(n);
            Op::Add(Box::new(NewItem { title, place, ..new.clone() }))
        });
        let request = Request::new(ops.collect(), self.changing);
        Request { makes_plan: true, ..request }.answer(app)
    }
}

impl Where {
    /// The place of the n-th item, so that several stay in the order given.
    fn of(&self, n: u32) -> Place {
        let follow = |first: Place| if n == 0 { first } else { Place::After(ItemRef::Batch(n)) };
        if self.first {
            return follow(Place::Front);
        }
        if let Some(at) = self.at {
            return Place::At(Position(at.saturating_add(n)));
        }
        if let Some(item) = &self.before {
            return Place::Before(item.0.clone());
        }
        match &self.behind {
            Some(item) => follow(Place::After(item.0.clone())),
            None => Place::Back,
        }
    }
}

/// The titles given, with those on stdin where `-` stands; at most so many.
fn titles(given: &[String], most: u32) -> Result<Vec<String>, Fail> {
    let stdin =
        if given.iter().any(|title| title == "-") { input::stdin()? } else { String::new() };
    let lines = || stdin.lines().map(str::trim).filter(|line| !line.is_empty());
    let on_stdin = if stdin.is_empty() { 0 } else { lines().count() };
    let count = given.iter().filter(|title| *title != "-").count() + on_stdin;
    // Decided here, because a refusal that names a million entries helps nobody.
    if count > usize::try_from(most).unwrap_or(usize::MAX) {
        let message = format!("{count} items at once; a plan has at most {most} open");
        return Err(
            Fail::refused(message).hint("add fewer, or allow more with `-c limits.open_items=N`.")
        );
    }
    if count == 0 {
        return Err(Fail::usage("there is no title on stdin").hint("write one a line."));
    }
    let mut titles = Vec::with_capacity(count);
    let mut read = false;
    for title in given {
        if title != "-" {
            titles.push(title.clone());
        } else if !std::mem::replace(&mut read, true) {
            titles.extend(lines().map(str::to_owned));
        }
    }
    Ok(titles)
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
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(fail("it is another kind of value".to_owned())),
        Err(why) => Err(fail(why.to_string())),
    }
}
