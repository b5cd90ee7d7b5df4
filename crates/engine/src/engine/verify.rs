//! Evidence: running an item's check, and a person's approval.

use std::path::PathBuf;

use punchlist_model::item::CheckRun;
use punchlist_model::store::{Applied, Change, Error};
use punchlist_model::{
    Actor, ActorKind, Broken, Check, Ctx, Evidence, Item, Level, Number, Op, Plan, PlanId, Refusal,
    Revision, Verification,
};

use super::{Engine, Inner, Options};
use crate::check::evidence;
use crate::check::runner::{Checker, Ran};
use crate::fail::Fail;
use crate::policy::checks::{self, Permission};
use crate::policy::human::CalledBy;
use crate::project::{self, Project};

/// Who recorded the evidence, in the journal.
const BY: &str = "engine";

/// What came of an item's check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    /// Whether it passed.
    pub passed: bool,
    /// How the command ended, in words.
    pub ended: String,
    /// The last lines that it printed.
    pub output: String,
    /// What the item's evidence says now.
    pub verification: Verification,
    /// The revision that recorded it.
    pub revision: Revision,
}

impl Engine {
    /// Runs the check of an item and records what came of it as evidence, whether it passed or failed. The item
    /// is not completed by that.
    ///
    /// The command runs in the plan's project, which must be a directory, under the guardian: `main` begins
    /// with `guardian::enter_if_called()`. A check that an agent wrote is refused unless [`Options`] allow it.
    pub async fn verify(&self, plan: PlanId, item: Number) -> Result<Verified, Fail> {
        let Inner { store, options, .. } = &*self.inner;
        let plan = store.whole(plan).await?;
        let item = plan
            .get(item)
            .ok_or_else(|| Fail::from(Refusal::one(Broken::NotFound { what: item.to_string() })))?;
        let check = item.check.as_ref().ok_or_else(|| {
            Fail::usage(format!("item {} {:?} has no check", item.number, item.title))
                .hint("give it one: `item(\"…\").check(\"make test\")`.")
        })?;
        may_run(options, item, check)?;
        let project =
            Project { root: project::root_of(&plan.project)?, name: plan.project.clone() };
        let directory = evidence::place(&project, None, &plan, item)?;
        let (run, ran) = run_check(options, &plan, item, check, directory).await?;
        self.record_check(&plan, item.number, run, ran).await
    }

    /// Records a person's approval of an item. The program vouches that it is a person's.
    pub async fn approve(
        &self,
        plan: PlanId,
        item: Number,
        person: impl Into<String>,
    ) -> Result<Applied, Error> {
        self.handle(plan).by_person(person).approve(item).await
    }

    async fn record_check(
        &self,
        plan: &Plan,
        item: Number,
        run: CheckRun,
        ran: Ran,
    ) -> Result<Verified, Fail> {
        let Inner { store, around, options } = &*self.inner;
        let now = around.now();
        let actor = Actor { kind: ActorKind::Engine, name: BY.to_owned() };
        let ctx = Ctx { actor, limits: options.limits, ..Ctx::new(BY, now, around.ids(now)?) };
        let evidence =
            Evidence { level: Level::Checked, at: now, by: BY.to_owned(), run: Some(run) };
        let op = Op::Prove { item: item.into(), evidence: Box::new(evidence) };
        let applied = store.change(plan.id, Change::new(vec![op], ctx)).await?;
        let proven = applied.plan.get(item);
        Ok(Verified {
            passed: ran.passed(),
            ended: ran.words(),
            output: ran.said,
            verification: proven
                .map_or(Verification::None, |item| applied.plan.verification(item, false)),
            revision: applied.revision(),
        })
    }
}

/// Whether a check may run: nobody is asked here.
fn may_run(options: &Options, item: &Item, check: &Check) -> Result<(), Fail> {
    match checks::permission(&options.policy, item, check, CalledBy::PersonElsewhere)? {
        Permission::Granted => Ok(()),
        Permission::NeedsConsent if options.is_consent_given => Ok(()),
        Permission::NeedsConsent => {
            let number = item.number;
            let fail = Fail::refused(format!(
                "an agent wrote the check of item {number}, and no person has consented to those"
            ));
            Err(Fail { items: vec![number], ..fail })
        }
        Permission::NeedsYes(rule) => Err(checks::nobody_to_ask(item.number, &rule)),
    }
}

/// Runs a check in a thread that may block: it reads the files that it speaks for, and waits for the command.
async fn run_check(
    options: &Options,
    plan: &Plan,
    item: &Item,
    check: &Check,
    directory: PathBuf,
) -> Result<(CheckRun, Ran), Fail> {
    let (environment, check, timeout) = (options.environment.clone(), check.clone(), item.timeout);
    let variables = [
        ("PUNCHLIST_RUN", "verify".to_owned()),
        ("PUNCHLIST_PLAN", plan.id.to_string()),
        ("PUNCHLIST_ITEM", item.number.to_string()),
    ];
    let work = move || {
        // Before the check: it does not speak for what changes while it runs.
        let covered = evidence::cover(&directory, &check.covers)?;
        let checker = Checker::new(environment)?;
        let ran = checker.run(&check.command, &directory, timeout, &variables);
        checker.close();
        let ran = ran?;
        let run = CheckRun {
            command: check.command,
            exit_code: ran.code(),
            output_digest: ran.digest.clone(),
            covered,
            worktree: directory.to_string_lossy().into_owned(),
        };
        Ok((run, ran))
    };
    let ended = tokio::task::spawn_blocking(work).await;
    ended.map_err(|why| Fail::ours(format!("the check could not be run: {why}")))?
}
