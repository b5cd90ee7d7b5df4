//! The permissions of a member: the policy decides, and a person is asked about the rest.
//!
//! Each member has one run of the scheduler for the whole conversation. So a question is data in the store
//! with the member's name, anybody can answer it, and "for this session" holds until the conversation ends.
//! Our own runtime asks by itself; its questions are only shown.

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;

use punchlist_engine::fail::Fail;
use punchlist_engine::{Around, CallLedger, Engine};
use punchlist_formats::view::questions;
use punchlist_model::call::{Answer, Asked, Question, QuestionFilter, Standing};
use punchlist_model::session::Store;
use punchlist_model::{Actor, Process, QuestionId};
use punchlist_sched::call::{CancelReason, Live, Outcome, State};
use punchlist_sched::machine::{self, Attended};
use punchlist_sched::policy::Policy;
use punchlist_sched::run::{Event, Run};
use punchlist_sched::{Batch, RunningBatch, Tools};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, OnceCell};
use tokio::task::JoinHandle;

use super::Report;
use crate::session::Answers;
use crate::tools::Root;
use crate::workers::acp::wanted::{PermissionTool, Permitted, Wanted};

/// What a team needs to ask people.
pub struct TeamAsking {
    /// Opens the engine, which has the store. It is opened for the queue or the first question.
    pub open: Box<dyn Fn() -> Result<Engine, Fail> + Send + Sync>,
    /// Reads the policy as it is now.
    pub policy: Box<dyn Fn() -> Result<Policy, Fail> + Send + Sync>,
    /// Clock and ids.
    pub around: Arc<dyn Around>,
    /// Whether somebody can be asked.
    pub is_attended: bool,
    /// Who answers at the front end.
    pub person: Actor,
    /// The file that gets a rule when the answer is "always".
    pub rules_file: PathBuf,
    /// This process.
    pub process: Option<Process>,
}

/// [`TeamAsking`] with the engine, once it is open.
pub(super) struct Asker {
    pub(super) given: TeamAsking,
    engine: OnceCell<Engine>,
}

impl Asker {
    pub(super) fn new(given: TeamAsking) -> Self {
        Self { given, engine: OnceCell::new() }
    }

    async fn engine(&self) -> Result<&Engine, Fail> {
        self.engine.get_or_try_init(|| async { (self.given.open)() }).await
    }

    pub(super) async fn store(&self) -> Result<&Arc<dyn Store>, Fail> {
        Ok(self.engine().await?.store())
    }

    /// Stores an answer of the person at the front end. Returns what the person is told about it.
    pub(super) async fn answer(
        &self,
        question: QuestionId,
        answer: Answer,
    ) -> Result<Option<String>, Fail> {
        let answers = Answers {
            store: Arc::clone(self.engine().await?.store()),
            around: Arc::clone(&self.given.around),
            person: self.given.person.clone(),
            policy: (self.given.policy)()?,
            rules_file: self.given.rules_file.clone(),
        };
        answers.give(question, answer).await
    }

    /// The question of this id.
    async fn question(&self, id: &str) -> Result<Option<Question>, Fail> {
        find(&**self.engine().await?.store(), id).await
    }
}

async fn find(store: &dyn Store, id: &str) -> Result<Option<Question>, Fail> {
    let filter = QuestionFilter { id: Some(id.to_owned()), ..QuestionFilter::default() };
    let found = store.questions(filter).await?;
    Ok(found.into_iter().find(|it| it.asked.id.to_string() == id))
}

/// The permissions of one member.
pub(super) struct Permissions {
    pub(super) asker: Arc<Asker>,
    pub(super) member: usize,
    /// The name that questions have.
    pub(super) name: String,
    pub(super) directory: PathBuf,
    /// Whether a person may change commands.
    pub(super) can_change: bool,
    pub(super) reports: UnboundedSender<Report>,
    pub(super) opened: OnceCell<Opened>,
}

/// The run of the scheduler.
pub(super) struct Opened {
    run: Run,
    ledger: CallLedger,
    answers: JoinHandle<()>,
}

/// What was decided.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Decision {
    /// It may be done, with other arguments if a person changed them.
    Allow(Option<Value>),
    /// It may not be done, for this reason.
    Deny(String),
    /// A person refused, and the turn ends.
    Stop(String),
    /// Nobody decided: the turn ended, or the request was taken back.
    Cancelled,
    /// Our own runtime has the answer already.
    Known,
}

