//! `punchlist show`.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use punchlist_engine::outputs::last_call::{self, LastCall};
use punchlist_formats::text;
use punchlist_formats::view::{self, detail, duration, json, log};
use punchlist_model::session::Store;
use punchlist_model::store::PlanStore;
use punchlist_model::{Broken, Item, ItemRef, Number, Plan, Refusal, Revision};

use super::{Group, Verb, list};
use crate::app::{App, no_plan};
use crate::block_on;
use crate::error::Fail;
use crate::evidence;
use crate::items::Typed;
use crate::print::Reply;
use crate::{outputs, pager, person, places, plan_choice};

/// Show one item in full, or the plan itself
///
/// An item with every field that is set, what happened to it, and what the last run of it said; without
/// an item, what the plan is and how far it has come.
#[derive(clap::Args)]
pub(crate) struct Show {
    /// Its number, title or id, as `punchlist list --all` shows it
    #[arg(value_name = "ITEM")]
    item: Option<Typed>,
    /// All that the last run of the item printed; through your pager on a terminal
    #[arg(long, requires = "item")]
    output: bool,
}

impl Verb for Show {
    const NAME: &'static str = "show";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist show 3
  punchlist show 3 --output
  punchlist show --json
  punchlist show --plan release";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let Some((store, plan)) = plan_choice::whole(app)? else {
            return Err(no_plan());
        };
        let Some(typed) = self.item else { return header(app, &*store, &plan) };
        let item = find(&plan, &typed.within(&plan)?)?;
        if self.output {
            return output(app, &*store, &plan, item);
        }
        let stale = evidence::stale(&plan);
        if app.globals.json {
            let key = list::attachment(&*store, &plan)?;
            let value = serde_json::json!({
                "plan": json::header(&plan, key.as_ref()),
                "item": json::item(&plan, item, stale.contains(&item.number)),
                "lastCall": last_call(&*store, &plan, item.number)?.map(|it| it.json()),
            });
            return Ok(Reply::json(&value));
        }
        let journal = block_on(store.journal(plan.id, Revision(0), u32::MAX))?;
        let reader = app.actor(&*store)?;
        let show = log::Show { reader: Some(&reader), times: log::Times::Ago, only: None };
        let screen = app.screen();
        let options = view::Options { stale, ..app.view(screen) };
        let mut lines = detail::detail(&plan, item, &journal, show, &options);
        if let Some(call) = last_call(&*store, &plan, item.number)? {
            lines.push(text::Line::new());
            lines.extend(call.view(&options));
        }
        Ok(Reply::prose(screen.drawn(&lines)))
    }
}

/// The last call for an item, if any run made one.
fn last_call(store: &dyn Store, plan: &Plan, item: Number) -> Result<Option<LastCall>, Fail> {
    block_on(last_call::of(store, &places::outputs()?, plan.id, item))
}

/// All that the last run of an item printed.
fn output(app: &App, store: &dyn Store, plan: &Plan, item: &Item) -> Result<Reply, Fail> {
    let number = item.number;
    let nothing = |what: &str| {
        let title = text::one_line(&item.title);
        Err(Fail::not_found(format!("item {number} \"{title}\" {what}"))
            .hint(format!("`punchlist show {number}` shows what is known of it.")))
    };
    let Some(call) = last_call(store, plan, number)? else {
        return nothing("was not done by a run");
    };
    if app.globals.json {
        return Ok(Reply::json(&serde_json::json!({"item": number, "lastCall": call.json()})));
    }
    let output = call.output();
    let whole = output.whole.as_ref().and_then(|it| File::open(it).ok());
    match whole {
        Some(file) => pager::show(BufReader::new(file))?,
        None if output.text.is_empty() => return nothing("printed nothing when it was last run"),
        None => pager::show(output.text.as_bytes())?,
    }
    let mut reply = Reply::default();
    if output.whole.as_ref().is_some_and(|it| !Path::new(it).exists()) {
        let days = outputs::DAYS;
        reply.notes.push(format!(
            "the middle of it is gone: whole outputs are kept for {days} days, and the newest 2 GiB of them"
        ));
    }
    Ok(reply)
}

/// The item that is meant; superseded ones can be looked at.
pub(super) fn find<'a>(plan: &'a Plan, typed: &ItemRef) -> Result<&'a Item, Fail> {
    let problem = Refusal::one;
    let number = plan.find(typed).map_err(problem)?;
    let item = number.and_then(|number| plan.get(number));
    Ok(item.ok_or_else(|| problem(Broken::NotFound { what: typed.to_string() }))?)
}

fn header(app: &App, store: &dyn PlanStore, plan: &Plan) -> Result<Reply, Fail> {
    let key = list::attachment(store, plan)?;
    if app.globals.json {
        let mut value = serde_json::json!({
            "plan": json::header(plan, key.as_ref()),
            "progress": json::progress(plan.progress()),
        });
        if plan.goal.is_some() {
            value["goal"] = json::aim(plan, &evidence::stale(plan), app.now, person::reader());
        }
        return Ok(Reply::json(&value));
    }
    let progress = plan.progress();
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("{name:<13}{}\n", text::one_line(value)));
        }
    };
    line("plan", &plan.id.to_string());
    line("name", plan.name.as_deref().unwrap_or_default());
    line("title", &plan.title);
    line("project", &plan.project);
    if let Some(key) = &key {
        line("agent", &key.agent);
        line("conversation", &key.conversation);
        line("turn", &key.turn);
    }
    line("revision", &plan.revision.to_string());
    line("state", plan.end.words());
    let (completed, total, percent) = (progress.completed, progress.total, progress.percent);
    line("progress", &format!("{completed}/{total} ({percent}%), {} open", plan.open));
    if let Some(goal) = &plan.goal {
        let stale = evidence::stale(plan);
        line("goal", &goal.statement);
        line("met", &view::goal::standing(plan, &stale).unwrap_or_default());
        line("budget", &view::goal::budget(plan, app.now).join("; "));
    }
    line("demands", plan.rules.demand.map(|it| it.as_str()).unwrap_or_default());
    line("created", &duration::ago(plan.created_at, app.now));
    line("changed", &duration::ago(plan.updated_at, app.now));
    Ok(Reply::prose(out))
}
