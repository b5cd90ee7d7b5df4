//! The tools that do items: run the command and the check, or ask a person.
//!
//! There is one tool per kind of item. The arguments name the item and the command, so that a
//! question shows what will happen and an answer can change it. A command that succeeds counts only
//! if the check passes too.

pub(crate) mod judge;
pub(crate) mod proof;
pub(crate) mod worker;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_model::session::Store;
use punchlist_model::{Check, Ctx, Evidence, Number, PlanId};
use punchlist_sched::Command;
use punchlist_sched::access::Access;
use punchlist_sched::call::{Checked, Ended, Kind, Output};
use punchlist_sched::tool::{Finished, Preview, Tool, Work};
use serde_json::{Value, json};

use super::runner::reports::Reports;
use super::{claimed, end, lease};
use crate::around::Around;
use crate::outputs;
pub(crate) use crate::workers::program::PLAN;
use judge::Judge;
use proof::{Proof, Prover};
use tokio::sync::watch;

/// The tool for items with a command or a check.
pub(crate) const SHELL: &str = "shell";
/// The tool for items that an agent does.
pub(crate) const AGENT: &str = "agent";
/// The tool for items that a person does.
pub const BY_HAND: &str = "manual";

/// What a tool needs to know of an item.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) check: Option<Check>,
    /// Whether a rule or a person must allow it, because an agent wrote it or calls the run.
    pub(crate) asks: bool,
    /// Whether somebody wrote it whom this worker does not trust. Then its check needs a rule too.
    pub(crate) is_foreign: bool,
    /// Whether a person must approve it first, even if a rule allows it, because the plan says so.
    pub(crate) approve: bool,
    /// Set if the item was interrupted in an earlier run: its check runs before anything else.
    pub(crate) resumed: Option<Resumed>,
}

/// What may be done with an interrupted item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Resumed {
    /// The item may run again.
    Again,
    /// Only the item's check may run.
    CheckOnly,
}

/// The environment that the tools share.
pub(crate) struct Place {
    pub(crate) jobs: BTreeMap<Number, Job>,
    /// The plan, and its title.
    pub(crate) plan: PlanId,
    pub(crate) title: String,
    /// Reports about workers while they run.
    pub(crate) reports: Reports,
    /// The directory in which commands run.
    pub(crate) directory: PathBuf,
    /// The environment variables of commands, without the item's own.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) prover: Prover,
    pub(crate) around: Arc<dyn Around>,
    pub(crate) judge: Judge,
    /// The lease of the item, if a worker has claimed it: set once it is lost.
    pub(crate) lease: Option<watch::Receiver<Option<String>>>,
    /// The store with the sessions of workers, and the context for changing it.
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ctx: Ctx,
}

impl Job {
    /// Why a person is asked, if no rule says so.
    pub(crate) fn why(&self) -> Option<String> {
        let why = if self.approve {
            "the plan asks first (approve: yes)"
        } else {
            "an agent wrote it, and no rule allows it"
        };
        Some(why.to_owned())
    }

    /// The end of a call that really ran. If the item was interrupted before and fails now, the
    /// output records that it has begun again.
    pub(crate) fn ended(&self, ended: Ended) -> Ended {
        match ended {
            Ended::Badly { what, output } if self.resumed.is_some() => {
                let proof = Proof { has_begun_again: true, ..Proof::of(Some(&output)) };
                Ended::Badly { what, output: proof.attach(output) }
            }
            ended @ (Ended::Well(_)
            | Ended::Badly { .. }
            | Ended::Declined(_)
            | Ended::Panicked(_)) => ended,
        }
    }
}

impl Place {
    /// Does the work of a call as long as the item's lease lasts. When the lease is lost, the work is
    /// dropped, which ends its processes.
    pub(crate) async fn within_lease(&self, work: impl Future<Output = Ended>) -> Ended {
        let Some(lease) = self.lease.clone() else { return work.await };
        tokio::select! {
            biased;
            ended = work => ended,
            why = lease::lost(lease) => {
                Ended::Declined(format!("{}: {why}", claimed::LEASE_LOST))
            }
        }
    }
}