/// A decision, and how it is told.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Decided {
    pub(super) decision: Decision,
    /// The answer in words.
    pub(super) answer: String,
    /// Who answered, if a person was asked.
    pub(super) by: Option<String>,
}

impl Decided {
    fn by_policy(decision: Decision, answer: &str) -> Self {
        Self { decision, answer: answer.to_owned(), by: None }
    }

    fn denied(why: impl Into<String>) -> Self {
        let why = why.into();
        Self { answer: why.clone(), decision: Decision::Deny(why), by: None }
    }
}

impl Permissions {
    /// Decides about a request. `take_back` ends the waiting for an answer.
    pub(super) async fn decide(
        self: Arc<Self>,
        wanted: Result<Wanted, String>,
        take_back: Arc<Notify>,
    ) -> Decided {
        let wanted = match wanted {
            Ok(wanted) if wanted.calls.is_empty() => {
                return Decided::by_policy(Decision::Allow(None), "allowed");
            }
            Ok(wanted) => wanted,
            Err(why) => return Decided::denied(why),
        };
        match self.asked(&wanted, &take_back).await {
            Ok(decided) => decided,
            Err(fail) => Decided::denied(format!("the policy could not decide: {}", fail.message)),
        }
    }

    /// Shows a question of our own runtime until it is answered.
    pub(super) async fn show(self: Arc<Self>, id: String, take_back: Arc<Notify>) -> Decided {
        if !self.asker.given.is_attended {
            return Decided::denied("nobody can be asked");
        }
        let shown = self.shown(&id, &take_back).await;
        shown.unwrap_or_else(|fail| Decided::denied(fail.message))
    }

    async fn shown(&self, id: &str, take_back: &Notify) -> Result<Decided, Fail> {
        let store = self.asker.engine().await?.store();
        let mut news = store.news().await?;
        let question = self.asker.question(id).await?;
        let question = question.ok_or_else(|| Fail::ours("its question is not in the store"))?;
        self.tell_asked(&question.asked);
        let mut is_taken_back = false;
        loop {
            let Some(question) = find(&**store, id).await? else { break };
            if question.standing != Standing::Waiting {
                self.reports.send(Report::Settled { question: Box::new(question.clone()) }).ok();
                let Standing::Answered(answered) = question.standing else { break };
                return Ok(Decided {
                    decision: Decision::Known,
                    answer: questions::word(&answered.answer),
                    by: Some(answered.by.name),
                });
            }
            if is_taken_back {
                let question = Question { standing: Standing::Settled, ..question };
                self.reports.send(Report::Settled { question: Box::new(question) }).ok();
                break;
            }
            tokio::select! {
                () = take_back.notified() => is_taken_back = true,
                changed = poll_fn(|context| news.as_mut().poll_next(context)) => match changed {
                    Some(changed) => changed?,
                    None => is_taken_back = true,
                },
            }
        }
        Ok(Decided::by_policy(Decision::Known, "cancelled"))
    }

    fn tell_asked(&self, asked: &Asked) {
        let asked = Box::new(asked.clone());
        self.reports.send(Report::Asked { member: self.member, asked }).ok();
    }

    /// Whether the policy allows it as it is now. Others may have added rules since the run began.
    fn is_allowed(&self, wanted: &Wanted) -> Result<bool, Fail> {
        let policy = (self.asker.given.policy)()?;
        Ok(wanted.is_allowed(&policy, &self.root()?))
    }

    fn root(&self) -> Result<Root, Fail> {
        let shown = self.directory.display();
        Root::new(&self.directory).map_err(|why| Fail::usage(format!("{shown}: {why}")))
    }

