//! `punchlist verify`.

use std::env;
use std::path::PathBuf;

use punchlist_engine::policy::consent;
use punchlist_formats::text;
use punchlist_formats::view::json;
use punchlist_model::item::CheckRun;
use punchlist_model::store::Change;
use punchlist_model::{
    Check, Evidence, Item, Level, Number, Op, Plan, Refusal, Status, Verification,
};
use serde_json::json;

use super::{Group, Verb, show};
use crate::app::{App, no_plan};
use crate::block_on;
use crate::error::{Code, Fail};
use crate::items::{self, Several};
use crate::print::{self, Reply};
use crate::{clock, evidence, permission, places, plan_choice};
use punchlist_engine::check::runner::{Checker, Ran};

/// Run the checks of items and keep what came of them as evidence
///
/// Without an item: those begun or completed whose check has not passed, or whose files have changed
/// since. Each check runs by itself, in the directory of the plan file that it came from, else at the
/// top of the worktree. Exit code 3 if one failed; what was seen is kept all the same.
///
/// A check that an agent wrote runs only if you have allowed that for the project.
#[derive(clap::Args)]
pub(crate) struct Verify {
    /// Numbers (`3`, `1,2`, `1-3`), titles or ids
    #[arg(value_name = "ITEM")]
    items: Vec<Several>,
    /// Only what passed and whose files say something else now
    #[arg(long, conflicts_with_all = ["items", "all"])]
    stale: bool,
    /// Everything that has a check, also what passed
    #[arg(long, conflicts_with = "items")]
    all: bool,
    /// Complete what passed and is open
    #[arg(long)]
    done: bool,
    /// Allow checks that agents write in this project; asks first, runs none
    #[arg(long, conflicts_with_all = ["items", "stale", "all", "done", "no_consent"])]
    consent: bool,
    /// Allow them no more
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
            return self.word(app);
        }
        let Some((_, plan)) = plan_choice::whole(app)? else {
            return Err(no_plan());
        };
        let due = self.due(app, &plan)?;
        if due.is_empty() {
            return Ok(nothing(app, &plan, self.stale));
        }
        // Before anything runs: half of what was asked for would be harder to understand than none.
        for it in &due {
            permission::to_run(app, it.item, it.check)?;
        }
        let checker = Checker::new(env::vars_os().collect())?;
        let mut seen = Vec::new();
        let mut failed = None;
        for it in due {
            match self.check(app, &checker, &plan, it) {
                Ok(it) => seen.push(it),
                Err(fail) => {
                    failed = Some(fail);
                    break;
                }
            }
        }
        checker.close();
        match failed {
            Some(fail) if seen.is_empty() => Err(fail),
            Some(fail) => {
                let mut reply = report(app, &seen);
                reply.notes.push(format!("the rest was not checked: {}", fail.message));
                reply.exit = fail.code.exit();
                Ok(reply)
            }
            None => Ok(report(app, &seen)),
        }
    }
}

/// A check that is to be run.
struct Due<'a> {
    item: &'a Item,
    check: &'a Check,
    place: PathBuf,
}

/// A check that was run.
struct Seen {
    item: Item,
    run: CheckRun,
    ran: Ran,
    revision: punchlist_model::Revision,
    verification: Verification,
    /// Why it was not completed although that was asked for.
    refused: Option<Refusal>,
    json: serde_json::Value,
}

impl Verify {
    fn word(&self, app: &App) -> Result<Reply, Fail> {
        let project = &app.project()?.name;
        let (given, words) = if self.consent {
            permission::consent(app, None)?;
            (true, "checks that agents write are run here")
        } else if consent::take_back(&places::data()?, project)? {
            (false, "checks that agents write are not run here any more")
        } else {
            (false, "checks that agents write were not allowed here")
        };
        if app.globals.json {
            return Ok(Reply::json(&json!({"project": project, "consent": given})));
        }
        Ok(Reply::text(format!("{words} ({})\n", text::one_line(project))))
    }