/// The arguments of an item's call.
pub(crate) fn arguments(item: Number, command: Option<&str>) -> Value {
    match command {
        Some(command) => json!({"item": item.0, "command": command}),
        None => json!({"item": item.0}),
    }
}

/// Puts the item's number back into arguments that somebody has changed.
pub(crate) fn keep_item(arguments: &mut Value, item: Number) {
    if let Some(fields) = arguments.as_object_mut() {
        fields.insert("item".to_owned(), item.0.into());
    }
}

pub(crate) fn item(arguments: &Value) -> Option<Number> {
    let number = arguments.get("item")?.as_u64()?;
    Some(Number(u32::try_from(number).ok()?))
}

fn command(arguments: &Value) -> Option<&str> {
    arguments.get("command")?.as_str()
}

/// Runs an item's command and its check.
pub(crate) struct Shell {
    place: Arc<Place>,
    schema: Value,
}

impl Shell {
    pub(crate) fn new(place: Arc<Place>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {"item": {"type": "integer", "minimum": 1}, "command": {"type": "string"}},
            "required": ["item"],
            "additionalProperties": false,
        });
        Self { place, schema }
    }
}

impl Tool for Shell {
    fn name(&self) -> &str {
        SHELL
    }

    fn description(&self) -> &str {
        "Runs the command of an item and then its check."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, arguments: &Value) -> Result<Checked, String> {
        let job = item(arguments).and_then(|it| self.place.jobs.get(&it));
        let job = job.ok_or("this run has no such item")?;
        let check = job.check.as_ref().map(|it| it.command.as_str());
        let line = command(arguments);
        if check.into_iter().chain(line).any(|it| it.contains('\0')) {
            return Err("the command has a NUL in it".to_owned());
        }
        if line.is_none() && job.check.is_none() {
            return Err("there is no command left to run".to_owned());
        }
        let subject = self.place.judge.shell(job, line);
        Ok(Checked { access: Access::none(), kind: Kind::OTHER, subject })
    }

    fn preview(&self, arguments: &Value) -> Preview {
        let job = item(arguments).and_then(|it| self.place.jobs.get(&it));
        let check = job.and_then(|it| it.check.as_ref()).map(|it| it.command.clone());
        let why = job.and_then(Job::why);
        match (command(arguments).map(str::to_owned), check) {
            (None, command) => {
                Preview { what: "run its check".to_owned(), command, why, ..Preview::default() }
            }
            (command, check) => Preview {
                what: "run".to_owned(),
                command,
                touches: check.into_iter().map(|it| format!("then its check: {it}")).collect(),
                why,
                ..Preview::default()
            },
        }
    }

    fn run(&self, arguments: Value, work: Work) -> BoxFuture<'static, Ended> {
        let place = Arc::clone(&self.place);
        Box::pin(async move { place.within_lease(place.step(&arguments, &work)).await })
    }
}

/// Asks a person whether an item is done.
pub(crate) struct ByHand {
    place: Arc<Place>,
    schema: Value,
}

impl ByHand {
    pub(crate) fn new(place: Arc<Place>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {"item": {"type": "integer", "minimum": 1}},
            "required": ["item"],
            "additionalProperties": false,
        });
        Self { place, schema }
    }
}

impl Tool for ByHand {
    fn name(&self) -> &str {
        BY_HAND
    }

    fn description(&self) -> &str {
        "Waits until a person says that an item is done."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, arguments: &Value) -> Result<Checked, String> {
        let known = item(arguments).is_some_and(|it| self.place.jobs.contains_key(&it));
        if !known {
            return Err("this run has no such item".to_owned());
        }
        Ok(Checked { access: Access::none(), kind: Kind::OTHER, subject: Judge::by_hand() })
    }

    fn preview(&self, _arguments: &Value) -> Preview {
        Preview {
            what: "be done by hand: is it done?".to_owned(),
            why: Some("only a person can do it".to_owned()),
            is_fixed: true,
            ..Preview::default()
        }
    }

    fn run(&self, _arguments: Value, work: Work) -> BoxFuture<'static, Ended> {
        // The person's yes is the evidence.
        let evidence = work.approved_by().map(|by| end::approved(by, self.place.around.now()));
        let output = Proof { evidence, ..Proof::default() }.attach(Output::default());
        Box::pin(std::future::ready(Ended::Well(output)))
    }
}

