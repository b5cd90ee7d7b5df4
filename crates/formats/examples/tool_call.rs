//! One tool call, from the model's arguments to the reply.

use punchlist_formats::dialect::{Answer, Api, Dialect, Surface};
use punchlist_model::{IdSource, Plan, PlanId, Timestamp};

pub(crate) fn main() {
    let dialect = Dialect::TodoWrite;
    let tools = dialect.tools(Surface::Full);
    assert_eq!(tools[0].for_api(Api::Anthropic)["name"], "TodoWrite");

    let sent = br#"{"todos": [{"content": "Parse", "status": "done", "activeForm": "Parsing"}]}"#;
    // Invalid arguments are reported to the model in the words of its tool.
    let reply = dialect.call("TodoWrite", sent).expect_err("there is no status \"done\"");
    assert!(reply.is_error && reply.text.contains("status"), "{}", reply.text);

    let read = Dialect::Turn.call("list_todo", b"{}").expect("a call that only reads");
    let at = Timestamp::UNIX_EPOCH;
    let plan = Plan::new(PlanId(IdSource::fixed(at, 1).nth(0)), "/project", at);
    assert!(read.ops().is_none());
    assert!(read.reply(Answer::Read(plan.into())).text.contains("\"total\":0"));
}
