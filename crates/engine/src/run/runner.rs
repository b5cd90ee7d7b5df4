//! The loop of a run: what the scheduler reports goes to the board and to the front end; what a person says
//! goes back to the scheduler.

use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use punchlist_model::call::{
    Answer, AnswerOutcome, Answered, Asked, News, QuestionFilter, RunRecord, Standing,
};
use punchlist_model::session::Store;
use punchlist_model::store::Change;
use punchlist_model::{Actor, Ctx, ItemRef, Mode, Number, Op, Plan, QuestionId, RunId, Timestamp};
use punchlist_sched::call::{CallError, CallId, CancelReason, Live, Outcome, Output, State};
use punchlist_sched::machine::Target;
use punchlist_sched::policy::{Policy, Rule};
use punchlist_sched::run::{self, Run};
use punchlist_streams::event::Outcome as Told;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

use super::board::Board;
use super::end::{self, Ended};
use super::file::Source;
use super::front_end::{Event, FrontEnd, Input};
use super::ledger::RunLedger;
use super::left::Late;
use super::lock::Lock;
use super::options::{Options, Permissions, Surroundings};
use super::prepare::{self, Prepared};
use super::schedule::{Schedule, Task, There, Tree};
use super::state::Shared;
use super::step::{self, BY_HAND, Resumed, SHELL};
use super::worker::Heard;
use super::{allow, printed, start, sub_lists, worker_session};
use crate::fail::{Code, Fail};
use crate::outputs;
use crate::policy::rules;

/// How often a run says that it still holds its items.
const RENEW: Duration = Duration::from_secs(240);

/// Works a prepared plan off.
pub(crate) async fn work(
    source: &Source,
    options: &Options,
    surroundings: &Surroundings,
    permissions: &Permissions,
    prepared: Prepared,
    lock: &Lock,
    front_end: &mut dyn FrontEnd,
) -> Result<Ended, Fail> {
    let Surroundings { store, caller, .. } = surroundings;
    let Prepared { plan, mut not, resumed, late, notes } = prepared;
    not.extend(prepare::unchecked(permissions, &plan, surroundings.caller.person.reader()));
    notes.iter().for_each(|it| front_end.warn(it));
    let tree = Arc::new(Tree::of(&plan));
    let chosen = prepare::chosen(&options.choice, &plan)?;
    let is_attended = caller.person.is_there || options.wait;
    let there = There { person: is_attended, yes: options.yes, answered: late.answered() };
    let schedule = Schedule::plot(&plan, &tree, &chosen, &there, &not);
    let begun = caller.around.now();
    let id = RunId(caller.around.ids(begun)?.nth(0));
    let ctx = prepare::ctx(caller, caller.process.clone());
    let record = RunRecord {
        id,
        project: plan.project.clone(),
        plan: Some(plan.id),
        what: source.path.to_string_lossy().into_owned(),
        process: caller.process.clone(),
        begun_at: begun,
        ended_at: None,
    };
    let printed = printed::earlier(&**store, &surroundings.outputs(), &plan, &schedule).await?;
    store.begin_run(record).await?;
    let jobs = options.jobs.get();
    let how = vec![
        if jobs == 1 { "1 job".to_owned() } else { format!("{jobs} jobs") },
        format!("plan {}", plan.id.short()),
    ];
    let board = Board::new(&plan, &tree, &schedule, how, begun.as_millisecond());
    let spots = source.spots(&plan);
    let shared = Shared::new(plan);
    let items: Arc<Vec<Number>> = Arc::new(schedule.planned.iter().map(|it| it.number).collect());
    let ledger = RunLedger {
        store: Arc::clone(store),
        around: Arc::clone(&caller.around),
        run: id,
        plan: source.plan(),
        items: Arc::clone(&items),
        tree,
        shared: shared.clone(),
        ctx: ctx.clone(),
        spots,
        printed,
    };
    let (tell, heard) = unbounded_channel();
    let runner = Runner {
        source,
        options,
        surroundings,
        front_end,
        run: id,
        shared,
        heard,
        board,
        items,
        schedule,
        ctx,
        late,
        is_attended,
        policy: permissions.steps.clone(),
        waiting: Vec::new(),
        stopping: 0,
        outputs: Vec::new(),
        listed: None,
    };
    let place = runner.place(&resumed, tell);
    runner.run(place, lock, ledger).await
}

