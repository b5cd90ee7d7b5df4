//! What programs send.

use punchlist_model::store::NewPlan;
use punchlist_model::{
    Check, ItemRef, NewItem, Number, Op, Origin, Patch, Place, PlanPatch, Position, Revision, Run,
};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::typed::items;

/// A whole number. JSON has one kind of number, so `3.0` is one too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whole(u64);

impl Whole {
    fn small(self) -> Result<u32, String> {
        u32::try_from(self.0).map_err(|_| format!("{} is too large", self.0))
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bad = || D::Error::custom("a whole number that is not negative is expected");
        let number = serde_json::Number::deserialize(from)?;
        if let Some(whole) = number.as_u64() {
            return Ok(Self(whole));
        }
        let digits = number.as_f64().filter(|it| it.fract() == 0.0 && (0.0..1e15).contains(it));
        // The text of a float without a fraction has only digits.
        let text = digits.map(|it| format!("{it:.0}")).ok_or_else(bad)?;
        text.parse().map(Self).map_err(|_| bad())
    }
}

/// The most operations of one change.
const MOST_OPS: usize = 1000;

/// A plan to create
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPlanRequest {
    /// What the plan is for
    #[schemars(length(max = 500))]
    pub title: String,
    /// A name by which the plan is found; unique in its project
    #[serde(default)]
    #[schemars(length(min = 1, max = 100))]
    pub name: Option<String>,
    /// The project: a directory. Not needed by a token that sees one project
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    pub project: Option<String>,
}

impl NewPlanRequest {
    /// Refuses texts that are too long or too short.
    pub fn check(&self) -> Result<(), String> {
        let fits = |text: &str, least: usize, most: usize| {
            (least..=most).contains(&text.chars().count()) && !text.contains('\0')
        };
        let is_good = fits(&self.title, 0, 500)
            && self.name.as_deref().is_none_or(|it| fits(it, 1, 100))
            && self.project.as_deref().is_none_or(|it| fits(it, 1, 4096));
        if is_good {
            return Ok(());
        }
        Err("a text is too long, too short or has NUL: title at most 500 characters, name 1 to 100, \
             project 1 to 4096"
            .to_owned())
    }

    /// Fills in what the caller gave.
    pub fn fill(self, plan: NewPlan) -> NewPlan {
        NewPlan { title: self.title, name: self.name, ..plan }
    }
}

/// A change of a plan: all of it happens, or nothing
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeRequest {
    /// What to do, in order
    #[schemars(length(min = 1, max = 1000))]
    pub ops: Vec<OpRequest>,
    /// The revision that the plan must have; without it, any
    #[serde(default)]
    #[schemars(with = "Option<u64>", range(max = 900_000_000_000_000_u64))]
    pub expect: Option<Whole>,
    /// The id of this write. A repeated change with the same id changes nothing and gets the same answer
    #[serde(default)]
    #[schemars(with = "Option<uuid_text::Uuid>")]
    pub write: Option<String>,
    /// Start or complete blocked items all the same; only a person may
    #[serde(default)]
    pub anyway: bool,
}

/// The schema of a UUID.
mod uuid_text {
    /// A UUID
    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    pub(super) struct Uuid(#[schemars(extend("format" = "uuid"))] String);
}

impl ChangeRequest {
    /// The operations, or which of them is wrong. `origin` says whose commands they bring.
    pub fn operations(self, origin: Origin) -> Result<Vec<Op>, String> {
        if self.ops.is_empty() || self.ops.len() > MOST_OPS {
            return Err(format!("a change has 1 to {MOST_OPS} operations"));
        }
        let one = |(at, op): (usize, OpRequest)| {
            op.operation(origin).map_err(|why| format!("operation {}: {why}", at + 1))
        };
        self.ops.into_iter().enumerate().map(one).collect()
    }

