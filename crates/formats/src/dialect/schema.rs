//! Short functions for JSON Schemas, so that a tool's schema is easy to read.
//!
//! They use only keywords that every provider accepts at any depth: no references, and no
//! combinators at the top level, where some providers refuse them.

use serde_json::{Value, json};

/// An object with required fields. Unknown fields are allowed.
pub(super) fn object(properties: Value, required: &[&str]) -> Value {
    if required.is_empty() {
        json!({"type": "object", "properties": properties})
    } else {
        json!({"type": "object", "properties": properties, "required": required})
    }
}

/// A list with at least `least` entries.
pub(super) fn list(items: Value, least: u32) -> Value {
    if least == 0 {
        json!({"type": "array", "items": items})
    } else {
        json!({"type": "array", "items": items, "minItems": least})
    }
}

/// A text that is not empty.
pub(super) fn text() -> Value {
    json!({"type": "string", "minLength": 1})
}

/// Any text.
pub(super) fn any_text() -> Value {
    json!({"type": "string"})
}

/// A text, or null.
pub(super) fn text_or_null() -> Value {
    json!({"type": ["string", "null"]})
}

/// A whole number that is at least `least`.
pub(super) fn integer(least: u32) -> Value {
    json!({"type": "integer", "minimum": least})
}

/// A count in a result.
pub(super) fn count() -> Value {
    json!({"type": "integer"})
}

/// One of some words.
pub(super) fn choice(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// Adds a description to a schema.
pub(super) fn with(mut schema: Value, description: &str) -> Value {
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".into(), description.into());
    }
    schema
}

/// Adds a field to an object schema, for the full surface.
pub(super) fn add(properties: &mut Value, name: &str, schema: Value) {
    if let Some(fields) = properties.as_object_mut() {
        fields.insert(name.into(), schema);
    }
}