/// A run under way.
struct Runner<'a> {
    source: &'a Source,
    options: &'a Options,
    surroundings: &'a Surroundings,
    front_end: &'a mut dyn FrontEnd,
    run: RunId,
    shared: Shared,
    /// What is heard of workers.
    heard: UnboundedReceiver<Heard>,
    board: Board,
    /// The item of each call.
    items: Arc<Vec<Number>>,
    schedule: Schedule,
    ctx: Ctx,
    /// What was asked by runs that are gone.
    late: Late,
    /// Somebody answers, here or elsewhere.
    is_attended: bool,
    /// The rules as they were when the run began.
    policy: Policy,
    /// Questions that wait, the oldest first.
    waiting: Vec<Asked>,
    /// How often somebody wanted it to stop.
    stopping: u32,
    /// What failed items said.
    outputs: Vec<(Number, Output)>,
    /// The revision of the list that was told last.
    listed: Option<u64>,
}

impl Runner<'_> {
    fn place(
        &self,
        resumed: &BTreeMap<Number, Resumed>,
        tell: UnboundedSender<Heard>,
    ) -> step::Place {
        let jobs = {
            let known = self.shared.lock();
            let person = self.surroundings.caller.person;
            start::jobs(&self.schedule, &known.plan, resumed, person)
        };
        let (state, policy) = ((self.shared.clone(), tell), self.policy.clone());
        start::place(self.source, self.run, jobs, state, &self.ctx, policy, self.surroundings)
    }

    async fn run(
        mut self,
        place: step::Place,
        lock: &Lock,
        ledger: RunLedger,
    ) -> Result<Ended, Fail> {
        let plan = self.shared.lock().plan.clone();
        let is_attended = self.is_attended || self.options.yes;
        let attended = start::attended(is_attended, &self.schedule, &self.late.answered());
        let (jobs, policy) = (self.options.jobs.get(), self.policy.clone());
        let options = start::options(jobs, policy, attended, self.run, self.surroundings)?;
        let run = Run::builder(start::tools(&place)?)
            .options(options)
            .processes(start::processes(lock, self.surroundings))
            .ledger(ledger)
            .start();
        let mut events = run.subscribe();
        let mut news: Option<News> = None;
        self.begin(&plan).await?;
        if !self.schedule.planned.is_empty() {
            let requests = start::requests(self.options.on_failure, &self.schedule, &plan);
            for (item, it) in Arc::clone(&self.items).iter().zip(&requests) {
                let (tool, arguments) = (&*it.tool, &it.arguments);
                self.tell(Event::Planned { item: *item, tool, arguments })?;
            }
            // If the run is over already, its error is told below.
            drop(run.schedule(start::batch(&self.schedule, requests)).await);
            let mut renew = Instant::now() + RENEW;
            loop {
                // What others write is news only to who waits for an answer. A run hears its own
                // changes as well, so nobody listens while nothing is asked.
                if self.waiting.is_empty() {
                    news = None;
                } else if news.is_none() {
                    news = Some(self.store().news().await?);
                    self.look(&run).await?;
                }
                tokio::select! {
                    event = events.next() => {
                        // What a worker said comes before how its call ended.
                        while let Ok(heard) = self.heard.try_recv() {
                            self.hear(heard).await?;
                        }
                        match event {
                            Some(run::Event::BatchDone(_)) | None => break,
                            Some(event) => self.happened(event, &run).await?,
                        }
                    }
                    Some(heard) = self.heard.recv() => self.hear(heard).await?,
                    input = self.front_end.input() => self.input(input?, &run).await?,
                    () = is_told(news.as_mut()) => self.look(&run).await?,
                    () = sleep_until(renew) => {
                        renew = Instant::now() + RENEW;
                        self.renew().await?;
                    }
                }
            }
        }
        run.shut_down(CancelReason::Asked(None));
        let ended = run.ended().await;
        self.end(ended).await
    }

    fn store(&self) -> &dyn Store {
        &*self.surroundings.store
    }

    fn now(&self) -> Timestamp {
        self.surroundings.caller.around.now()
    }

    /// The same author, now.
    fn ctx_now(&self) -> Result<Ctx, Fail> {
        let now = self.now();
        let ids = self.surroundings.caller.around.ids(now)?;
        Ok(Ctx { now, ids, ..self.ctx.clone() })
    }

    fn tell(&mut self, event: Event<'_>) -> Result<(), Fail> {
        let now = self.now();
        self.front_end.event(event, &self.board, now)
    }

    /// What is told before anything has happened.
    async fn begin(&mut self, plan: &Plan) -> Result<(), Fail> {
        let tree = Tree::of(plan);
        let idle = tree.idle(plan);
        if !idle.is_empty() {
            // Everything under these was ticked off by hand.
            let done = |it: &Number| Op::Complete {
                item: ItemRef::Number(*it),
                outcome: None,
                with_children: false,
            };
            let change = Change::new(idle.iter().map(done).collect::<Vec<_>>(), self.ctx.clone());
            self.store().change(plan.id, change).await?;
            let whole = self.store().whole(plan.id).await?;
            self.shared.lock().plan = whole;
            let now = self.now().as_millisecond();
            idle.iter().for_each(|it| self.board.done(*it, None, now));
        }
        let (directory, name) = (self.source.directory(), &*self.source.name);
        self.tell(Event::Begins { run: self.run, directory, name })?;
        self.list()?;
        let held: Vec<Number> = self.schedule.held.keys().copied().collect();
        for item in held {
            self.tell(Event::Held(item))?;
        }
        self.draw()
    }

    fn item(&self, call: CallId) -> Option<Number> {
        self.items.get(usize::try_from(call.0).ok()?).copied()
    }

    fn title(&self, call: CallId) -> String {
        let known = self.shared.lock();
        let item = self.item(call).and_then(|it| known.plan.get(it));
        item.map(|it| it.title.clone()).unwrap_or_default()
    }

    async fn happened(&mut self, event: run::Event, run: &Run) -> Result<(), Fail> {
        match event {
            run::Event::Moved { call, state } => {
                if let Some(item) = self.item(call) {
                    self.moved(item, state)?;
                }
                self.list()
            }
            run::Event::Asked(asked) => self.asked(&asked, run).await,
            run::Event::Output { call, line, .. } => {
                if let Some(item) = self.item(call) {
                    self.board.says(item, &line.text);
                    let title = self.title(call);
                    self.tell(Event::Printed { title: &title, line: &line.text })?;
                }
                Ok(())
            }
            run::Event::Lost { lines } => self.tell(Event::Lost(lines)),
            run::Event::BatchDone(_) => Ok(()),
        }
    }

    fn moved(&mut self, item: Number, state: State) -> Result<(), Fail> {
        let now = self.now().as_millisecond();
        match state {
            State::Live(Live::Validating { .. } | Live::AwaitingApproval { .. }) => Ok(()),
            State::Live(Live::Scheduled { again_at: Some(at), .. }) => {
                let wait = at.as_millisecond().saturating_sub(now).max(0) / 1_000;
                self.board.waits(item, &format!("failed; tried again in {wait} s"));
                self.tell(Event::Retries(item))
            }
            State::Live(Live::Scheduled { again_at: None, .. }) => {
                self.tell(Event::Scheduled(item))
            }
            State::Live(Live::Executing { stopping: Some(_), .. }) => {
                self.board.says(item, "stopping");
                self.tell(Event::Stops(item))
            }
            State::Live(Live::Executing { stopping: None, .. }) => {
                self.board.begins(item, now);
                self.tell(Event::Starts(item))
            }
            State::Done(outcome) => {
                let (status, text) = self.ended(item, &outcome, now);
                self.tell(Event::Completed { item, status, text: &text })
            }
        }
    }

    /// An item's call has ended. Says how, and what is to be told of it.
    fn ended(&mut self, item: Number, outcome: &Outcome, now: i64) -> (Told, String) {
        match outcome {
            Outcome::Success(output) => {
                let known = self.shared.lock();
                let (done, parents) = (known.plan.get(item), end::closed_above(&known.plan, item));
                let level = done.and_then(|it| it.evidence_level());
                let title = done.map(|it| it.title.clone()).unwrap_or_default();
                drop(known);
                let printed = printed::of(&title, output);
                printed.into_iter().for_each(|it| self.board.printed(item, it));
                if output.whole.is_some() {
                    outputs::tidy(&self.surroundings.outputs(), self.now());
                }
                self.board.done(item, level, now);
                parents.into_iter().for_each(|it| self.board.done(it, None, now));
                (Told::Success, output.text.clone())
            }
            Outcome::Error(error) => self.erred(item, error, now),
            Outcome::Cancelled { reason: CancelReason::Refused(reason), .. }
                if !self.is_by_hand(item) =>
            {
                self.board.refused(item, reason.clone(), now);
                (Told::Cancelled, CancelReason::Refused(reason.clone()).to_string())
            }
            Outcome::Cancelled { reason, output } => {
                let words = match reason {
                    // To say that it is not done yet is no refusal.
                    CancelReason::Refused(said) => {
                        said.clone().unwrap_or_else(|| "not done yet".to_owned())
                    }
                    CancelReason::Dependency(call) => format!("after {}", self.title(*call)),
                    CancelReason::Halted(call) => {
                        format!("not begun: {} failed", self.title(*call))
                    }
                    CancelReason::Beside(call) => {
                        format!("stopped: {} was refused", self.title(*call))
                    }
                    CancelReason::Declined(_) | CancelReason::Interrupted => reason.to_string(),
                    CancelReason::Asked(why) => why.clone().unwrap_or_else(|| "stopped".to_owned()),
                };
                self.board.left(item, words.clone(), now);
                (Told::Cancelled, with_output(words, output.as_deref()))
            }
        }
    }

    /// Whether it is a person who does an item.
    fn is_by_hand(&self, item: Number) -> bool {
        let task = self.schedule.planned.iter().find(|it| it.number == item).map(|it| &it.task);
        task == Some(&Task::ByHand)
    }

    fn erred(&mut self, item: Number, error: &CallError, now: i64) -> (Told, String) {
        let words = error.to_string();
        let output = match error {
            CallError::Failed { output, .. } | CallError::TimedOut { output, .. } => {
                (**output).clone()
            }
            CallError::NobodyToAsk(_) => {
                self.board.left(item, words.clone(), now);
                return (Told::Error, words);
            }
            CallError::Denied(rule) => {
                self.board.denied(item, rule, now);
                return (Told::Error, words);
            }
            CallError::Invalid(_)
            | CallError::Unknown(_)
            | CallError::Forgotten(_)
            | CallError::Circle(_)
            | CallError::Panicked(_) => Output::default(),
        };
        self.board.failed(item, &words, output.whole.clone(), now);
        self.outputs.push((item, output.clone()));
        (Told::Error, with_output(words, Some(&output)))
    }

    /// Writes down what was heard of an agent: its session, and its own list under the item that it is at.
    async fn hear(&mut self, heard: Heard) -> Result<(), Fail> {
        let shared = self.shared.clone();
        let _turn = shared.turn().await;
        let (item, agent, mut ops) = {
            let mut known = self.shared.lock();
            let agent = |item: Number| {
                known.plan.get(item).and_then(|it| it.agent_type.clone()).unwrap_or_default()
            };
            match heard {
                Heard::Note(note) => {
                    known.notes.push(note);
                    return Ok(());
                }
                Heard::Session(item, session) => {
                    (item, agent(item), vec![worker_session::noted(item, &session)])
                }
                Heard::List(item, list) => {
                    let agent = agent(item);
                    let ops = sub_lists::ops(&known.plan, item, &agent, &list);
                    (item, agent, ops)
                }
            }
        };
        let plan = self.source.plan();
        while !ops.is_empty() {
            // The run holds what its worker has begun: if it is killed, both are free again.
            let actor = Actor::agent(agent.clone());
            let ctx = Ctx { actor, mode: Mode::Recorded, ..self.ctx_now()? };
            self.store().change(plan, Change::new(ops, ctx)).await?;
            let whole = self.store().whole(plan).await?;
            // The item may have ended meanwhile. Whatever this comes to, it comes to nothing again.
            ops = sub_lists::overtaken(&whole, item, &agent);
            let mut known = self.shared.lock();
            // What the run itself has written since is not lost: it reads anew when it sees a gap.
            if whole.revision > known.plan.revision {
                known.plan = whole;
            }
        }
        self.list()
    }

    /// Tells the front end the plan, if it is another than the last one.
    fn list(&mut self) -> Result<(), Fail> {
        let now = self.now();
        let known = self.shared.lock();
        let revision = known.plan.revision.0;
        if self.listed.replace(revision) == Some(revision) {
            return Ok(());
        }
        self.front_end.event(Event::Plan(&known.plan), &self.board, now)
    }

    async fn asked(&mut self, asked: &Asked, run: &Run) -> Result<(), Fail> {
        let Some(item) = self.item(CallId(asked.call)) else { return Ok(()) };
        let (id, now) = (asked.id, self.now());
        self.board.asks(item, now.as_millisecond());
        let what = asked.command.as_deref().unwrap_or(&asked.what);
        self.tell(Event::Asked { item, what })?;
        let filter = QuestionFilter { run: Some(self.run), ..QuestionFilter::default() };
        let known = self.store().questions(filter).await?;
        let Some(question) = known.into_iter().find(|it| it.asked.id == id) else { return Ok(()) };
        let late = self.late.take(&*self.surroundings.store, &question.asked, now).await?;
        self.waiting.push(question.asked.clone());
        // Who says yes to everything now has said so last.
        if self.options.yes && asked.tool != BY_HAND {
            return self.say(id, Answer::Once, run).await;
        }
        if let Some(mut answered) = late {
            answered.answer = allow::alone(answered.answer);
            return self.give(id, answered, run).await;
        }
        if !self.is_attended {
            // Somebody has answered, but something else than what is asked now.
            let why = "nobody is there to be asked, and what was answered was another question";
            let reason = CancelReason::Declined(why.to_owned());
            run.cancel(Target::Call(CallId(asked.call)), reason).await.ok();
            return Ok(());
        }
        self.tell(Event::Question(&question.asked))?;
        // Somebody may have answered already; nobody else tells the scheduler.
        self.stands(id, question.standing, run).await
    }

    async fn input(&mut self, input: Input, run: &Run) -> Result<(), Fail> {
        match input {
            Input::Answer(id, answer) => self.say(id, answer, run).await,
            Input::Stop => self.stop(run).await,
            Input::Draw => self.draw(),
        }
    }

    /// The person at the front end answers: it is written down first, as anybody's answer is.
    async fn say(&mut self, id: QuestionId, answer: Answer, run: &Run) -> Result<(), Fail> {
        let answered = Answered { answer, by: self.ctx.actor.clone(), at: self.now() };
        self.give(id, answered, run).await
    }

    /// An answer is written down, whoever gave it, and counts.
    async fn give(&mut self, id: QuestionId, answered: Answered, run: &Run) -> Result<(), Fail> {
        match self.store().answer(id, answered.clone()).await? {
            AnswerOutcome::Taken(_) => self.heard(id, &answered, run).await,
            // Somebody else was first.
            AnswerOutcome::Late(question) => self.stands(id, question.standing, run).await,
            AnswerOutcome::NotOffered(_) => Ok(()),
        }
    }

    /// Looks for answers that were given elsewhere.
    async fn look(&mut self, run: &Run) -> Result<(), Fail> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let filter = QuestionFilter { run: Some(self.run), ..QuestionFilter::default() };
        for question in self.store().questions(filter).await? {
            if self.waiting.iter().any(|it| it.id == question.asked.id) {
                self.stands(question.asked.id, question.standing, run).await?;
            }
        }
        Ok(())
    }

    /// How a question stands was looked up.
    async fn stands(&mut self, id: QuestionId, standing: Standing, run: &Run) -> Result<(), Fail> {
        match standing {
            Standing::Waiting => Ok(()),
            Standing::Settled => {
                self.settle(id);
                self.tell(Event::Withdrawn(id))
            }
            Standing::Answered(answered) => self.heard(id, &answered, run).await,
        }
    }

    /// A question that waits no longer. Returns what it was.
    fn settle(&mut self, id: QuestionId) -> Option<Asked> {
        let at = self.waiting.iter().position(|it| it.id == id)?;
        Some(self.waiting.remove(at))
    }

    /// An answer counts: the scheduler is told.
    async fn heard(&mut self, id: QuestionId, answered: &Answered, run: &Run) -> Result<(), Fail> {
        let asked = self.settle(id);
        let item = asked.as_ref().and_then(|it| it.item);
        let tool = asked.as_ref().map_or_else(|| SHELL.to_owned(), |it| it.tool.clone());
        if let Some(asked) = &asked {
            let is_by_other = answered.by != self.ctx.actor;
            self.tell(Event::Answered { asked, answered, is_by_other })?;
        }
        let mut answer = answered.answer.clone();
        if let (Answer::Modify(arguments), Some(item)) = (&mut answer, item) {
            // Another command may be run for the item, but not another item's.
            step::keep_item(arguments, item);
            self.tell(Event::Changed { item, arguments })?;
        }
        self.remember(&answer, &self.policy.rules_of(&answer, &tool))?;
        // A run that is over says so at the end.
        run.answer(id, answer, Some(answered.by.clone())).await.ok();
        Ok(())
    }

    /// "Always" holds for later runs too: the rules go into the user's own file.
    fn remember(&mut self, answer: &Answer, rules: &[Rule]) -> Result<(), Fail> {
        if rules.is_empty() || matches!(answer, Answer::Session(_)) {
            return Ok(());
        }
        let path = &self.surroundings.rules_file;
        match rules::remember(path, rules) {
            Ok(true) => {
                let what = if rules.len() == 1 { "a rule" } else { "rules" };
                let text = format!("from now on allowed by {what} in {}", path.display());
                self.front_end.say(&text, self.now())
            }
            Ok(false) => Ok(()),
            Err(why) => {
                let note = format!("what you allowed holds for this run alone: {why}");
                self.shared.lock().notes.push(note);
                Ok(())
            }
        }
    }

    async fn stop(&mut self, run: &Run) -> Result<(), Fail> {
        self.stopping += 1;
        if self.stopping > 1 {
            // The guardian ends what runs as soon as we are gone.
            return Err(Fail::new(Code::Interrupted, "stopped at once")
                .hint("run it again to go on; what was under way is verified or asked about."));
        }
        self.draw()?;
        let reason = CancelReason::Asked(Some("stopped".to_owned()));
        // A run that is over has nothing left to stop.
        run.cancel(Target::All, reason).await.ok();
        Ok(())
    }

    /// Says that the items in progress are still held.
    async fn renew(&mut self) -> Result<(), Fail> {
        let begun: Vec<Number> = self.shared.lock().begun.iter().copied().collect();
        if begun.is_empty() {
            return Ok(());
        }
        let ops: Vec<_> = begun.into_iter().map(|it| Op::Start(ItemRef::Number(it))).collect();
        let change = Change::new(ops, self.ctx_now()?);
        // Should somebody have taken one meanwhile, that shows when it ends.
        drop(self.store().change(self.source.plan(), change).await);
        Ok(())
    }

    fn draw(&mut self) -> Result<(), Fail> {
        let now = self.now();
        self.board.progress = self.shared.lock().plan.progress();
        self.front_end.draw(&self.board, now)
    }

    /// Everything has ended: what is left is to say so.
    async fn end(mut self, ended: Result<(), run::Error>) -> Result<Ended, Fail> {
        let now = self.now();
        self.board.progress = self.shared.lock().plan.progress();
        self.tell(Event::Over)?;
        ended.map_err(|why| end::broken(&why))?;
        self.store().end_run(self.run, now).await?;
        let directory = self.surroundings.outputs();
        outputs::ended(&directory, self.run);
        outputs::tidy(&directory, now);
        self.list()?;
        let (plan, mut notes) = {
            let mut known = self.shared.lock();
            (known.plan.clone(), std::mem::take(&mut known.notes))
        };
        if self.options.write_back {
            notes.extend(end::write_back(self.source, &plan)?);
        }
        Ok(Ended {
            sum: self.board.sum(),
            aim: end::aim(&plan, now, self.surroundings.caller.person.reader()),
            plan,
            outputs: self.outputs,
            notes,
            is_idle: self.items.is_empty(),
            is_stopped: self.stopping > 0,
        })
    }
}

/// When there is news, or never.
async fn is_told(news: Option<&mut News>) {
    match news {
        Some(news) => drop(poll_fn(|context| news.as_mut().poll_next(context)).await),
        None => pending().await,
    }
}

/// How a call ended, and below it what it said.
fn with_output(words: String, output: Option<&Output>) -> String {
    match output.filter(|it| !it.text.is_empty()) {
        Some(output) => format!("{words}\n{}", output.text),
        None => words,
    }
}
