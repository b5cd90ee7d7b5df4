//! What `--json` prints, as types: the published JSON Schema is made from them.
//!
//! [`super::json`] and the verbs write the values; a test holds the real output of every verb against
//! the schema. Journal entries and exports keep the names under which they are stored.

#[expect(dead_code, reason = "these types are described, not made")]
mod plan;
#[expect(dead_code, clippy::large_enum_variant, reason = "these types are described, not made")]
mod verbs;

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

pub use self::plan::{Aim, Item, PlanHeader, Progress};
pub use self::verbs::Change;

/// A verb, or a use of one, and the definition of what it answers. Verbs that answer with a list of
/// unified events are described by the schema of events.
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
    ("show", "Show"),
    ("skip", "Change"),
    ("start", "Change"),
    ("tools", "Tools"),
    ("undo", "Change"),
    ("uninstall", "Install"),
    ("verify", "Verify"),
    ("wait", "Change"),
];

/// Every verb that has a definition, and its name.
pub fn answers() -> impl Iterator<Item = (&'static str, &'static str)> {
    ANSWERS.iter().copied()
}

/// One document with a definition for every answer.
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
        "description": "`x-answers` names the definition of each verb's answer. Errors are an `Error` on stderr, warnings beside a result a `Warning`. `events`, `watch` and `run` print unified events: see events.schema.json.",
        "x-answers": answers,
        "$defs": definitions,
    })
}

/// Makes sure of a type's definition.
fn define<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// An object has the fields that are named and no others, unless it says otherwise.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("properties") && !fields.contains_key("additionalProperties") {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
            // Names of properties are no schemas.
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