impl Place {
    async fn step(&self, arguments: &Value, work: &Work) -> Ended {
        let Some((number, job)) = item(arguments).and_then(|it| Some((it, self.jobs.get(&it)?)))
        else {
            return failed("this run has no such item", Output::default());
        };
        if let Some(ended) = self.check_interrupted(number, job, work).await {
            return ended;
        }
        job.ended(self.run_and_verify(number, command(arguments), work).await)
    }

    async fn run_and_verify(&self, number: Number, command: Option<&str>, work: &Work) -> Ended {
        let output = match command {
            None => Output::default(),
            Some(line) => match work.run(self.command(number, line)).await {
                Ok(finished) => match finished.ended() {
                    Ended::Well(output) => output,
                    other @ (Ended::Badly { .. } | Ended::Declined(_) | Ended::Panicked(_)) => {
                        return other;
                    }
                },
                Err(why) => return failed(&why.to_string(), Output::default()),
            },
        };
        self.verified(number, output, None, work).await
    }

    /// For an interrupted item, how the call ends without running it again: its check passes, or
    /// nobody said that it may run again. `None` if it may run.
    pub(crate) async fn check_interrupted(
        &self,
        number: Number,
        job: &Job,
        work: &Work,
    ) -> Option<Ended> {
        let resumed = job.resumed?;
        if let Some(check) = &job.check {
            let (evidence, finished) = match self.verify(number, check, work).await {
                Ok(it) => it,
                Err(ended) => return Some(ended),
            };
            if evidence.passed() {
                let proof = Proof { evidence: Some(evidence), ..Proof::default() };
                return Some(Ended::Well(proof.attach(finished.output)));
            }
        }
        (resumed == Resumed::CheckOnly).then(interrupted)
    }

    /// Runs the check, if there is one. The item is done only if it passes. `outcome` is what was
    /// said about the work.
    pub(crate) async fn verified(
        &self,
        number: Number,
        output: Output,
        outcome: Option<String>,
        work: &Work,
    ) -> Ended {
        let Some(check) = self.jobs.get(&number).and_then(|it| it.check.as_ref()) else {
            return Ended::Well(Proof { outcome, ..Proof::default() }.attach(output));
        };
        match self.verify(number, check, work).await {
            Ok((evidence, finished)) => {
                let passed = evidence.passed();
                let how = evidence.run.as_ref().and_then(|it| it.exit_code);
                let proof = Proof { evidence: Some(evidence), outcome, ..Proof::default() };
                if passed {
                    return Ended::Well(proof.attach(output));
                }
                let how =
                    how.map_or_else(|| "was ended".to_owned(), |code| format!("exit code {code}"));
                // The output of the command, or the worker's last answer, may show why.
                let said = outputs::joined(output, finished.output);
                failed(&format!("its check failed: {how}"), proof.attach(said))
            }
            Err(ended) => ended,
        }
    }

    /// Runs a check.
    async fn verify(
        &self,
        number: Number,
        check: &Check,
        work: &Work,
    ) -> Result<(Evidence, Finished), Ended> {
        let covered = self.prover.cover(check).await;
        let covered = covered.map_err(|why| failed(&why, Output::default()))?;
        let command = self.command(number, &check.command);
        let finished = work.run(command).await;
        let finished = finished.map_err(|why| failed(&why.to_string(), Output::default()))?;
        if let Err(why) = &finished.exit {
            return Err(failed(&format!("its check could not be run: {why}"), finished.output));
        }
        Ok((self.prover.checked(check, covered, &finished), finished))
    }

    fn command(&self, number: Number, line: &str) -> Command {
        Command::shell(line, &self.directory)
            .envs(self.environment.iter().cloned())
            .env("PUNCHLIST_ITEM", number.to_string())
    }
}

fn interrupted() -> Ended {
    let why = "interrupted; its check says that it is not done (--retry-interrupted runs it again)";
    Ended::Declined(why.to_owned())
}

pub(crate) fn failed(what: &str, output: Output) -> Ended {
    Ended::Badly { what: what.to_owned(), output }
}
