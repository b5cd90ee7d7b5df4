//! `punchlist show`.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use punchlist_engine::outputs::last_call::{self, LastCall};
use punchlist_engine::plan_service;
use punchlist_formats::text;
use punchlist_formats::typed::items;
use punchlist_formats::view::{self, detail, json, log};
use punchlist_model::session::Store;
use punchlist_model::store::PlanStore;
use punchlist_model::{Item, Number, Plan, Revision};

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::evidence;
use crate::fail::Fail;
use crate::items::Typed;
use crate::print::Reply;
use crate::{outputs, pager, person, places, plan_choice};

/// Show one item in full, or the plan itself
///
/// For an item: every field that is set, its history, and the output of its last run, shortened.
/// Without an item: the plan's name, goal and progress.
#[derive(clap::Args)]
pub(crate) struct Show {
    /// The item: its number, title or id, as `punchlist list --all` shows it
    #[arg(value_name = "ITEM")]
    item: Option<Typed>,
    /// Print the whole output of the item's last run; on a terminal, in your pager
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
        let (store, plan) = plan_choice::whole_there(app)?;
        let Some(typed) = self.item else { return header(app, &*store, &plan) };
        let item = items::find(&plan, &typed.within(&plan)?)?;
        if self.output {
            return output(app, &*store, &plan, item);
        }
        let stale = evidence::stale(&plan);
        if app.globals.json {
            let key = block_on(plan_service::attachment(&*store, plan.id))?;
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

/// Prints the whole output of the item's last run.
fn output(app: &App, store: &dyn Store, plan: &Plan, item: &Item) -> Result<Reply, Fail> {
    let number = item.number;
    let nothing = |what: &str| {
        let title = text::one_line(&item.title);
        Err(Fail::not_found(format!("item {number} \"{title}\" {what}"))
            .hint(format!("`punchlist show {number}` shows the item.")))
    };
    let Some(call) = last_call(store, plan, number)? else {
        return nothing("was never run");
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
    if call.is_elsewhere() {
        reply.notes.push("the middle of the output is only on the machine that ran it".to_owned());
    }
    if output.whole.as_ref().is_some_and(|it| !Path::new(it).exists()) {
        let days = outputs::DAYS;
        reply.notes.push(format!(
            "the middle of the output is gone: whole outputs are kept for {days} days, and the newest 2 GiB of them"
        ));
    }
    Ok(reply)
}

/// Shows the plan's name, goal and progress.
fn header(app: &App, store: &dyn PlanStore, plan: &Plan) -> Result<Reply, Fail> {
    let key = block_on(plan_service::attachment(store, plan.id))?;
    let stale = evidence::stale(plan);
    if app.globals.json {
        let mut value = serde_json::json!({
            "plan": json::header(plan, key.as_ref()),
            "progress": json::progress(plan.progress()),
        });
        if plan.goal.is_some() {
            value["goal"] = json::aim(plan, &stale, app.now, person::reader());
        }
        return Ok(Reply::json(&value));
    }
    Ok(Reply::prose(detail::header(plan, key.as_ref(), &stale, app.now)))
}