    /// What is to be checked, in the order of the list or as it was typed.
    fn due<'a>(&self, app: &App, plan: &'a Plan) -> Result<Vec<Due<'a>>, Fail> {
        let named = !self.items.is_empty();
        let mut wanted = Vec::new();
        if named {
            for item in items::each_of(plan, &self.items)? {
                let item = show::find(plan, &item)?;
                if !wanted.iter().any(|it: &&Item| it.number == item.number) {
                    wanted.push(item);
                }
            }
        } else {
            wanted = plan.listed();
            wanted.retain(|it| it.check.is_some() && it.status != Status::Cancelled);
        }
        let start = app.directory();
        let mut due = Vec::new();
        for item in wanted {
            let check = item.check.as_ref().ok_or_else(|| no_check(item))?;
            let it = Due {
                item,
                check,
                place: evidence::place(app.project()?, start.as_deref(), plan, item)?,
            };
            if named || self.all || self.is_due(plan, &it)? {
                due.push(it);
            }
        }
        Ok(due)
    }

    fn is_due(&self, plan: &Plan, it: &Due<'_>) -> Result<bool, Fail> {
        let stale = match evidence::believed(it.item) {
            Some(run) => evidence::has_changed(&it.place, it.check, run)?,
            None => false,
        };
        Ok(match plan.verification(it.item, stale) {
            Verification::Stale => true,
            Verification::Required | Verification::Failed => {
                !self.stale && it.item.status != Status::Pending
            }
            Verification::None | Verification::Passed => false,
        })
    }

    /// Runs one check and keeps what came of it.
    fn check(&self, app: &App, checker: &Checker, plan: &Plan, it: Due<'_>) -> Result<Seen, Fail> {
        let Due { item, check, place } = it;
        let (number, title) = (item.number, text::one_line(&item.title));
        if app.screen().is_terminal && !app.globals.json {
            let command = text::one_line(&check.command);
            print::aside(&format!("checking {number}  {title}: {command}"), None);
        }
        // Before the check: what changes while it runs, it does not speak for.
        let covered = evidence::cover(&place, &check.covers)?;
        let variables = [
            ("PUNCHLIST_RUN", "verify".to_owned()),
            ("PUNCHLIST_PLAN", plan.id.to_string()),
            ("PUNCHLIST_ITEM", number.to_string()),
        ];
        let ran = checker.run(&check.command, &place, item.timeout, &variables)?;
        let run = CheckRun {
            command: check.command.clone(),
            exit_code: ran.code(),
            output_digest: ran.digest.clone(),
            covered,
            worktree: place.to_string_lossy().into_owned(),
        };
        self.keep(app, plan, number, run, ran)
    }

    fn keep(
        &self,
        app: &App,
        plan: &Plan,
        number: Number,
        run: CheckRun,
        ran: Ran,
    ) -> Result<Seen, Fail> {
        let store = app.store()?;
        let mut ctx = app.in_session(app.ctx()?, &*store)?;
        ctx.now = clock::now();
        ctx.ids = clock::ids(ctx.now)?;
        let proof = Evidence {
            level: Level::Checked,
            at: ctx.now,
            by: ctx.actor.name.clone(),
            run: Some(run.clone()),
        };
        let prove = Op::Prove { item: number.into(), evidence: Box::new(proof) };
        let complete = Op::Complete { item: number.into(), outcome: None, with_children: false };
        let is_open = plan.get(number).is_some_and(Item::is_open);
        let mut ops = vec![prove.clone()];
        if self.done && ran.passed() && is_open {
            ops.push(complete);
        }
        let mut refused = None;
        let mut applied = block_on(store.change(plan.id, Change::new(ops, ctx.clone())));
        // What was seen is kept, also where the item cannot be completed yet.
        if let Err(punchlist_model::store::Error::Refused(refusal)) = applied {
            refused = Some(refusal);
            applied = block_on(store.change(plan.id, Change::new(vec![prove], ctx)));
        }
        let applied = applied?;
        let now = block_on(store.whole(plan.id))?;
        let Some(item) = now.get(number).cloned() else { return Err(no_plan()) };
        let verification = now.verification(&item, false);
        let json = json::item(&now, &item, false);
        Ok(Seen { item, run, ran, revision: applied.revision(), verification, refused, json })
    }
}