    async fn asked(&self, wanted: &Wanted, take_back: &Notify) -> Result<Decided, Fail> {
        if self.is_allowed(wanted)? {
            return Ok(Decided::by_policy(Decision::Allow(None), "allowed by the policy"));
        }
        let opened = self.opened.get_or_try_init(|| self.open()).await?;
        let mut events = opened.run.subscribe();
        let mut batch = Batch::new();
        for call in &wanted.calls {
            batch.call(call.tool.name(), call.arguments.clone());
        }
        let over = |_| Fail::ours("the scheduler ended");
        let batch = opened.run.schedule(batch).await.map_err(over)?;
        let mut waiting: Vec<Arc<Asked>> = Vec::new();
        let (mut answer, mut by, mut stops) = (None, None, false);
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = take_back.notified() => {
                    batch.cancel_all("it is no longer asked").await.ok();
                    continue;
                }
            };
            match event {
                Some(Event::Asked(asked)) if is_of(&batch, asked.call) => {
                    self.tell_asked(&asked);
                    waiting.push(asked);
                }
                Some(Event::Moved { call, state })
                    if !matches!(state, State::Live(Live::AwaitingApproval { .. })) =>
                {
                    let is_over = |it: &Arc<Asked>| it.call == call.0;
                    for asked in waiting.iter().filter(|it| is_over(it)) {
                        let found = self.asker.question(&asked.id.to_string()).await?;
                        let Some(question) = found else { continue };
                        if let Standing::Answered(answered) = &question.standing {
                            answer = Some(questions::word(&answered.answer));
                            by = Some(answered.by.name.clone());
                            stops |= matches!(answered.answer, Answer::RefuseAndStop(_));
                        }
                        self.reports.send(Report::Settled { question: Box::new(question) }).ok();
                    }
                    waiting.retain(|it| !is_over(it));
                }
                Some(Event::BatchDone(id)) if id == batch.id() => break,
                Some(_) => {}
                None => return Err(Fail::ours("the scheduler ended")),
            }
        }
        let decision = opened.decision(&batch, wanted, stops).await?;
        let answer = answer.unwrap_or_else(|| match &decision {
            Decision::Deny(why) | Decision::Stop(why) => why.clone(),
            Decision::Allow(_) => "allowed by the policy".to_owned(),
            Decision::Cancelled | Decision::Known => "cancelled".to_owned(),
        });
        Ok(Decided { decision, answer, by })
    }

    async fn open(&self) -> Result<Opened, Fail> {
        let TeamAsking { around, is_attended, process, .. } = &self.asker.given;
        let root = self.root()?;
        let mut tools = Tools::new();
        for tool in Permitted::ALL {
            let tool = PermissionTool::new(tool, root.clone(), self.can_change);
            tools.add(Arc::new(tool)).map_err(|why| Fail::ours(why.to_string()))?;
        }
        let engine = self.asker.engine().await?;
        let ledger = engine.call_ledger_of(process.clone(), &self.name, None).await?;
        let clock = Arc::clone(around);
        let options = punchlist_sched::Options {
            machine: machine::Options {
                policy: (self.asker.given.policy)()?,
                attended: if *is_attended { Attended::Yes } else { Attended::No },
                ids: around.ids(around.now())?,
                ..machine::Options::default()
            },
            clock: Arc::new(move || clock.now()),
            ..punchlist_sched::Options::default()
        };
        let run = Run::builder(tools).options(options).ledger(ledger.clone()).start();
        let (passes, answered) = (ledger.clone(), run.clone());
        let answers = tokio::spawn(async move {
            // If the store fails, the call that waits for it says so.
            passes.pass_answers(&answered).await.ok();
        });
        Ok(Opened { run, ledger, answers })
    }

    /// Ends the run. Nothing waits for an answer then.
    pub(super) async fn close(&self) {
        let Some(Opened { run, ledger, answers }) = self.opened.get() else { return };
        run.shut_down(CancelReason::Asked(None));
        run.ended().await.ok();
        answers.abort();
        // The conversation is over either way.
        ledger.end().await.ok();
    }
}

impl Opened {
    async fn decision(
        &self,
        batch: &RunningBatch,
        wanted: &Wanted,
        stops: bool,
    ) -> Result<Decision, Fail> {
        let over = |_| Fail::ours("the scheduler ended");
        for outcome in batch.outcomes().await.map_err(over)? {
            match outcome {
                // Another of them was refused, and says so.
                Outcome::Success(_)
                | Outcome::Cancelled { reason: CancelReason::Beside(_), .. } => {}
                Outcome::Error(why) => return Ok(Decision::Deny(why.to_string())),
                Outcome::Cancelled { reason: CancelReason::Refused(why), .. } => {
                    let why = match why {
                        Some(why) => format!("the user refused: {why}"),
                        None => "the user refused".to_owned(),
                    };
                    return Ok(if stops { Decision::Stop(why) } else { Decision::Deny(why) });
                }
                Outcome::Cancelled { .. } => return Ok(Decision::Cancelled),
            }
        }
        let (Some(id), [first]) = (batch.calls().next(), wanted.calls.as_slice()) else {
            return Ok(Decision::Allow(None));
        };
        let call = self.run.call(id).await.map_err(over)?;
        let now = call.map(|it| it.request.arguments);
        Ok(Decision::Allow(now.filter(|it| *it != first.arguments)))
    }
}

fn is_of(batch: &RunningBatch, call: u32) -> bool {
    batch.calls().any(|it| it.0 == call)
}
