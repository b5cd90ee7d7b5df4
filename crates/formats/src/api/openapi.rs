//! The OpenAPI document, generated from the routes and types.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::routes::{self, Method, Param, ROUTES, Route};
use super::{MOST, PAGE, PREFIX};
use crate::view::schema::close;

/// Errors that any route may answer.
const PROBLEMS: &[(&str, &str)] = &[
    ("400", "The request is wrong"),
    ("401", "There is no token, or it is unknown"),
    ("403", "The token's role may not do this"),
    ("404", "There is no such thing, or the token does not see it"),
    ("405", "The method is not offered here"),
    ("408", "The request took too long"),
    ("409", "The plan was changed meanwhile, or somebody answered first"),
    ("413", "The body is too long"),
    ("415", "The body is not JSON"),
    ("421", "The server does not answer under that name"),
    ("422", "A rule of the plan refuses it, or the cursor is not one of this list"),
    ("429", "Too many requests"),
    ("500", "The server failed"),
    ("503", "The store cannot be used, or too many streams are open"),
];

/// The document.
pub fn document(version: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|it| {
        it.definitions_path = "/components/schemas".into();
    });
    let mut answers = settings.clone().for_serialize().into_generator();
    let mut bodies = settings.for_deserialize().into_generator();
    let problem = json!(routes::problem(&mut answers));
    let mut paths = Map::new();
    for route in ROUTES {
        let body = route.body.map(|shape| json!(shape(&mut bodies)));
        let answer = route.answer.map(|shape| json!(shape(&mut answers)));
        let at = paths.entry(format!("{PREFIX}{}", route.path)).or_insert_with(|| json!({}));
        let method = match route.method {
            Method::Get => "get",
            Method::Post => "post",
        };
        at[method] = operation(route, body, answer, &problem);
    }
    let mut schemas = answers.take_definitions(true);
    schemas.values_mut().for_each(close);
    // What is sent is closed by the types themselves.
    schemas.extend(bodies.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Punchlist",
            "version": version,
            "description": "Plans, items, questions, sessions and runs of one Punchlist database. A \
                            person creates tokens with `punchlist token create`.",
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation(route: &Route, body: Option<Value>, answer: Option<Value>, problem: &Value) -> Value {
    let mut parameters: Vec<Value> = path_parameters(route.path).collect();
    parameters.extend(route.query.iter().map(query_parameter));
    if route.id == "events" {
        parameters.push(json!({
            "name": "Last-Event-ID", "in": "header", "required": false,
            "description": "The id of the last event that was received",
            "schema": { "type": "string", "pattern": "^[0-9][0-9.-]{0,199}$" },
        }));
    }
    let content = match (route.id, answer) {
        ("events", _) => json!({ "text/event-stream": { "schema": { "type": "string" } } }),
        (_, Some(schema)) => json!({ "application/json": { "schema": schema } }),
        (_, None) => json!({ "application/json": { "schema": { "type": "object" } } }),
    };
    let status = if route.id == "createPlan" { "201" } else { "200" };
    let mut responses = Map::new();
    responses
        .insert(status.to_owned(), json!({ "description": route.summary, "content": content }));
    if route.id == "verifyItem" {
        let running = json!({
            "type": "object",
            "properties": { "running": { "type": "boolean", "const": true } },
            "required": ["running"],
        });
        responses.insert(
            "202".to_owned(),
            json!({
                "description": "The check takes long and goes on; its evidence appears in the journal",
                "content": { "application/json": { "schema": running } },
            }),
        );
    }
    for (status, description) in PROBLEMS {
        let content = json!({ "application/problem+json": { "schema": problem } });
        let response = json!({ "description": description, "content": content });
        responses.insert((*status).to_owned(), response);
    }
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "description": format!("Needs the role {}.", route.role.as_str()),
        "parameters": parameters,
        "responses": responses,
        "x-role": route.role.as_str(),
    });
    if let Some(schema) = body {
        let content = json!({ "application/json": { "schema": schema } });
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation
}

