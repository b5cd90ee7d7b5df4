//! Makes a server's schema safe to compile, to check arguments against, and to send to any provider: no
//! references, and of bounded size.
//!
//! References are replaced by what they refer to. A reference that leads back to itself, or too deep,
//! becomes a schema that accepts anything: the server checks its arguments itself. Without this a small
//! schema could take for ever to compile or to check.

use serde_json::{Map, Value, json};

/// The largest schema, as text.
const LARGEST: usize = 32 * 1024;
/// Most values in a schema without references.
const MOST_VALUES: usize = 4_000;
/// How many references may lead to each other.
const DEEPEST: usize = 16;

/// Keywords whose values are names with schemas.
const NAMED: &[&str] = &["properties", "patternProperties", "dependentSchemas"];
/// Keywords whose values are data and not schemas.
const DATA: &[&str] = &["enum", "const", "default", "examples", "required", "dependentRequired"];
/// Keywords that name schemas or refer to them.
const REFERRING: &[&str] = &[
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
    "$defs",
    "definitions",
];

/// A schema that can be used in place of the server's, or why there is none.
pub(super) fn usable(schema: &Map<String, Value>) -> Result<Value, String> {
    let whole = Value::Object(schema.clone());
    let size = whole.to_string().len();
    if size > LARGEST {
        return Err(format!("its schema has {size} bytes; {LARGEST} are the limit"));
    }
    let mut usable = Schema { whole: &whole, left: MOST_VALUES }
        .inlined(&whole, &mut Vec::new())
        .ok_or("its schema is too large when references are followed")?;
    match usable.get("type") {
        // Providers insist on an object.
        None => usable.as_object_mut().and_then(|it| it.insert("type".to_owned(), json!("object"))),
        Some(kind) if kind == "object" => None,
        Some(_) => return Err("its arguments are not an object".to_owned()),
    };
    Ok(usable)
}

/// A schema whose references are being replaced.
struct Schema<'a> {
    whole: &'a Value,
    /// How many more values the result may have.
    left: usize,
}

impl<'a> Schema<'a> {
    /// A part without references. `above` are the references that led to it. `None` if the result would
    /// have too many values.
    fn inlined(&mut self, part: &'a Value, above: &mut Vec<&'a str>) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        let fields = match part {
            Value::Object(fields) => fields,
            Value::Array(all) => {
                let all = all.iter().map(|it| self.inlined(it, above));
                return all.collect::<Option<Vec<_>>>().map(Value::Array);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return Some(part.clone());
            }
        };
        let mut out = Map::new();
        if let Some(to) = fields.get("$ref").and_then(Value::as_str)
            && above.len() < DEEPEST
            && !above.contains(&to)
            && let Some(target) = to.strip_prefix('#').and_then(|it| self.whole.pointer(it))
        {
            above.push(to);
            if let Value::Object(found) = self.inlined(target, above)? {
                out = found;
            }
            above.pop();
        }
        for (name, value) in fields.iter().filter(|(name, _)| !REFERRING.contains(&name.as_str())) {
            let value = if let Value::Object(schemas) = value
                && NAMED.contains(&name.as_str())
            {
                let schemas =
                    schemas.iter().map(|(name, it)| Some((name.clone(), self.inlined(it, above)?)));
                Value::Object(schemas.collect::<Option<_>>()?)
            } else if DATA.contains(&name.as_str()) {
                value.clone()
            } else {
                self.inlined(value, above)?
            };
            out.insert(name.clone(), value);
        }
        Some(Value::Object(out))
    }
}
