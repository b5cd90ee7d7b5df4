//! The output of `--json` as types, from which the published JSON Schema is generated.
//!
//! [`super::json`] and the verbs write the values. A test validates the real output of every verb
//! against the schema. Journal entries and exports keep the names of the store.

#[expect(dead_code, reason = "the schema is generated from these types; no value is created")]
mod plan;
#[expect(
    dead_code,
    clippy::large_enum_variant,
    reason = "the schema is generated from these types; no value is created"
)]
mod sessions;
#[expect(
    dead_code,
    clippy::large_enum_variant,
    reason = "the schema is generated from these types; no value is created"
)]
mod verbs;

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

pub use self::plan::{Aim, Item, PlanHeader, Progress};
pub(crate) use self::plan::{Status, Time};
pub(crate) use self::sessions::Used;
pub use self::verbs::Change;
pub(crate) use self::verbs::{Entry, Question, Summary};

/// Each verb, or variant of a verb, and the definition of its output. Unified events have a schema
/// of their own.
const ANSWERS: &[(&str, &str)] = &[
    ("add", "Change"),
    ("adopt", "Adopt"),
    ("answer", "Question"),
    ("approve", "Change"),
    ("doctor", "Doctor"),
    ("done", "Change"),
    ("edit", "Change"),
    ("forget", "Change"),
    ("gate", "Gate"),
    ("goal", "Goal"),
    ("import", "Import"),
    ("init", "Init"),
    ("install", "Install"),
    ("list", "List"),
    ("log", "Entry"),
    ("models", "Models"),
    ("move", "Change"),
    ("move-project", "MoveProject"),
    ("next", "Next"),
    ("plans", "Plans"),
    ("policy", "Policy"),
    ("questions", "Questions"),
    ("release", "Change"),
    ("reminders", "Reminders"),
    ("reopen", "Change"),
    ("replace", "Change"),
    ("run --dry-run", "DryRun"),
    ("sessions", "Sessions"),
    ("show", "Show"),
    ("skip", "Change"),
    ("start", "Change"),
    ("tools", "Tools"),
    ("undo", "Change"),
    ("uninstall", "Install"),
    ("verify", "Verify"),
    ("wait", "Change"),
];

/// Each verb with a definition, and the definition's name.
pub fn answers() -> impl Iterator<Item = (&'static str, &'static str)> {
    ANSWERS.iter().copied()
}

/// One document with all definitions.
pub fn document() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    for add in verbs::ALL {
        add(&mut generator);
    }
    let mut definitions: BTreeMap<String, Value> =
        generator.take_definitions(true).into_iter().collect();
    definitions.values_mut().for_each(close);
    let answers: Map<String, Value> =
        ANSWERS.iter().map(|(verb, name)| ((*verb).to_owned(), json!(name))).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What punchlist prints with --json",
        "description": "`x-answers` names the definition of each verb's answer. Errors are an `Error` on stderr, warnings beside a result a `Warning`. `events`, `watch`, `run`, `do` and `resume` print unified events: see events.schema.json.",
        "x-answers": answers,
        "$defs": definitions,
    })
}

/// Adds a type's definition.
fn define<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// Forbids fields that are not listed, unless the schema says otherwise.
pub(crate) fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("properties") && !fields.contains_key("additionalProperties") {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
            // Names of properties are not schemas.
            for (name, value) in fields.iter_mut() {
                match (name.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        properties.values_mut().for_each(close);
                    }
                    (_, value) => close(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