/// The parameters in braces.
fn path_parameters(path: &'static str) -> impl Iterator<Item = Value> {
    let names = path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'));
    names.map(|name| {
        let schema = match name {
            "item" => json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX }),
            _ => json!({ "type": "string", "format": "uuid" }),
        };
        json!({ "name": name, "in": "path", "required": true, "schema": schema })
    })
}

fn query_parameter(param: &Param) -> Value {
    let (name, description, schema) = match param {
        Param::Cursor => (
            "cursor",
            "Where the page begins: `next` of the page before",
            json!({ "type": "string", "maxLength": 500 }),
        ),
        Param::Count => (
            "cursor",
            "Where the page begins: `next` of the page before",
            json!({ "type": "string", "pattern": "^[0-9]{1,15}$" }),
        ),
        Param::Limit => (
            "limit",
            "How many entries the page has at most",
            json!({ "type": "integer", "minimum": 1, "maximum": MOST, "default": PAGE }),
        ),
        Param::Project => ("project", "Only of this project", json!({ "type": "string" })),
        Param::Name => ("name", "Only plans with this name", json!({ "type": "string" })),
        Param::Status => (
            "status",
            "Only items with this status",
            json!({ "enum": ["pending", "in_progress", "completed", "cancelled"] }),
        ),
        Param::Waiting => ("waiting", "Only questions that wait", json!({ "type": "boolean" })),
        Param::Running => {
            ("running", "Only runs that have not ended", json!({ "type": "boolean" }))
        }
        Param::Plan => ("plan", "Only of this plan", json!({ "type": "string", "format": "uuid" })),
        Param::Text => (
            "q",
            "The text to find, whatever its case",
            json!({ "type": "string", "minLength": 1, "maxLength": 500 }),
        ),
        Param::After => (
            "after",
            "As Last-Event-ID, for clients that cannot set a header",
            json!({ "type": "string", "pattern": "^[0-9][0-9.-]{0,199}$" }),
        ),
    };
    let required = *param == Param::Text;
    json!({
        "name": name, "in": "query", "required": required, "description": description,
        "schema": schema,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_of_the_document_leads_to_a_definition() {
        fn check(value: &Value, document: &Value) {
            if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
                let found = document.pointer(reference.strip_prefix('#').unwrap());
                assert!(found.is_some(), "{reference}");
            }
            match value {
                Value::Object(fields) => fields.values().for_each(|it| check(it, document)),
                Value::Array(values) => values.iter().for_each(|it| check(it, document)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let document = document("0");
        check(&document, &document);
        assert_eq!(document["openapi"], "3.1.0");
    }

    #[test]
    fn what_the_document_allows_is_understood() {
        let document = document("0");
        let mut schema = document["components"]["schemas"]["ChangeRequest"].clone();
        assert!(schema["properties"].get("ops").is_some(), "{schema}");
        schema["components"] = document["components"].clone();
        let valid = jsonschema::validator_for(&schema).unwrap();
        for ops in [
            json!([{"op": "add", "title": "a", "dependsOn": [1, "0199aaaa", {"entry": 1}]}]),
            json!([{"op": "next"}, {"op": "start", "item": 3}]),
            json!([{"op": "move", "item": 3, "to": {"after": 2}}, {"op": "move", "item": 1, "to": "front"}]),
            json!([{"op": "edit", "item": 3, "title": "b", "check": {"command": "true"}}]),
            json!([{"op": "plan", "title": "x"}]),
        ] {
            let change = json!({"ops": ops, "expect": 3});
            let errors: Vec<String> = valid.iter_errors(&change).map(|it| it.to_string()).collect();
            assert!(errors.is_empty(), "{change}: {errors:?}");
            serde_json::from_value::<super::super::ChangeRequest>(change).unwrap();
        }
        for bad in [
            json!([{"op": "add", "title": "a", "unknown": 1}]),
            json!([{"op": "add"}]),
            json!([{"op": "next", "item": 1}]),
            json!([{"op": "start", "item": -1}]),
            json!([{"op": "erase", "item": 1}]),
            json!([]),
        ] {
            let change = json!({"ops": bad});
            assert!(!valid.is_valid(&change), "{change}");
        }
    }

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let mut names: Vec<&str> = ROUTES.iter().map(|it| it.id).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROUTES.len());
    }
}
