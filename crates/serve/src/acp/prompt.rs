//! A prompt as text: what the user wrote, with what the client attached. Pure.

use punchlist_formats::prompt::fence;
use punchlist_formats::text::one_line;
use serde_json::Value;

use super::rpc::Error;

/// The text of a prompt. Attached resources are fenced as data.
pub(super) fn text(blocks: &Value) -> Result<String, Error> {
    let blocks = blocks
        .as_array()
        .ok_or_else(|| Error::invalid_params("\"prompt\" is a list of content blocks"))?;
    let parts: Vec<String> = blocks.iter().map(block).collect::<Result<_, _>>()?;
    let text = parts.join("\n\n");
    if text.trim().is_empty() {
        return Err(Error::invalid_params("the prompt is empty: say what is to be done"));
    }
    Ok(text)
}

fn block(block: &Value) -> Result<String, Error> {
    let field = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
    let missing = |name: &str| Error::invalid_params(format!("a content block has no {name:?}"));
    match block["type"].as_str() {
        Some("text") => field(block, "text").ok_or_else(|| missing("text")),
        Some("resource_link") => {
            let uri = field(block, "uri").ok_or_else(|| missing("uri"))?;
            let name = field(block, "title").or_else(|| field(block, "name")).unwrap_or_default();
            Ok(format!("[{}]({})", one_line(&name), one_line(&uri)))
        }
        Some("resource") => {
            let resource = &block["resource"];
            let uri = field(resource, "uri").ok_or_else(|| missing("uri"))?;
            let uri = one_line(&uri).replace('`', "'");
            match field(resource, "text") {
                Some(text) => Ok(format!("{uri}:\n{}", fence("data", &text))),
                None => Ok(format!("{uri} (attached, but it is not text)")),
            }
        }
        Some("image" | "audio") => {
            Err(Error::invalid_params("images and sound cannot be read: describe them in words"))
        }
        Some(other) => {
            let other: String = other.chars().take(100).collect();
            Err(Error::invalid_params(format!("there is no content block of type {other:?}")))
        }
        None => Err(missing("type")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn attached_texts_are_fenced() {
        let blocks = json!([
            {"type": "text", "text": "Fix this"},
            {"type": "resource_link", "name": "a.rs", "uri": "file:///p/a.rs"},
            {"type": "resource", "resource": {"uri": "file:///p/b.md", "text": "```\nx\n```"}},
            {"type": "resource", "resource": {"uri": "file:///p/c.png", "blob": "AAAA"}},
        ]);
        assert_eq!(
            text(&blocks).unwrap(),
            "Fix this\n\n[a.rs](file:///p/a.rs)\n\nfile:///p/b.md:\n````data\n```\nx\n```\n````\n\n\
             file:///p/c.png (attached, but it is not text)"
        );
    }

    #[test]
    fn a_prompt_that_cannot_be_read_is_refused() {
        for bad in [
            json!(null),
            json!("text"),
            json!([]),
            json!([{"type": "text", "text": "  "}]),
            json!([{"type": "text"}]),
            json!([{"type": "image", "data": "AAAA", "mimeType": "image/png"}]),
            json!([{"type": "hologram"}]),
            json!([7]),
        ] {
            assert!(text(&bad).is_err(), "{bad}");
        }
    }
}
