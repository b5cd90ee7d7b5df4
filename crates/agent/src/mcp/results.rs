//! The result of a call as text for a model. The caller fences it as data.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use super::words::one_line;

/// The longest name of something that is not shown.
const LONGEST_NAME: usize = 200;

/// The parts of a result that are text, and a line for each that is not.
pub(super) fn text(result: &CallToolResult) -> String {
    let mut parts: Vec<String> = result.content.iter().map(block).collect();
    if let Some(value) = &result.structured_content {
        // Most servers repeat it as text.
        let is_repeated =
            |part: &String| serde_json::from_str::<Value>(part).ok().as_ref() == Some(value);
        if !parts.iter().any(is_repeated) {
            parts.push(value.to_string());
        }
    }
    parts.retain(|it| !it.is_empty());
    if parts.is_empty() { "(no output)".to_owned() } else { parts.join("\n") }
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(it) => it.text.clone(),
        ContentBlock::Image(it) => not_shown("image", Some(&it.mime_type), it.data.len()),
        ContentBlock::Audio(it) => not_shown("audio", Some(&it.mime_type), it.data.len()),
        ContentBlock::Resource(it) => match &it.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[resource {}]\n{text}", one_line(uri, LONGEST_NAME))
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let what = format!("resource {}", one_line(uri, LONGEST_NAME));
                not_shown(&what, mime_type.as_deref(), blob.len())
            }
            _ => "[resource of an unknown kind, not shown]".to_owned(),
        },
        ContentBlock::ResourceLink(it) => {
            let name = one_line(&it.name, LONGEST_NAME);
            format!("[link to resource {}: {name}]", one_line(&it.uri, LONGEST_NAME))
        }
        _ => "[content of an unknown kind, not shown]".to_owned(),
    }
}

/// A line for content in Base64, of which four characters are three bytes.
fn not_shown(what: &str, kind: Option<&str>, encoded: usize) -> String {
    let kind = kind.map(|it| format!(" {}", one_line(it, 40))).unwrap_or_default();
    format!("[{what}{kind}, {} bytes, not shown]", encoded / 4 * 3)
}
