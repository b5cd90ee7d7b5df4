//! The JSON Schema of the final answer: whether an answer fits it, and the JSON of an answer that does.

use punchlist_sched::tool;
use serde_json::Value;

/// Why a text does not fit the schema.
pub(super) fn misfit(schema: &Value, text: &str) -> Option<String> {
    let json = match serde_json::from_str::<Value>(without_code_block(text)) {
        Ok(json) => json,
        Err(why) => return Some(format!("it is not JSON ({why})")),
    };
    // The schema was checked when the session began.
    tool::misfit(schema, &json).unwrap_or(None)
}

/// The final answer as programs want it: if it fits the schema, only the JSON that was checked.
pub(super) fn checked(schema: Option<&Value>, answer: String) -> String {
    match schema {
        Some(schema) if misfit(schema, &answer).is_none() => {
            without_code_block(&answer).trim().to_owned()
        }
        Some(_) | None => answer,
    }
}

/// The text without the lines of a Markdown code block around it.
fn without_code_block(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```").and_then(|it| it.strip_suffix("```"));
    let inside = inside.and_then(|it| it.split_once('\n'));
    inside.map_or(text, |(_, inside)| inside)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_that_fits_is_handed_on_without_its_code_block() {
        let schema = json!({"type": "object"});
        for (answer, expected) in [
            ("{\"a\": 1}", "{\"a\": 1}"),
            ("```json\n{\"a\": 1}\n```", "{\"a\": 1}"),
            ("  ```\n{\n}\n```\n", "{\n}"),
            ("```json\n[]\n```", "```json\n[]\n```"),
            ("No.", "No."),
        ] {
            assert_eq!(checked(Some(&schema), answer.to_owned()), expected);
            assert_eq!(checked(None, answer.to_owned()), answer);
        }
    }
}
