//! The list as XML, as the dialect `manager` shows it to a model.

use punchlist_model::{Plan, Status};

use crate::text::escape::xml_text;
use crate::text::one_line;

/// `<todos><todo id="1" status="doing">…</todo></todos>`: ids are positions, in order.
pub fn xml(plan: &Plan) -> String {
    let mut out = String::from("<todos>");
    for (at, item) in plan.listed().into_iter().enumerate() {
        let id = item.position.map_or_else(|| (at + 1).to_string(), |it| it.to_string());
        let (status, text) = (status(item.status), xml_text(&one_line(&item.title)));
        out.push_str(&format!(r#"<todo id="{id}" status="{status}">{text}</todo>"#));
    }
    out.push_str("</todos>");
    out
}

/// The dialect's word for a status.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Pending => "todo",
        Status::InProgress => "doing",
        Status::Completed => "done",
        Status::Cancelled => "skipped",
    }
}
