//! Tests of validating a call.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::{Value, json};

use super::{BadTool, Preview, Tool, Tools, Work};
use crate::call::{Checked, Ended, Output};

struct Fake {
    name: &'static str,
    schema: Value,
}

impl Tool for Fake {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "for tests"
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, arguments: &Value) -> Result<Checked, String> {
        match arguments["path"].as_str() {
            Some("/etc/passwd") => Err("that is not in the project".to_owned()),
            Some("panic") => panic!("no such index"),
            Some(_) | None => Ok(Checked::default()),
        }
    }

    fn preview(&self, _arguments: &Value) -> Preview {
        panic!("nothing to show")
    }

    fn run(&self, _arguments: Value, _work: Work) -> BoxFuture<'static, Ended> {
        Box::pin(std::future::ready(Ended::Well(Output::default())))
    }
}

fn read(schema: Value) -> Arc<dyn Tool> {
    Arc::new(Fake { name: "read", schema })
}

fn tools() -> Tools {
    let mut tools = Tools::new();
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "line": {"type": "integer", "minimum": 1}},
        "required": ["path"],
        "additionalProperties": false
    });
    tools.add(read(schema)).unwrap();
    tools
}

#[test]
fn a_call_is_looked_at_by_name_by_schema_and_by_the_tool_itself() {
    let tools = tools();
    let check = |name: &str, arguments: Value| tools.check(name, &arguments);
    assert_eq!(check("read", json!({"path": "a"})), Ok(Checked::default()));
    let told = |name: &str, arguments: Value| check(name, arguments).unwrap_err();
    let all = [
        told("write", json!({})),
        told("read", json!({"path": 3, "line": 0, "else": 1})),
        told("read", json!([])),
        told("read", json!({"path": "/etc/passwd"})),
        told("read", json!({"path": "panic"})),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn what_is_wrong_with_a_huge_argument_is_said_briefly() {
    let said = tools().check("read", &json!({"path": ["x".repeat(10_000_000)]})).unwrap_err();
    assert!(said.len() < 2_000, "{} bytes", said.len());
    let said = tools().check(&"x".repeat(10_000_000), &Value::Null).unwrap_err();
    assert!(said.len() < 2_000, "{} bytes", said.len());
}

#[test]
fn a_tool_that_cannot_be_offered_is_refused_at_once() {
    let mut tools = tools();
    assert_eq!(tools.add(read(json!({}))), Err(BadTool::Twice("read".into())));
    let other = Arc::new(Fake { name: "other", schema: json!({"type": "nonsense"}) });
    assert!(matches!(tools.add(other), Err(BadTool::Schema { .. })));
}

#[test]
fn a_tool_that_cannot_show_what_it_would_do_is_shown_by_its_name() {
    assert_eq!(tools().preview("read", &json!({})).what, "read");
}
