//! The loop of a run: what the scheduler tells goes to the board and from there to the faces; what a
//! person says goes back.

use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use punchlist_formats::view::{Options, questions};
use punchlist_model::call::{
    Answer, AnswerOutcome, Answered, Asked, CallStore, News, QuestionFilter, RunRecord, Standing,
};
use punchlist_model::needs::Needs;
use punchlist_model::store::{Change, PlanStore};
use punchlist_model::{Actor, Ctx, ItemRef, Mode, Number, Op, QuestionId, RunId};
use punchlist_sched::call::{CallError, CallId, CancelReason, Live, Outcome, Output, State};
use punchlist_sched::machine::Target;
use punchlist_sched::policy::{Policy, Rule};
use punchlist_sched::run::{self, Event, Run};
use punchlist_store::Threaded;
use punchlist_streams::event::Outcome as Told;
use tokio::time::{Instant, sleep_until};

use super::allow;
use super::board::Board;
use super::book::Book;
use super::course::{Course, Task, There, Tree};
use super::file::Source;
use super::known::Shared;
use super::left::Late;
use super::lock::Lock;
use super::prepare::{self, Prepared};
use super::prompt::{Pressed, Prompt};
use super::show::Show;
use super::step::{self, BY_HAND, Resumed, SHELL};
use super::told::Teller;
use super::wake::{self, Signals, Sort};
use super::{Ask, Person, end, nest, printed, session, start};
use crate::app::App;
use crate::error::{Code, Fail};
use crate::keys::Decoder;
use crate::print::{self, Reply};
use crate::{clock, identity, outputs, person, places, project};

/// How often the picture is drawn at most, and how often its clocks tick.
const FRAME: Duration = Duration::from_millis(50);
const TICK: Duration = Duration::from_secs(1);
/// How often a run says that it still holds its items.
const RENEW: Duration = Duration::from_secs(240);

/// Works a prepared plan off.
#[expect(
    clippy::too_many_arguments,
    reason = "everything that was found out before, handed over once"
)]
pub(super) fn work(
    app: &App,
    ask: &Ask,
    source: &Source,
    store: Arc<Threaded>,
    prepared: Prepared,
    person: Person,
    jobs: u32,
    lock: &Lock,
) -> Result<Reply, Fail> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| Fail::ours(format!("nothing can be run: {why}")))?;
    let Prepared { plan, mut not, resumed, late, notes } = prepared;
    not.extend(prepare::unchecked(app, &plan)?);
    print::notes(&notes, app.globals.json);
    let tree = Arc::new(Tree::of(&plan));
    let chosen = prepare::chosen(ask, &plan)?;
    let is_attended = person.is_there || ask.wait;
    let there = There { person: is_attended, yes: ask.yes, answered: late.answered() };
    let course = Course::plot(&plan, &tree, &chosen, &there, &not);
    let begun = clock::now();
    let id = RunId(clock::ids(begun)?.nth(0));
    let process = identity::process();
    let ctx = prepare::ctx(app, process.clone())?;
    let record = RunRecord {
        id,
        project: plan.project.clone(),
        plan: Some(plan.id),
        what: source.path.to_string_lossy().into_owned(),
        process,
        begun_at: begun,
        ended_at: None,
    };
    let printed = printed::earlier(&*store, &plan, &course)?;
    runtime.block_on(async {
        store.begin_run(record).await?;
        let how = vec![
            if jobs == 1 { "1 job".to_owned() } else { format!("{jobs} jobs") },
            format!("plan {}", plan.id.short()),
        ];
        let board = Board::new(&plan, &tree, &course, how, begun.as_millisecond());
        let shared = Shared::new(plan);
        shared.lock().printed = printed;
        let items: Arc<Vec<Number>> = Arc::new(course.planned.iter().map(|it| it.number).collect());
        let book = Book {
            store: Arc::clone(&store),
            run: id,
            plan: source.plan(),
            items: Arc::clone(&items),
            tree,
            shared: shared.clone(),
            ctx: ctx.clone(),
            spots: source.spots(&shared.lock().plan),
        };
        let file = places::config().map(|it| it.display().to_string()).unwrap_or_default();
        let project = project::find(source.directory())?.name;
        let engine = Engine {
            ask,
            source,
            store,
            run: id,
            shared,
            board,
            items,
            course,
            ctx,
            teller: Teller::new(id),
            late,
            is_attended,
            policy: app.policy_in(source.directory())?,
            prompt: Prompt::new(file, project),
            keys: Decoder::default(),
            show: Show::open(app, ask.verbose)?,
            stopping: 0,
            outputs: Vec::new(),
            listed: None,
            is_dirty: true,
        };
        engine.run(person, jobs, lock, resumed, book).await
    })
}

