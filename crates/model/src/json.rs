//! Limits on how deeply JSON from outside may be nested.

/// The maximum nesting of JSON from outside. Stored JSON is nested deeper still, and JSON readers
/// have a limit: whatever is accepted must be readable again.
pub const DEEPEST: usize = 32;

/// Whether a value is nested too deeply. `above` is the number of levels around it.
pub fn is_too_deep(value: &serde_json::Value, above: usize) -> bool {
    // A stack instead of recursion: the depth is not known yet.
    let mut stack = vec![(value, above)];
    while let Some((value, above)) = stack.pop() {
        let inner: Box<dyn Iterator<Item = &serde_json::Value>> = match value {
            serde_json::Value::Array(values) => Box::new(values.iter()),
            serde_json::Value::Object(fields) => Box::new(fields.values()),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::String(_) => continue,
        };
        if above >= DEEPEST {
            return true;
        }
        stack.extend(inner.map(|it| (it, above + 1)));
    }
    false
}

/// Whether the brackets of a text are nested too deeply, be it valid JSON or not. Brackets within
/// strings do not count.
pub fn is_text_too_deep(text: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > DEEPEST {
                    return true;
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Replaces everything below `most` levels by `null`, so that the rest can be read.
pub fn cut_deep(text: &[u8], most: usize) -> Vec<u8> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        let is_kept = depth <= most;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth == most + 1 {
                    out.extend_from_slice(b"null");
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if is_kept && depth <= most {
            out.push(*byte);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_two_levels_are_taken_and_no_more() {
        for (depth, deep) in [(1, false), (31, false), (32, false), (33, true), (120, true)] {
            for [open, close] in [["[", "]"], ["{\"a\":", "}"]] {
                let text = open.repeat(depth - 1) + "[]" + &close.repeat(depth - 1);
                let value = serde_json::from_str(&text).unwrap();
                assert_eq!(is_too_deep(&value, 0), deep, "{depth}");
                assert_eq!(is_too_deep(&value, 1), depth >= 32, "{depth}");
                assert_eq!(is_text_too_deep(text.as_bytes()), deep, "{depth}");
            }
        }
        let quoted = serde_json::to_string(&"[\"".repeat(50)).unwrap();
        assert!(!is_text_too_deep(quoted.as_bytes()));
        assert!(is_text_too_deep("[".repeat(1_000_000).as_bytes()));
    }

    #[test]
    fn what_is_too_deep_is_cut_out_and_the_rest_stays() {
        let deep = "[".repeat(5_000) + "{\"x\":\"]\"}" + &"]".repeat(5_000);
        let text = format!("{{\"a\":[1,{deep},\"[[[\\\"\"],\"b\":{{\"c\":{deep}}}}}");
        let cut: serde_json::Value = serde_json::from_slice(&cut_deep(text.as_bytes(), 2)).unwrap();
        assert_eq!(cut, serde_json::json!({"a": [1, null, "[[[\""], "b": {"c": null}}));
        let flat = b"{\"a\": [1, {\"b\": \"}\"}]}";
        assert_eq!(cut_deep(flat, 3), flat);
    }
}
