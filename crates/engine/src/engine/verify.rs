//! Evidence: running an item's check, and a person's approval.

use punchlist_formats::typed::items;
use punchlist_model::store::{Applied, Error};
use punchlist_model::{Actor, ActorKind, Check, Ctx, Item, Number, PlanId, Revision, Verification};

use super::{Engine, Inner, Options};
use crate::check::runner::Checker;
use crate::check::verify::{self, CalledIn};
use crate::fail::Fail;
use crate::policy::checks::{self, Permission};
use crate::policy::human::CalledBy;
use crate::project::{self, Project};

/// The actor's name in the journal for recorded evidence.
const BY: &str = "engine";

/// The result of an item's check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    /// Whether the check passed.
    pub passed: bool,
    /// How the command ended, in words.
    pub ended: String,
    /// The last lines that the command printed.
    pub output: String,
    /// The verification of the item after the check.
    pub verification: Verification,
    /// The revision that recorded the evidence.
    pub revision: Revision,
}

impl Engine {
    /// Runs the check of an item and records the result as evidence, whether it passed or failed.
    /// This does not complete the item.
    ///
    /// The command runs in the plan's project, which must be a directory, under the guardian: `main` begins
    /// with `guardian::enter_if_called()`. A check that an agent wrote is refused unless [`Options`] allow it.
    pub async fn verify(&self, plan: PlanId, item: Number) -> Result<Verified, Fail> {
        let Inner { store, around, options } = &*self.inner;
        let plan = store.whole(plan).await?;
        let item = items::find(&plan, &item.into())?;
        may_run(options, item, verify::check_of(item)?)?;
        let project =
            Project { root: project::root_of(&plan.project)?, name: plan.project.clone() };
        let due = verify::of(&plan, item, CalledIn { project: &project, directory: None })?;
        let now = around.now();
        let actor = Actor { kind: ActorKind::Engine, name: BY.to_owned() };
        let ctx = Ctx { actor, limits: options.limits, ..Ctx::new(BY, now, around.ids(now)?) };
        let checker = Checker::new(options.environment.clone())?;
        let checked = verify::verify(&**store, &checker, &plan, due, ctx, &**around, false).await;
        checker.close().await;
        let checked = checked?;
        Ok(Verified {
            passed: checked.passed,
            ended: checked.ended,
            output: checked.output,
            verification: checked.verification,
            revision: checked.revision,
        })
    }

    /// Records a person's approval of an item. The program vouches that it is a person.
    pub async fn approve(
        &self,
        plan: PlanId,
        item: Number,
        person: impl Into<String>,
    ) -> Result<Applied, Error> {
        self.handle(plan).by_person(person).approve(item).await
    }
}

/// Whether a check may run without asking anybody.
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
