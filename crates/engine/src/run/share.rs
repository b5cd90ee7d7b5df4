//! Publishes a plan file for workers, and shows their progress as if the run were local. It runs no item.

mod progress;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use punchlist_model::call::{Answered, Asked, News, Question, QuestionFilter, Standing};
use punchlist_model::store::Error;
use punchlist_model::{
    Ctx, Item, ItemRef, Number, Op, Patch, Plan, PlanPatch, QuestionId, Rules, RunId, Timestamp,
};
use punchlist_sched::call::Output;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};

use super::board::Board;
use super::end::{self, Ended};
use super::front_end::{Event, FrontEnd, Input};
use super::lock::Lock;
use super::options::{Options, Surroundings};
use super::plan_file::{Source, moved};
use super::runner::{heard, start};
use super::schedule::{Attendance, Chosen, Schedule, Tree};
use super::{claimed, prepare, printed};
use crate::around;
use crate::fail::{Code, Fail};
use crate::outputs::last_call;
use crate::plan_service::LivePlan;
use crate::policy::checks;
use crate::project;
use crate::work::{is_under_way, lapsed, lease_end};
use progress::Shown;

/// After this time without a worker, the person is told how to start one.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long to wait after a failure of the store, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Why the store could not be looked at.
enum Stopped {
    /// It is away, and may come back: for example a server that restarts.
    Away(String),
    /// Waiting would not help.
    Failed(Fail),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        let is_away =
            matches!(error, Error::Server { .. } | Error::Busy(_) | Error::Unusable { .. });
        if is_away { Self::Away(error.to_string()) } else { Self::Failed(error.into()) }
    }
}

impl From<Fail> for Stopped {
    fn from(fail: Fail) -> Self {
        if fail.code == Code::Unusable { Self::Away(fail.message) } else { Self::Failed(fail) }
    }
}

/// Publishes a plan file and shows the progress of the workers until nothing is left that a worker could do.
pub async fn share(
    mut source: Source,
    options: &Options,
    surroundings: &Surroundings,
    front_end: &mut dyn FrontEnd,
) -> Result<Ended, Fail> {
    let (store, caller) = (&*surroundings.store, &surroundings.caller);
    source.below = Some(below(&source, &caller.project)?);
    let found = moved::find(&source, options, store, caller, Some(&mut *front_end)).await?;
    for note in source.belongs(found) {
        front_end.warn(&note);
    }
    let plan = publish(&source, options, surroundings, front_end).await?;
    let begun = caller.around.now();
    let run = RunId(caller.around.ids(begun)?.nth(0));
    let tree = Arc::new(Tree::of(plan.plan()));
    let schedule = schedule(plan.plan(), &tree);
    let how = vec!["shared".to_owned(), format!("plan {}", plan.plan().id.short())];
    let board = Board::new(plan.plan(), &tree, &schedule, how, begun.as_millisecond());
    let is_idle = plan.plan().open == 0;
    let watch = Watch {
        source: &source,
        options,
        surroundings,
        front_end,
        shown: BTreeMap::new(),
        is_first: true,
        is_stale: true,
        answers: Vec::new(),
        plan,
        tree,
        board,
        waiting: BTreeMap::new(),
        outputs: Vec::new(),
        is_taken: false,
        is_idle,
    };
    watch.run(run, &schedule).await
}

/// Imports the file into its plan, and marks the plan as shared.
async fn publish(
    source: &Source,
    options: &Options,
    surroundings: &Surroundings,
    front_end: &mut dyn FrontEnd,
) -> Result<LivePlan, Fail> {
    let caller = &surroundings.caller;
    let locks = surroundings.data.join("runs");
    // Nobody runs the file here meanwhile.
    let lock = Lock::take(&locks, &source.plan().to_string(), &source.name, || Ok(())).await?;
    let ctx = prepare::ctx(caller, None);
    let mut plan = prepare::found(source, surroundings, &ctx).await?;
    let mut notes = Vec::new();
    // Workers have no common limit.
    let rules = Rules { shared: true, max_in_progress: Some(u32::MAX), ..plan.plan().rules };
    prepare::import(source, false, rules, surroundings, &mut plan, &mut notes, front_end).await?;
    if options.earlier.retry_interrupted {
        let ctx = prepare::anew(surroundings, &ctx)?;
        plan.change(&ctx, |plan| interrupted(plan).flat_map(again).collect()).await?;
    }
    notes.iter().for_each(|it| front_end.warn(it));
    drop(lock);
    Ok(plan)
}