    /// The revision that the plan must have.
    pub fn expected(&self) -> Option<Revision> {
        self.expect.map(|it| Revision(it.0))
    }
}

/// How an item is named: by its number, by its id or the beginning of it, or as the n-th entry that this
/// change adds
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ItemName {
    /// The item's number
    Number(#[schemars(with = "u32", range(min = 1, max = 4_294_967_295_u64))] Whole),
    /// The item's id, or the beginning of it
    Id(#[schemars(regex(pattern = "^[0-9a-fA-F-]{4,36}$"))] String),
    /// An item that the same change adds
    Entry(AddedEntry),
}

/// An item that the same change adds
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddedEntry {
    /// Which of the items that the change adds, from 1
    #[schemars(with = "u32", range(min = 1, max = 4_294_967_295_u64))]
    pub entry: Whole,
}

impl ItemName {
    /// The reference of the model.
    pub fn reference(self) -> Result<ItemRef, String> {
        match self {
            Self::Number(number) => Ok(Number(first(number)?).into()),
            Self::Entry(AddedEntry { entry }) => Ok(ItemRef::Batch(first(entry)?)),
            Self::Id(text) => match items::reference(&text) {
                Some(found) => Ok(found),
                None => Err(format!("{text:?} names no item: give a number or an id")),
            },
        }
    }
}

/// A number that counts from 1.
fn first(number: Whole) -> Result<u32, String> {
    match number.small()? {
        0 => Err("numbers count from 1".to_owned()),
        number => Ok(number),
    }
}

fn references(names: Vec<ItemName>) -> Result<Vec<ItemRef>, String> {
    names.into_iter().map(ItemName::reference).collect()
}

/// A place on the list
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PlaceName {
    /// Before all others
    Front,
    /// After all others
    Back,
    /// At this position, from 1
    At(#[schemars(with = "u32", range(min = 1, max = 4_294_967_295_u64))] Whole),
    /// Before another item
    Before(ItemName),
    /// After another item
    After(ItemName),
}

impl PlaceName {
    fn place(self) -> Result<Place, String> {
        Ok(match self {
            Self::Front => Place::Front,
            Self::Back => Place::Back,
            Self::At(position) => Place::At(Position(first(position)?)),
            Self::Before(item) => Place::Before(item.reference()?),
            Self::After(item) => Place::After(item.reference()?),
        })
    }
}

/// A command that shows whether an item is done
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckText {
    /// The shell command; exit 0 means passed
    #[schemars(length(min = 1, max = 20_000))]
    pub command: String,
    /// Globs of the files that the check covers
    #[serde(default)]
    pub covers: Vec<String>,
}

impl CheckText {
    fn check(self, origin: Origin) -> Result<Check, String> {
        if !(1..=20_000).contains(&self.command.chars().count()) {
            return Err("the command of a check has 1 to 20000 characters".to_owned());
        }
        Ok(Check { command: self.command, covers: self.covers, origin })
    }
}

/// One operation
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the operations of the model")]
pub enum OpRequest {
    /// Adds an item
    Add(Box<AddItem>),
    /// Starts an item and claims it
    Start { item: ItemName },
    /// Takes the item in progress, or starts the next ready one
    Next {},
    /// Completes an item
    Complete {
        item: ItemName,
        #[serde(default)]
        outcome: Option<String>,
        #[serde(default)]
        with_children: bool,
    },
    /// Cancels an item
    Cancel {
        item: ItemName,
        #[serde(default)]
        reason: Option<String>,
    },
    /// Makes an item in progress pending again
    Release { item: ItemName },
    /// Makes a completed or cancelled item pending again, or starts it
    Reopen {
        item: ItemName,
        #[serde(default)]
        start: bool,
    },
    /// Makes an item wait for a person or an event
    Wait {
        item: ItemName,
        #[schemars(length(min = 1))]
        on: String,
    },
    /// Ends the wait
    Resume { item: ItemName },
    /// Changes texts and fields of an item
    Edit(Box<EditItem>),
    /// Moves an item to another place
    Move { item: ItemName, to: PlaceName },
    /// Takes an item off the list; its number and history stay
    Supersede { item: ItemName },
    /// Changes the plan's own fields
    Plan(PlanFields),
}

/// A new item
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("required" = ["title"]))]
pub struct AddItem {
    #[schemars(length(min = 1, max = 500))]
    pub title: String,
    pub active_form: Option<String>,
    pub context: String,
    pub completion_criteria: String,
    pub agent_type: Option<String>,
    pub owner: Option<String>,
    #[schemars(with = "Option<u32>", range(max = 4_294_967_295_u64))]
    pub priority: Option<Whole>,
    pub depends_on: Vec<ItemName>,
    pub parent: Option<ItemName>,
    pub waiting_on: Option<String>,
    /// The command that shows whether the item is done
    pub check: Option<CheckText>,
    /// The command that does the item
    pub run: Option<String>,
    /// A person must approve the item
    pub approve: bool,
    pub metadata: Option<Map<String, Value>>,
    /// Where to put it; at the end if not given
    pub place: Option<PlaceName>,
}

impl AddItem {
    fn item(self, origin: Origin) -> Result<NewItem, String> {
        Ok(NewItem {
            title: self.title,
            active_form: self.active_form,
            context: self.context,
            completion_criteria: self.completion_criteria,
            agent_type: self.agent_type,
            owner: self.owner,
            priority: self.priority.map(Whole::small).transpose()?,
            depends_on: references(self.depends_on)?,
            parent: self.parent.map(ItemName::reference).transpose()?,
            waiting_on: self.waiting_on,
            check: self.check.map(|it| it.check(origin)).transpose()?,
            run: self.run.map(|command| Run { command, origin }),
            approve: self.approve,
            metadata: self.metadata,
            place: self.place.map(PlaceName::place).transpose()?.unwrap_or_default(),
            ..NewItem::default()
        })
    }
}

/// New values for an item. What is not given stays as it is
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditItem {
    pub item: ItemName,
    #[serde(default)]
    #[schemars(length(min = 1, max = 500))]
    pub title: Option<String>,
    #[serde(default)]
    pub active_form: Option<String>,
    #[serde(default)]
    pub context: Option<String>,
    #[serde(default)]
    pub completion_criteria: Option<String>,
    #[serde(default)]
    pub agent_type: Option<String>,
    #[serde(default)]
    pub owner: Option<String>,
    #[serde(default)]
    #[schemars(with = "Option<u32>", range(max = 4_294_967_295_u64))]
    pub priority: Option<Whole>,
    #[serde(default)]
    pub outcome: Option<String>,
    /// Replaces all dependencies
    #[serde(default)]
    pub depends_on: Option<Vec<ItemName>>,
    /// Dependencies to add
    #[serde(default)]
    pub after: Vec<ItemName>,
    /// Dependencies to remove
    #[serde(default)]
    pub not_after: Vec<ItemName>,
    #[serde(default)]
    pub parent: Option<ItemName>,
    /// Puts the item at the top level
    #[serde(default)]
    pub no_parent: bool,
    #[serde(default)]
    pub check: Option<CheckText>,
    #[serde(default)]
    pub run: Option<String>,
    #[serde(default)]
    pub approve: Option<bool>,
    /// Metadata to set; a null removes its key
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

impl EditItem {
    fn operation(self, origin: Origin) -> Result<Op, String> {
        // A blank text clears a field that may be empty.
        let text = |text: Option<String>| text.map(|it| Some(it).filter(|it| !it.is_empty()));
        let parent = match (self.parent, self.no_parent) {
            (Some(_), true) => return Err("give either parent or noParent".to_owned()),
            (Some(parent), false) => Some(Some(parent.reference()?)),
            (None, true) => Some(None),
            (None, false) => None,
        };
        let patch = Patch {
            title: self.title,
            active_form: text(self.active_form),
            context: self.context,
            completion_criteria: self.completion_criteria,
            agent_type: text(self.agent_type),
            owner: text(self.owner),
            priority: self.priority.map(|it| it.small().map(Some)).transpose()?,
            outcome: text(self.outcome),
            depends_on: self.depends_on.map(references).transpose()?,
            after: references(self.after)?,
            not_after: references(self.not_after)?,
            parent,
            check: self.check.map(|it| it.check(origin).map(Some)).transpose()?,
            run: self.run.map(|command| Some(Run { command, origin })),
            approve: self.approve,
            merge: self.metadata,
            ..Patch::default()
        };
        Ok(Op::Edit { item: self.item.reference()?, patch: Box::new(patch) })
    }
}

/// The plan's own fields. What is not given stays as it is
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlanFields {
    /// What the plan is for
    pub title: Option<String>,
    /// A name by which the plan is found
    pub name: Option<String>,
}

impl OpRequest {
    fn operation(self, origin: Origin) -> Result<Op, String> {
        Ok(match self {
            Self::Add(item) => Op::Add(Box::new(item.item(origin)?)),
            Self::Start { item } => Op::Start(item.reference()?),
            Self::Next {} => Op::Next,
            Self::Complete { item, outcome, with_children } => {
                Op::Complete { item: item.reference()?, outcome, with_children }
            }
            Self::Cancel { item, reason } => Op::Cancel { item: item.reference()?, reason },
            Self::Release { item } => Op::Release(item.reference()?),
            Self::Reopen { item, start } => Op::Reopen { item: item.reference()?, start },
            Self::Wait { item, on } => Op::Wait { item: item.reference()?, on },
            Self::Resume { item } => Op::Resume(item.reference()?),
            Self::Edit(edit) => edit.operation(origin)?,
            Self::Move { item, to } => Op::Move { item: item.reference()?, to: to.place()? },
            Self::Supersede { item } => Op::Supersede(item.reference()?),
            Self::Plan(PlanFields { title, name }) => {
                let name = name.map(Some);
                Op::Plan(Box::new(PlanPatch { title, name, ..PlanPatch::default() }))
            }
        })
    }
}

/// Takes back the caller's own last change
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UndoRequest {
    /// The revision that the plan must have; without it, any
    #[schemars(with = "Option<u64>", range(max = 900_000_000_000_000_u64))]
    pub expect: Option<Whole>,
}

impl UndoRequest {
    /// The revision that the plan must have.
    pub fn expected(&self) -> Option<Revision> {
        self.expect.map(|it| Revision(it.0))
    }
}

/// An answer to a question
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// What the person says
    pub answer: AnswerWord,
    /// Why not; for `no` and `stop`
    #[serde(default)]
    pub reason: Option<String>,
    /// With `always`: in every project
    #[serde(default)]
    pub everywhere: bool,
    /// With `edit`: the other arguments
    #[serde(default)]
    pub arguments: Option<Value>,
}

/// The possible answers
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AnswerWord {
    /// Allow this call
    Yes,
    /// Allow until the run ends
    Session,
    /// Allow from now on what the question shows
    Always,
    /// Allow with other arguments
    Edit,
    /// Refuse
    No,
    /// Refuse and end the run
    Stop,
}

impl AnswerWord {
    /// The word that a person types.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Session => "session",
            Self::Always => "always",
            Self::Edit => "edit",
            Self::No => "no",
            Self::Stop => "stop",
        }
    }
}