fn no_check(item: &Item) -> Fail {
    let number = item.number;
    let mut fail = Fail::usage(format!("item {number} {:?} has no check", brief(&item.title)))
        .hint(format!("give it one: `punchlist edit {number} --verify \"make test\"`."));
    fail.items.push(number);
    fail
}

fn brief(title: &str) -> String {
    title.chars().take(80).collect()
}

fn nothing(app: &App, plan: &Plan, stale: bool) -> Reply {
    if app.globals.json {
        return Reply::json(
            &json!({"revision": plan.revision, "changed": [], "checks": [], "warnings": []}),
        );
    }
    let has_checks = plan.listed().iter().any(|it| it.check.is_some());
    Reply::text(if !has_checks {
        "No item has a check. Give one: punchlist edit ITEM --verify \"make test\"\n"
    } else if stale {
        "Nothing is stale.\n"
    } else {
        "Nothing to check. All that was begun has passed; --all checks everything.\n"
    })
}

fn report(app: &App, seen: &[Seen]) -> Reply {
    let failed = seen.iter().any(|it| !it.ran.passed());
    let exit = if failed { Code::Refused.exit() } else { 0 };
    if app.globals.json {
        let checks: Vec<_> = seen.iter().map(check_json).collect();
        let changed: Vec<_> = seen.iter().map(|it| it.json.clone()).collect();
        let warnings: Vec<String> =
            seen.iter().filter_map(|it| it.refused.as_ref().map(ToString::to_string)).collect();
        let revision = seen.last().map(|it| it.revision);
        let value = json!({
            "revision": revision, "changed": changed, "checks": checks, "warnings": warnings,
        });
        return Reply { changed: true, exit, ..Reply::json(&value) };
    }
    let mut out = String::new();
    let mut notes = Vec::new();
    let mut next = Vec::new();
    for it in seen {
        let (number, title) = (it.item.number, text::one_line(&it.item.title));
        if it.ran.passed() {
            let done = if it.item.status == Status::Completed { ", completed" } else { "" };
            let files = match it.run.covered.len() {
                0 => String::new(),
                1 => " (1 file)".to_owned(),
                count => format!(" ({count} files)"),
            };
            out.push_str(&format!("passed {number}  {title}{files}{done}\n"));
        } else {
            out.push_str(&format!("failed {number}  {title}: {}\n", it.ran.words()));
            out.push_str(&tail(&it.ran.said));
        }
        notes.extend(it.refused.as_ref().map(ToString::to_string));
        if it.item.is_open() && it.verification == Verification::Passed && it.refused.is_none() {
            next.push(number.to_string());
        }
    }
    if !next.is_empty() {
        out.push_str(&format!("Now it may be completed: punchlist done {}\n", next.join(" ")));
    }
    Reply { out, notes, changed: true, exit, prose: true }
}

/// The last lines of what a check said, set off from ours.
fn tail(said: &str) -> String {
    const LINES: usize = 20;
    let clean = text::many_lines(said);
    let lines: Vec<&str> = clean.lines().filter(|it| !it.trim().is_empty()).collect();
    let shown = lines.iter().skip(lines.len().saturating_sub(LINES));
    shown.map(|line| format!("    {}\n", text::truncate(line, 200))).collect()
}

fn check_json(it: &Seen) -> serde_json::Value {
    json!({
        "number": it.item.number,
        "command": it.run.command,
        "passed": it.ran.passed(),
        "exitCode": it.run.exit_code,
        "outputDigest": it.run.output_digest,
        "output": it.ran.said,
        "covered": it.run.covered.len(),
        "worktree": it.run.worktree,
        "verification": it.verification,
    })
}
