//! `punchlist verify`.

use std::env;

use punchlist_engine::check::runner::Checker;
use punchlist_engine::check::verify::{self, CalledIn, Due, Scope};
use punchlist_engine::policy::checks;
use punchlist_engine::policy::consent::Consent;
use punchlist_formats::text;
use punchlist_formats::typed::items::each_of;
use punchlist_formats::view::check::{self, Checked};
use punchlist_model::Plan;
use serde_json::json;

use super::{Group, Verb};
use crate::app::App;
use crate::clock::Clock;
use crate::fail::{Code, Fail};
use crate::items::Several;
use crate::print::{self, Reply};
use crate::{permission, places, plan_choice};

/// Run the checks of items and store the results as evidence
///
/// Without an item, runs the checks of started and completed items that have not passed, or whose
/// covered files have changed since. The checks run one after the other, each in the directory of
/// its plan file, else at the root of the worktree. The exit code is 3 if a check failed; all
/// results are stored.
///
/// A check that an agent wrote runs only if you have consented to that in this project.
#[derive(clap::Args)]
pub(crate) struct Verify {
    /// Numbers (`3`, `1,2`, `1-3`), titles or ids
    #[arg(value_name = "ITEM")]
    items: Vec<Several>,
    /// Only checks that passed and whose covered files have changed since
    #[arg(long, conflicts_with_all = ["items", "all"])]
    stale: bool,
    /// All checks, also those that passed
    #[arg(long, conflicts_with = "items")]
    all: bool,
    /// Complete the open items whose checks passed
    #[arg(long)]
    done: bool,
    /// Consent to checks that agents write in this project; asks first, and runs no check
    #[arg(long, conflicts_with_all = ["items", "stale", "all", "done", "no_consent"])]
    consent: bool,
    /// Withdraw that consent
    #[arg(long, conflicts_with_all = ["items", "stale", "all", "done"])]
    no_consent: bool,
}

impl Verb for Verify {
    const NAME: &'static str = "verify";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist add \"Fix the tests\" --verify \"make test\" --covers \"src/**\"
  punchlist verify 3
  punchlist verify --stale
  punchlist verify 3 --done";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        if self.consent || self.no_consent {
            return self.consent(app);
        }
        let (_, plan) = plan_choice::whole_there(app)?;
        let due = self.due(app, &plan)?;
        if due.is_empty() {
            return Ok(self.nothing(app, &plan));
        }
        // Ask for all permissions before the first check runs, so that a refusal leaves nothing
        // half done.
        for it in &due {
            permission::to_run(app, it.item, it.check)?;
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|why| Fail::ours(format!("checks cannot be run: {why}")))?;
        let checker = Checker::new(env::vars_os().collect())?;
        let mut checked = Vec::new();
        let mut failed = None;
        for it in due {
            match runtime.block_on(self.check(app, &checker, &plan, it)) {
                Ok(it) => checked.push(it),
                Err(fail) => {
                    failed = Some(fail);
                    break;
                }
            }
        }
        runtime.block_on(checker.close());
        match failed {
            Some(fail) if checked.is_empty() => Err(fail),
            Some(fail) => {
                let mut reply = report(app, &checked);
                reply.notes.push(format!("the rest was not checked: {}", fail.message));
                reply.exit = fail.code.exit();
                Ok(reply)
            }
            None => Ok(report(app, &checked)),
        }
    }
}

impl Verify {
    /// Gives or withdraws consent to checks written by agents.
    fn consent(&self, app: &App) -> Result<Reply, Fail> {
        let project = &app.project()?.name;
        let (given, words) = if self.consent {
            permission::consent(app, None)?;
            (true, "checks written by agents now run here")
        } else if Consent::Checks.take_back(&places::data()?, project)? {
            (false, "checks written by agents no longer run here")
        } else {
            (false, "checks written by agents were not allowed here")
        };
        if app.globals.json {
            return Ok(Reply::json(&json!({"project": project, "consent": given})));
        }
        Ok(Reply::text(format!("{words} ({})\n", text::one_line(project))))
    }

    /// The items to check, in the order of the list or as typed.
    fn due<'a>(&self, app: &App, plan: &'a Plan) -> Result<Vec<Due<'a>>, Fail> {
        let directory = app.directory();
        let from = CalledIn { project: app.project()?, directory: directory.as_deref() };
        if !self.items.is_empty() {
            return verify::named(plan, &each_of(plan, &self.items)?, from);
        }
        let scope = match (self.all, self.stale) {
            (true, _) => Scope::All,
            (false, true) => Scope::Stale,
            (false, false) => Scope::Due,
        };
        verify::due(plan, scope, from)
    }

    /// Runs one check and records the result.
    async fn check(
        &self,
        app: &App,
        checker: &Checker,
        plan: &Plan,
        due: Due<'_>,
    ) -> Result<Checked, Fail> {
        if app.screen().is_terminal && !app.globals.json {
            print::aside(&format!("checking {}", checks::line(due.item, due.check)), None);
        }
        let store = app.store()?;
        let ctx = app.in_session(app.ctx()?, &*store)?;
        verify::verify(&*store, checker, plan, due, ctx, &Clock, self.done).await
    }

    fn nothing(&self, app: &App, plan: &Plan) -> Reply {
        if app.globals.json {
            return Reply::json(
                &json!({"revision": plan.revision, "changed": [], "checks": [], "warnings": []}),
            );
        }
        Reply::text(check::nothing(plan, self.stale))
    }
}

fn report(app: &App, checked: &[Checked]) -> Reply {
    let failed = checked.iter().any(|it| !it.passed);
    let exit = if failed { Code::Refused.exit() } else { 0 };
    if app.globals.json {
        return Reply { changed: true, exit, ..Reply::json(&check::json(checked)) };
    }
    let notes = check::warnings(checked);
    Reply { notes, changed: true, exit, ..Reply::prose(check::report(checked)) }
}
