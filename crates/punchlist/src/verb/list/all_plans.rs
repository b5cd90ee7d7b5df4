//! `punchlist list --all-plans`.

use punchlist_formats::text;
use punchlist_formats::view::plans::{Folded, called};
use punchlist_model::store::Filter;
use serde_json::Value;

use super::{List, View, none_yet};
use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::print::Reply;
use crate::verb::plans;

/// Shows the plans of the project one below the other, without finished and archived ones.
pub(super) fn run(list: &List, app: &App, view: View) -> Result<Reply, Fail> {
    let Some(store) = app.store_to_read()? else { return none_yet(app, view) };
    let project = Some(app.project()?.name.clone());
    let mut summaries = block_on(store.plans(Filter { project, ..Filter::default() }))?;
    let live = plans::live(app, &*store, &summaries)?;
    let folded = Folded::away(&mut summaries, &live);
    let (mut values, mut out) = (Vec::<Value>::new(), String::new());
    for summary in &summaries {
        let plan = block_on(store.whole(summary.id))?;
        let only = list.only(app, &*store, &plan)?;
        if only
            .as_ref()
            .is_some_and(|only| !plan.listed().iter().any(|it| only.contains(&it.number)))
        {
            continue;
        }
        if view == View::Json {
            values.push(list.json(app, &*store, &plan, only.as_ref())?);
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        // The box of this view already has the title.
        if view != View::List {
            let title = text::one_line(&called(summary)).into_owned();
            out.push_str(&format!("{}  {title}\n", summary.id.short()));
        }
        out.push_str(&list.drawn(app, view, &plan, only.as_ref()));
    }
    if view == View::Json {
        let folded = folded.json();
        return Ok(Reply::json(&serde_json::json!({"plans": values, "folded": folded})));
    }
    if out.is_empty() {
        out.push_str(if list.filter.is_all() { "No open plan here.\n" } else { "No item fits.\n" });
    }
    out.push_str(&folded.line());
    Ok(Reply::text(out))
}
