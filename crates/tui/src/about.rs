//! What a call is about, in a few words. Pure.

use punchlist_agent::provider::{Arguments, ModelCall};
use punchlist_agent::workers::delegate::DELEGATE;
use punchlist_formats::text::one_line;

/// Arguments that say best what a call is about, the best first.
const TELLING: [&str; 6] = ["command", "path", "pattern", "task", "query", "url"];

/// What a call is about, in one line. A delegation names the worker first.
pub(crate) fn about(call: &ModelCall) -> String {
    let Arguments::Object(arguments) = &call.arguments else { return String::new() };
    let telling = TELLING.iter().find_map(|it| arguments.get(it)?.as_str());
    let text = telling.map_or_else(|| arguments.to_string(), str::to_owned);
    let worker = arguments.get("agentType").and_then(|it| it.as_str());
    let text = match worker.filter(|_| call.tool == DELEGATE) {
        Some(worker) => format!("{worker}: {text}"),
        None => text,
    };
    one_line(&text).into_owned()
}