/// A run under way.
struct Engine<'a> {
    ask: &'a Ask,
    source: &'a Source,
    store: Arc<Threaded>,
    run: RunId,
    shared: Shared,
    board: Board,
    /// The item of each call.
    items: Arc<Vec<Number>>,
    course: Course,
    ctx: Ctx,
    teller: Teller,
    /// What was asked by runs that are gone.
    late: Late,
    /// Somebody answers, here or elsewhere.
    is_attended: bool,
    /// The rules as they were when the run began.
    policy: Policy,
    prompt: Prompt,
    /// Makes keys of what the terminal sends.
    keys: Decoder,
    show: Show,
    /// How often somebody wanted it to stop.
    stopping: u32,
    /// What failed items said.
    outputs: Vec<(Number, Output)>,
    /// The revision of the list that was told last.
    listed: Option<u64>,
    /// Something has changed since the last picture.
    is_dirty: bool,
}

impl Engine<'_> {
    async fn run(
        mut self,
        person: Person,
        jobs: u32,
        lock: &Lock,
        resumed: BTreeMap<Number, Resumed>,
        book: Book<Threaded>,
    ) -> Result<Reply, Fail> {
        let plan = self.shared.lock().plan.clone();
        let work = start::jobs(&self.course, &plan, &resumed, person);
        let policy = self.policy.clone();
        let (shared, store) = (self.shared.clone(), Arc::clone(&self.store));
        let place =
            start::place(self.source, self.run, work, shared, &self.ctx, policy.clone(), store);
        let is_attended = self.is_attended || self.ask.yes;
        let attended = start::attended(is_attended, &self.course, &self.late.answered());
        let options = start::options(jobs, policy, attended, person, self.run)?;
        let run = Run::builder(start::tools(&place)?)
            .options(options)
            .processes(start::processes(lock)?)
            .ledger(book)
            .start();
        let mut events = run.subscribe();
        let mut signals = Signals::hear()?;
        let mut keys = wake::keys(self.show.keyboard());
        let mut news: Option<News> = None;
        self.begin(&plan).await?;
        if !self.course.planned.is_empty() {
            let requests = start::requests(self.ask.on_failure, &self.course, &plan);
            for (item, it) in self.items.iter().zip(&requests) {
                self.teller.knows(*item, &it.tool, &it.arguments);
            }
            // If the run is over already, its error is told below.
            drop(run.schedule(start::batch(&self.course, requests)).await);
            let mut renew = Instant::now() + RENEW;
            let mut drawn = Instant::now();
            loop {
                // What others write is news only to who waits for an answer. A run hears its own
                // changes as well, so nobody listens while nothing is asked.
                if self.prompt.is_empty() {
                    news = None;
                } else if news.is_none() {
                    news = Some(self.store.news().await?);
                    self.look(&run).await?;
                }
                let pause = if self.is_dirty { FRAME } else { TICK };
                let next_frame = self.show.is_live().then(|| drawn + pause);
                tokio::select! {
                    event = events.next() => match event {
                        Some(Event::BatchDone(_)) | None => break,
                        Some(event) => self.happened(event, &run).await?,
                    },
                    sort = signals.next() => self.signal(sort, &run).await?,
                    Some(key) = keys.recv() => self.key(&key, &run).await?,
                    () = heard(news.as_mut()) => self.look(&run).await?,
                    () = at(next_frame) => {
                        drawn = Instant::now();
                        self.draw(true)?;
                    }
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

    /// What is told before anything has happened.
    async fn begin(&mut self, plan: &punchlist_model::Plan) -> Result<(), Fail> {
        let now = clock::now();
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
            self.store.change(plan.id, change).await?;
            let whole = self.store.read(plan.id, Needs::whole()).await?;
            self.shared.lock().plan = whole;
            idle.iter().for_each(|it| self.board.done(*it, None, now.as_millisecond()));
        }
        "Ctrl-C stops; run again to go on".clone_into(&mut self.board.hint);
        let mut lines = Vec::new();
        let cwd = self.source.directory().to_string_lossy().into_owned();
        self.teller.begins(&cwd, &self.source.name, now.as_millisecond(), &mut lines);
        self.show.events(lines)?;
        self.list()?;
        let held: Vec<Number> = self.course.held.keys().copied().collect();
        for item in held {
            self.show.moved(&self.board, item, now)?;
        }
        self.draw(true)
    }

    fn item(&self, call: CallId) -> Option<Number> {
        self.items.get(usize::try_from(call.0).ok()?).copied()
    }

    fn title(&self, call: CallId) -> String {
        let known = self.shared.lock();
        let item = self.item(call).and_then(|it| known.plan.get(it));
        item.map(|it| it.title.clone()).unwrap_or_default()
    }

    async fn happened(&mut self, event: Event, run: &Run) -> Result<(), Fail> {
        self.is_dirty = true;
        match event {
            Event::Moved { call, state } => {
                if let Some(item) = self.item(call) {
                    self.moved(item, state)?;
                }
                self.list()
            }
            Event::Asked(asked) => self.asked(&asked, run).await,
            Event::Output { call, line, .. } => {
                if let Some(item) = self.item(call) {
                    self.board.says(item, &line.text);
                    let title = self.title(call);
                    self.show.printed(&title, &line.text, clock::now())?;
                    self.nest(item).await?;
                }
                Ok(())
            }
            Event::Lost { lines } => {
                let text =
                    format!("{lines} lines came too fast; `punchlist show N --output` has them");
                self.show.printed("…", &text, clock::now())
            }
            Event::BatchDone(_) => Ok(()),
        }
    }

    fn moved(&mut self, item: Number, state: State) -> Result<(), Fail> {
        let now = clock::now();
        let ms = now.as_millisecond();
        let mut lines = Vec::new();
        match state {
            State::Live(Live::Validating { .. } | Live::AwaitingApproval { .. }) => return Ok(()),
            State::Live(Live::Scheduled { again_at: Some(at), .. }) => {
                let wait = at.as_millisecond().saturating_sub(ms).max(0) / 1_000;
                self.board.waits(item, &format!("failed; tried again in {wait} s"));
                self.show.moved(&self.board, item, now)?;
            }
            State::Live(Live::Scheduled { again_at: None, .. }) => {
                self.teller.scheduled(item, ms, &mut lines);
            }
            State::Live(Live::Executing { stopping: Some(_), .. }) => {
                self.board.says(item, "stopping");
            }
            State::Live(Live::Executing { stopping: None, .. }) => {
                self.board.begins(item, ms);
                self.show.moved(&self.board, item, now)?;
                self.teller.started(item, ms, &mut lines);
            }
            State::Done(outcome) => {
                let (status, said) = self.ended(item, &outcome, ms);
                self.show.moved(&self.board, item, now)?;
                self.teller.completed(item, status, &said, ms, &mut lines);
            }
        }
        self.show.events(lines)
    }

    /// An item's call has ended. Says how, and what is to be told of it.
    fn ended(&mut self, item: Number, outcome: &Outcome, now: i64) -> (Told, String) {
        match outcome {
            Outcome::Success(output) => {
                let known = self.shared.lock();
                let level = known.plan.get(item).and_then(|it| it.evidence_level());
                let parents: Vec<Number> = end::closed_above(&known.plan, item);
                let printed = known.printed.get(&item).cloned();
                drop(known);
                printed.into_iter().for_each(|it| self.board.printed(item, it));
                if output.whole.is_some() {
                    outputs::tidy();
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
        let task = self.course.planned.iter().find(|it| it.number == item).map(|it| &it.task);
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

    /// Keeps what an agent has on its own list under the item that it is at, as it was heard, and whose
    /// session it is.
    async fn nest(&mut self, item: Number) -> Result<(), Fail> {
        let shared = self.shared.clone();
        let _turn = shared.turn().await;
        let (mut ops, agent) = {
            let mut known = self.shared.lock();
            let session = known.sessions.remove(&item).map(|it| session::noted(item, &it));
            let list = known.lists.remove(&item);
            if session.is_none() && list.is_none() {
                return Ok(());
            }
            let agent = known.plan.get(item).and_then(|it| it.agent_type.clone());
            let agent = agent.unwrap_or_default();
            let ops = list.map(|it| nest::ops(&known.plan, item, &agent, &it)).unwrap_or_default();
            (ops.into_iter().chain(session).collect::<Vec<_>>(), agent)
        };
        let plan = self.source.plan();
        while !ops.is_empty() {
            let now = clock::now();
            let (actor, ids) = (Actor::agent(agent.clone()), clock::ids(now)?);
            // The run holds what its worker has begun: if it is killed, both are free again.
            let ctx = Ctx { now, ids, actor, mode: Mode::Recorded, ..self.ctx.clone() };
            self.store.change(plan, Change::new(ops, ctx)).await?;
            let whole = self.store.read(plan, Needs::whole()).await?;
            // The item may have ended meanwhile. Whatever this comes to, it comes to nothing again.
            ops = nest::overtaken(&whole, item, &agent);
            let mut known = self.shared.lock();
            // What the run itself has written since is not lost: it reads anew when it sees a gap.
            if whole.revision > known.plan.revision {
                known.plan = whole;
            }
        }
        self.list()
    }

    /// Tells programs the list, if it is another than the last one.
    fn list(&mut self) -> Result<(), Fail> {
        if !self.show.is_for_programs() {
            return Ok(());
        }
        let mut lines = Vec::new();
        {
            let known = self.shared.lock();
            if self.listed.replace(known.plan.revision.0) != Some(known.plan.revision.0) {
                self.teller.list(&known.plan, &mut lines);
            }
        }
        self.show.events(lines)
    }

    async fn asked(&mut self, asked: &Asked, run: &Run) -> Result<(), Fail> {
        let Some(item) = self.item(CallId(asked.call)) else { return Ok(()) };
        let now = clock::now();
        self.board.asks(item, now.as_millisecond());
        self.show.moved(&self.board, item, now)?;
        let id = asked.id;
        let mut lines = Vec::new();
        let what = asked.command.as_deref().unwrap_or(&asked.what);
        self.teller.asks(item, what, now.as_millisecond(), &mut lines);
        self.show.events(lines)?;
        let filter = QuestionFilter { run: Some(self.run), ..QuestionFilter::default() };
        let known = self.store.questions(filter).await?;
        let Some(question) = known.into_iter().find(|it| it.asked.id == id) else { return Ok(()) };
        let late = self.late.take(&self.store, &question.asked, now).await?;
        self.prompt.ask(question.asked);
        // Who says yes to everything now has said so last.
        if self.ask.yes && asked.tool != BY_HAND {
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
        self.invite(id)?;
        // Somebody may have answered already; nobody else tells the scheduler.
        self.stands(id, question.standing, run).await
    }

    async fn key(&mut self, key: &[u8], run: &Run) -> Result<(), Fail> {
        self.is_dirty = true;
        for key in self.keys.push(key) {
            // What comes after an answer was typed before the next question was seen.
            if let Pressed::Answer(id, answer) = self.prompt.key(&key) {
                return self.say(id, answer, run).await;
            }
        }
        Ok(())
    }

    /// The person at this terminal answers: it is written down first, as anybody's answer is.
    async fn say(&mut self, id: QuestionId, answer: Answer, run: &Run) -> Result<(), Fail> {
        let answered = Answered { answer, by: self.ctx.actor.clone(), at: clock::now() };
        self.give(id, answered, run).await
    }

    /// Says elsewhere than on a terminal how a question can be answered.
    fn invite(&mut self, id: QuestionId) -> Result<(), Fail> {
        let text = if person::is_agent() {
            format!("question {} waits for your user's answer", id.short())
        } else {
            format!("answer in another terminal: punchlist answer {}", id.short())
        };
        self.show.say(clock::now(), &text)
    }

    /// An answer is written down, whoever gave it, and counts.
    async fn give(&mut self, id: QuestionId, answered: Answered, run: &Run) -> Result<(), Fail> {
        match self.store.answer(id, answered.clone()).await? {
            AnswerOutcome::Taken(_) => self.heard(id, &answered, run).await,
            // Somebody else was first.
            AnswerOutcome::Late(question) => self.stands(id, question.standing, run).await,
            AnswerOutcome::NotOffered(_) => Ok(()),
        }
    }

    /// Looks for answers that were given elsewhere.
    async fn look(&mut self, run: &Run) -> Result<(), Fail> {
        let waiting = self.prompt.ids();
        if waiting.is_empty() {
            return Ok(());
        }
        let filter = QuestionFilter { run: Some(self.run), ..QuestionFilter::default() };
        for question in self.store.questions(filter).await? {
            if !waiting.contains(&question.asked.id) {
                continue;
            }
            self.stands(question.asked.id, question.standing, run).await?;
        }
        Ok(())
    }

    /// How a question stands was looked up.
    async fn stands(&mut self, id: QuestionId, standing: Standing, run: &Run) -> Result<(), Fail> {
        match standing {
            Standing::Waiting => {}
            Standing::Settled => drop(self.prompt.settle(id)),
            Standing::Answered(answered) => self.heard(id, &answered, run).await?,
        }
        Ok(())
    }

    /// An answer counts: the scheduler is told.
    async fn heard(&mut self, id: QuestionId, answered: &Answered, run: &Run) -> Result<(), Fail> {
        self.is_dirty = true;
        let asked = self.prompt.settle(id);
        let now = clock::now();
        let item = asked.as_ref().and_then(|it| it.item);
        let tool = asked.as_ref().map_or_else(|| SHELL.to_owned(), |it| it.tool.clone());
        if let Some(asked) = asked {
            let by = &answered.by;
            if *by != self.ctx.actor {
                let text = format!("{} was answered by {by}", asked.title);
                self.show.say(now, &text)?;
                self.board.hint = text;
            }
            if let Some(item) = asked.item {
                let mut lines = Vec::new();
                let word = questions::word(&answered.answer);
                self.teller.answered(item, &word, Some(&by.name), now.as_millisecond(), &mut lines);
                self.show.events(lines)?;
            }
        }
        let mut answer = answered.answer.clone();
        if let (Answer::Modify(arguments), Some(item)) = (&mut answer, item) {
            // Another command may be run for the item, but not another item's.
            step::keep_item(arguments, item);
            self.teller.changed(item, arguments);
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
        let path = places::config()?;
        match punchlist_engine::policy::rules::remember(&path, rules) {
            Ok(true) => {
                let what = if rules.len() == 1 { "a rule" } else { "rules" };
                let text = format!("from now on allowed by {what} in {}", path.display());
                self.show.say(clock::now(), &text)?;
                self.board.hint = text;
            }
            Ok(false) => {}
            Err(why) => {
                let note = format!("what you allowed holds for this run alone: {why}");
                self.shared.lock().notes.push(note);
            }
        }
        Ok(())
    }

    async fn signal(&mut self, sort: Sort, run: &Run) -> Result<(), Fail> {
        self.is_dirty = true;
        match sort {
            Sort::Leave => {
                self.stopping += 1;
                if self.stopping > 1 {
                    // The guardian ends what runs as soon as we are gone.
                    self.show.leave();
                    return Err(Fail::new(Code::Interrupted, "stopped at once").hint(
                        "run it again to go on; what was under way is verified or asked about.",
                    ));
                }
                "stopping; Ctrl-C again ends at once".clone_into(&mut self.board.hint);
                let reason = CancelReason::Asked(Some("stopped".to_owned()));
                self.draw(true)?;
                // A run that is over has nothing left to stop.
                run.cancel(Target::All, reason).await.ok();
                Ok(())
            }
            Sort::Resize => {
                self.show.resized();
                self.draw(true)
            }
            Sort::Pause => self.show.pause(),
            Sort::Resume => self.show.resume(),
        }
    }

    /// Says that the items in progress are still held.
    async fn renew(&mut self) -> Result<(), Fail> {
        let begun: Vec<Number> = self.shared.lock().begun.iter().copied().collect();
        if begun.is_empty() {
            return Ok(());
        }
        let now = clock::now();
        let ctx = Ctx { now, ids: clock::ids(now)?, ..self.ctx.clone() };
        let ops: Vec<_> = begun.into_iter().map(|it| Op::Start(ItemRef::Number(it))).collect();
        // Should somebody have taken one meanwhile, that shows when it ends.
        drop(self.store.change(self.source.plan(), Change::new(ops, ctx)).await);
        Ok(())
    }

    fn draw(&mut self, with_panel: bool) -> Result<(), Fail> {
        self.is_dirty = false;
        self.board.progress = self.shared.lock().plan.progress();
        let prompt = &self.prompt;
        let panel = |rows: usize, options: &Options| match prompt
            .shown(options)
            .filter(|_| with_panel)
        {
            None => Vec::new(),
            Some((asked, count, below)) => questions::asking(asked, count, &below, rows, options),
        };
        self.show.draw(&self.board, panel, clock::now())?;
        if with_panel {
            self.prompt.was_drawn();
        }
        Ok(())
    }

    /// Everything has ended: what is left is to say so.
    async fn end(mut self, ended: Result<(), run::Error>) -> Result<Reply, Fail> {
        let now = clock::now();
        self.board.hint.clear();
        self.draw(false)?;
        self.show.leave();
        ended.map_err(|why| end::broken(&why))?;
        self.store.end_run(self.run, now).await?;
        outputs::ended(self.run);
        outputs::tidy();
        let sum = self.board.sum();
        let mut notes = std::mem::take(&mut self.shared.lock().notes);
        if self.ask.write_back {
            notes.extend(end::write_back(self.source, &self.shared.lock().plan)?);
        }
        let aim = end::aim(&self.shared.lock().plan, now);
        let exit = match (self.stopping, sum.is_broken(), sum.is_over) {
            (1.., _, _) => Code::Interrupted.exit(),
            (0, true, _) => Code::ItemFailed.exit(),
            (0, false, true) if !aim.is_unmet => 0,
            (0, false, _) => Code::ItemsLeft.exit(),
        };
        if self.show.is_for_programs() {
            let status = match (exit, sum.is_broken()) {
                (0, _) => Told::Success,
                (_, true) => Told::Error,
                (_, false) => Told::Cancelled,
            };
            let mut lines = Vec::new();
            self.list()?;
            let words = format!("{}\n{}", sum.words(), aim.words);
            self.teller.ends(status, words.trim_end(), now.as_millisecond(), &mut lines);
            self.show.events(lines)?;
            return Ok(Reply { notes, exit, changed: true, ..Reply::default() });
        }
        let plan = self.shared.lock().plan.clone();
        let mut out = end::words(&plan, &sum, &self.outputs, self.items.is_empty());
        out.push_str(&aim.words);
        Ok(Reply { out, notes, exit, changed: true, prose: false })
    }
}

/// When there is news, or never.
async fn heard(news: Option<&mut News>) {
    match news {
        Some(news) => drop(poll_fn(|context| news.as_mut().poll_next(context)).await),
        None => pending().await,
    }
}

/// At that time, or never.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
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