/// Ends the sharing of a plan, because this machine runs its file itself. Refused while a worker holds an
/// item.
pub(crate) async fn take_back(
    source: &Source,
    surroundings: &Surroundings,
    front_end: &mut dyn FrontEnd,
) -> Result<(), Fail> {
    let (store, caller) = (&surroundings.store, &surroundings.caller);
    let plan = match store.whole(source.plan()).await {
        Ok(plan) if plan.rules.shared => plan,
        Ok(_) | Err(Error::NoPlan(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let ctx = prepare::ctx(caller, None);
    let gone = around::gone(&*caller.around, &plan);
    let is_held =
        |it: &&Item| it.claim.as_ref().is_some_and(|claim| !claim.has_lapsed(ctx.now, &gone));
    if let Some(item) = plan.in_progress().find(is_held) {
        let holder = item.claim.as_ref().map(|it| it.holder.name.clone()).unwrap_or_default();
        let what = format!("{} is shared, and {holder} works on item {}", source.name, item.number);
        return Err(Fail::refused(what).hint(
            "`--share` shows the workers' progress; stop the workers to run the file here.",
        ));
    }
    let rules = Rules { shared: false, ..plan.rules };
    let mut plan = LivePlan::new(Arc::clone(store), plan);
    let patch = PlanPatch { rules: Some(rules), ..PlanPatch::default() };
    plan.change(&ctx, |_| vec![Op::Plan(Box::new(patch.clone()))]).await?;
    front_end.warn(&format!("{} was shared; from now on it is run here only", source.name));
    Ok(())
}

/// The file's directory relative to the root of its checkout, where workers find it too.
fn below(source: &Source, project: &str) -> Result<String, Fail> {
    let own = project::find(source.directory()).ok().map(|it| it.name);
    match checks::below(source.directory()).filter(|_| own.as_deref() == Some(project)) {
        Some(below) => Ok(below),
        None => Err(Fail::usage(format!("{} is not in this project ({project})", source.name))
            .hint("share it from the project that it belongs to, where workers find its files.")),
    }
}

fn interrupted(plan: &Plan) -> impl Iterator<Item = &Item> {
    plan.items.values().filter(|it| it.is_open() && it.is_interrupted())
}

/// Lets an interrupted item run again.
fn again(item: &Item) -> Vec<Op> {
    let by = || ItemRef::Number(item.number);
    let merge = Map::from_iter([(Item::INTERRUPTED.to_owned(), Value::from(Item::ASKED))]);
    let patch = Patch { merge, ..Patch::default() };
    let mut ops = vec![Op::Edit { item: by(), patch: Box::new(patch) }];
    ops.extend(item.waiting_on.is_some().then(|| Op::Resume(by())));
    ops
}

fn schedule(plan: &Plan, tree: &Tree) -> Schedule {
    let attendance = Attendance { person: true, ..Attendance::default() };
    Schedule::build(plan, tree, &Chosen::All, &attendance, &BTreeMap::new())
}

/// A shared plan that is being watched.
struct Watch<'a> {
    source: &'a Source,
    options: &'a Options,
    surroundings: &'a Surroundings,
    front_end: &'a mut dyn FrontEnd,
    plan: LivePlan,
    tree: Arc<Tree>,
    board: Board,
    /// What the front end was told last about each item.
    shown: BTreeMap<Number, Shown>,
    /// Whether not every item was looked at yet.
    is_first: bool,
    /// Whether the plan has changed since all items were shown.
    is_stale: bool,
    /// Answers that the store does not have yet.
    answers: Vec<(QuestionId, Answered)>,
    /// The waiting questions.
    waiting: BTreeMap<QuestionId, Asked>,
    /// The outputs of failed items.
    outputs: Vec<(Number, Output)>,
    /// Whether a worker has taken an item.
    is_taken: bool,
    /// Whether there was nothing to do at the beginning.
    is_idle: bool,
}

impl Watch<'_> {
    async fn run(mut self, run: RunId, schedule: &Schedule) -> Result<Ended, Fail> {
        let (directory, name) = (self.source.directory(), &*self.source.name);
        self.send(Event::Begins { run, directory, name })?;
        let requests = start::requests(self.options.on_failure, schedule, self.plan.plan());
        for (planned, it) in schedule.planned.iter().zip(&requests) {
            let (item, tool, arguments) = (planned.number, &*it.tool, &it.arguments);
            self.send(Event::Planned { item, tool, arguments })?;
        }
        let mut news: Option<News> = None;
        let hint = Instant::now() + PATIENCE;
        let (mut is_stopped, mut pause) = (false, None::<Duration>);
        loop {
            let due = match self.look(&mut news).await {
                Ok(due) => {
                    if pause.take().is_some() {
                        self.say("the database is back")?;
                    }
                    if !is_stopped && self.is_over() {
                        return self.end(false);
                    }
                    due
                }
                Err(Stopped::Away(why)) => {
                    news = None;
                    if pause.is_none() {
                        self.say(&format!(
                            "{why}; workers go on, and this goes on when it is back"
                        ))?;
                    }
                    let next = pause.map_or(FIRST_PAUSE, |it| it * 2).min(LONGEST_PAUSE);
                    pause = Some(next);
                    Instant::now() + next
                }
                Err(Stopped::Failed(fail)) => return Err(fail),
            };
            if is_stopped {
                return self.end(true);
            }
            let hints = !self.is_taken && Instant::now() < hint;
            tokio::select! {
                input = self.front_end.input() => match input? {
                    Input::Answer(id, answer) => {
                        let by = self.surroundings.caller.ctx.actor.clone();
                        self.answers.push((id, Answered { answer, by, at: self.now() }));
                    }
                    Input::Stop => is_stopped = true,
                    Input::Draw => self.draw()?,
                },
                is_more = heard(news.as_mut()) => if !is_more { news = None },
                () = sleep_until(due) => {}
                () = sleep_until(hint), if hints => self.say_how_to_start()?,
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.surroundings.caller.around.now()
    }

    fn send(&mut self, event: Event<'_>) -> Result<(), Fail> {
        let now = self.now();
        self.front_end.event(event, &self.board, now)
    }

    fn draw(&mut self) -> Result<(), Fail> {
        let now = self.now();
        self.board.progress = self.plan.plan().progress();
        self.front_end.draw(&self.board, now)
    }

    fn say(&mut self, text: &str) -> Result<(), Fail> {
        let now = self.now();
        self.front_end.say(text, now)
    }

    fn say_how_to_start(&mut self) -> Result<(), Fail> {
        self.say("no worker has taken an item yet; `punchlist work` starts one")
    }

    /// Whether nothing is left that a worker could do and nobody is asked.
    fn is_over(&self) -> bool {
        let plan = self.plan.plan();
        plan.open == 0 || self.waiting.is_empty() && !is_under_way(plan, &self.tree)
    }

    /// Sends answers, then reads what has changed and shows it. Returns when to look again without news.
    async fn look(&mut self, news: &mut Option<News>) -> Result<Instant, Stopped> {
        let store = Arc::clone(&self.surroundings.store);
        if news.is_none() {
            // Before the plan is read, so that no change is missed.
            *news = Some(store.news().await?);
        }
        while let Some((id, answered)) = self.answers.first().cloned() {
            // If somebody else was faster, the update shows it.
            store.answer(id, answered).await?;
            self.answers.remove(0);
        }
        self.update().await
    }

    async fn update(&mut self) -> Result<Instant, Stopped> {
        let before = self.plan.plan().revision;
        let caught_up = self.plan.catch_up().await;
        self.is_stale |= self.plan.plan().revision != before;
        caught_up?;
        let before = self.plan.plan().revision;
        let put_back = self.put_back_lapsed().await;
        self.is_stale |= self.plan.plan().revision != before;
        put_back?;
        if self.is_stale {
            self.tree = Arc::new(Tree::of(self.plan.plan()));
            self.show_items().await?;
            (self.is_first, self.is_stale) = (false, false);
            let (plan, now) = (self.plan.plan(), self.surroundings.caller.around.now());
            self.front_end.event(Event::Plan(plan), &self.board, now)?;
        }
        self.show_questions().await?;
        self.draw()?;
        let far = Instant::now() + Duration::from_secs(60 * 60);
        Ok(lease_end(self.plan.plan(), self.now()).unwrap_or(far))
    }

    /// Puts items back whose worker has not renewed its lease, in case no worker is left to do so.
    async fn put_back_lapsed(&mut self) -> Result<(), Stopped> {
        let caller = &self.surroundings.caller;
        let now = caller.around.now();
        let gone = around::gone(&*caller.around, self.plan.plan());
        for item in lapsed(self.plan.plan(), now, &gone) {
            let ctx = prepare::ctx(caller, None);
            let ctx = Ctx { now, gone: gone.clone(), ids: caller.around.ids(now)?, ..ctx };
            let release = |plan: &Plan| {
                let is_lapsed = lapsed(plan, now, &gone).contains(&item);
                is_lapsed.then(|| Op::Release(ItemRef::Number(item))).into_iter().collect()
            };
            match self.plan.change(&ctx, release).await {
                // By the clock of the store, the lease has not ended yet.
                Ok(()) | Err(Error::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Shows the items that have changed.
    async fn show_items(&mut self) -> Result<(), Fail> {
        let plan = self.plan.plan().clone();
        if !self.board.has_rows_of(&plan) {
            let schedule = schedule(&plan, &self.tree);
            let (how, began) = self.board.how();
            self.board = Board::new(&plan, &self.tree, &schedule, how, began);
        }
        let is_first = self.is_first;
        for item in plan.listed().into_iter().filter(|it| !it.is_workers()) {
            let shown = Shown::of(item);
            if self.shown.get(&item.number) == Some(&shown) {
                continue;
            }
            self.is_taken |= shown == Shown::Running;
            let is_news = !is_first || !matches!(shown, Shown::Open | Shown::Done | Shown::Skipped);
            if is_news {
                self.show_item(&plan, item, &shown, is_first).await?;
            }
            self.shown.insert(item.number, shown);
        }
        Ok(())
    }

    async fn show_item(
        &mut self,
        plan: &Plan,
        item: &Item,
        shown: &Shown,
        is_first: bool,
    ) -> Result<(), Fail> {
        let output = if shown.has_ended() {
            let store = &*self.surroundings.store;
            let directory = self.surroundings.outputs();
            last_call::of(store, &directory, plan.id, item.number)
                .await?
                .map(|it| it.output().clone())
        } else {
            None
        };
        let output = output.unwrap_or_default();
        if *shown == Shown::Done
            && let Some(printed) = printed::of(&item.title, &output)
        {
            self.board.printed(item.number, printed);
        }
        if matches!(shown, Shown::Failed(_)) && !is_first {
            self.outputs.retain(|(number, _)| *number != item.number);
            self.outputs.push((item.number, output.clone()));
        }
        let now = self.now().as_millisecond();
        shown.put(&mut self.board, item, now);
        let text = shown.text(&output);
        match shown.event(item.number, &text) {
            Some(event) => self.send(event),
            None => Ok(()),
        }
    }

    /// Shows the questions that workers ask about this plan.
    async fn show_questions(&mut self) -> Result<(), Fail> {
        let id = self.plan.plan().id;
        let project = Some(self.plan.plan().project.clone());
        let filter = QuestionFilter { project, waiting: true, ..QuestionFilter::default() };
        let found = self.surroundings.store.questions(filter).await?;
        let is_of_plan = |it: &Question| it.plan == Some(id) && it.standing == Standing::Waiting;
        let open: BTreeMap<QuestionId, Asked> =
            found.into_iter().filter(is_of_plan).map(|it| (it.asked.id, it.asked)).collect();
        let gone: Vec<QuestionId> =
            self.waiting.keys().filter(|it| !open.contains_key(it)).copied().collect();
        for id in gone {
            let asked = self.waiting.remove(&id);
            if let Some(item) = asked.and_then(|it| it.item) {
                let now = self.now().as_millisecond();
                self.board.begins(item, now);
            }
            self.send(Event::Withdrawn(id))?;
        }
        for (id, asked) in open {
            if self.waiting.contains_key(&id) {
                continue;
            }
            self.waiting.insert(id, asked.clone());
            if let Some(item) = asked.item {
                let now = self.now().as_millisecond();
                self.board.asks(item, now);
                let what = asked.command.as_deref().unwrap_or(&asked.what);
                self.send(Event::Asked { item, what })?;
            }
            self.send(Event::Question(&asked))?;
        }
        Ok(())
    }

    fn end(mut self, is_stopped: bool) -> Result<Ended, Fail> {
        let now = self.now();
        self.board.progress = self.plan.plan().progress();
        self.send(Event::Over)?;
        let plan = self.plan.plan().clone();
        let mut notes = Vec::new();
        if is_stopped {
            notes.push(format!(
                "only the watching has ended: workers go on; `punchlist run {} --share` shows them again",
                self.source.name
            ));
        }
        let waits = plan.items.values().find(|it| {
            let is_ours =
                |on: &str| [claimed::FAILED, claimed::REFUSED, claimed::INTERRUPTED].contains(&on);
            it.is_open() && it.waiting_on.as_deref().is_some_and(is_ours)
        });
        if let Some(item) = waits {
            let name = plan.name.clone().unwrap_or_else(|| plan.id.short());
            notes.push(format!(
                "an item that waits for a person is tried again after `punchlist wait {} --over --plan {name}`",
                item.number
            ));
        }
        if self.options.write_back {
            notes.extend(end::write_back(self.source, &plan)?);
        }
        Ok(Ended {
            sum: self.board.sum(),
            aim: end::aim(&plan, now, self.surroundings.caller.person.reader()),
            plan,
            outputs: self.outputs,
            notes,
            is_idle: self.is_idle,
            is_stopped,
        })
    }
}
