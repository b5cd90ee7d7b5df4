//! Prints the lists of a stream, whichever program wrote it.

use punchlist_streams::event::{Event, Kind};
use punchlist_streams::{Options, Stream, recognise};

/// The output of `codex exec --json`.
const PRINTED: &str = r#"{"type":"thread.started","thread_id":"t1"}
{"type":"item.started","item":{"id":"item_0","type":"todo_list","items":[{"text":"Write the parser","completed":true},{"text":"Test it","completed":false}]}}
"#;

pub(crate) fn main() {
    let source = recognise(PRINTED.as_bytes()).expect("a program that we know");
    let mut lists = Vec::new();
    let mut sink = |event: &Event<'_>| {
        if let Kind::TodoList { items, .. } = &event.kind {
            lists.extend(
                items.iter().map(|it| format!("{} {}", it.status.name(), it.text.to_str())),
            );
        }
    };
    let mut stream = Stream::new(source, Options::default());
    // Bytes may arrive in pieces of any size.
    for piece in PRINTED.as_bytes().chunks(7) {
        stream.push(piece, &mut sink);
    }
    stream.end(&mut sink);
    assert_eq!(lists, ["completed Write the parser", "pending Test it"]);
}
