//! What a model is offered: tools and schemas, at each surface.

use serde_json::Value;

use crate::dialect::{Dialect, Surface};

/// Everything that a client sees, in the client's format.
fn seen(dialect: Dialect, surface: Surface) -> (usize, String) {
    let tools: Vec<Value> = dialect.tools(surface).iter().map(|tool| tool.to_json()).collect();
    let section = dialect.prompt_section(surface).unwrap_or_default();
    (tools.len(), format!("{}{section}", Value::from(tools)))
}

fn pairs() -> impl Iterator<Item = (Dialect, Surface)> {
    Dialect::ALL.into_iter().flat_map(|dialect| Surface::ALL.map(|surface| (dialect, surface)))
}

#[test]
fn what_a_client_sees_in_all_stays_within_7_tools_and_about_1500_tokens() {
    let mut table = String::from("dialect     surface  tools  tokens\n");
    for (dialect, surface) in pairs() {
        let (tools, text) = seen(dialect, surface);
        let tokens = text.len() / 4;
        assert!(tools <= 7 && tokens <= 1_500, "{dialect} {surface}: {tools} tools, {tokens}");
        table.push_str(&format!(
            "{dialect:<11} {surface:<8} {tools:>5} {tokens:>7}\n",
            dialect = dialect.as_str(),
            surface = surface.as_str()
        ));
    }
    insta::assert_snapshot!("budget", table);
}

#[test]
fn a_dialect_is_a_set_of_tools_and_a_prompt_section() {
    for dialect in Dialect::ALL {
        for surface in [Surface::Thin, Surface::Full] {
            let tools: Vec<Value> = dialect.tools(surface).iter().map(|it| it.to_json()).collect();
            let mut text = serde_json::to_string_pretty(&tools).unwrap();
            if let Some(section) = dialect.prompt_section(surface) {
                text.push_str("\n\n");
                text.push_str(section);
            }
            insta::assert_snapshot!(format!("{dialect}_{surface}"), text);
        }
    }
}

#[test]
fn off_offers_nothing() {
    for dialect in Dialect::ALL {
        assert!(dialect.tools(Surface::Off).is_empty());
        assert_eq!(dialect.prompt_section(Surface::Off), None);
    }
}

#[test]
fn thin_has_one_line_descriptions_and_no_prompt_section_and_full_has_more() {
    for dialect in Dialect::ALL {
        assert_eq!(dialect.prompt_section(Surface::Thin), None);
        assert!(dialect.prompt_section(Surface::Full).is_some());
        let (thin, full) = (dialect.tools(Surface::Thin), dialect.tools(Surface::Full));
        assert_eq!(thin.len(), full.len());
        for (thin, full) in thin.iter().zip(&full) {
            assert_eq!(thin.name, full.name);
            assert!(thin.description.len() < 80 && !thin.description.contains('\n'));
            assert!(thin.description.len() < full.description.len());
            // A field may be named `description`, but no schema may have one.
            assert!(!thin.input_schema.to_string().contains("\"description\":\""));
        }
    }
}

#[test]
fn our_additions_to_arguments_are_offered_in_full_only() {
    let text = |dialect: Dialect, surface| dialect.tools(surface)[0].input_schema.to_string();
    for field in ["dependsOn", "parent"] {
        assert!(!text(Dialect::Turn, Surface::Thin).contains(field));
        assert!(text(Dialect::Turn, Surface::Full).contains(field));
    }
    assert!(!text(Dialect::TodoWrite, Surface::Thin).contains("cancelled"));
    assert!(text(Dialect::TodoWrite, Surface::Full).contains("cancelled"));
}

#[test]
fn todo_write_says_what_it_is_for_and_how_long_a_text_may_be() {
    let [tool] = &Dialect::TodoWrite.tools(Surface::Full)[..] else { panic!("one tool") };
    for words in [
        "the user sees from it how far you are",
        "it is your memory",
        "non-trivial work requiring planning",
    ] {
        assert!(tool.description.contains(words), "{words}");
    }
    for surface in [Surface::Thin, Surface::Full] {
        let tool = &Dialect::TodoWrite.tools(surface)[0];
        let entry = &tool.input_schema["properties"]["todos"]["items"]["properties"];
        assert_eq!(entry["content"]["maxLength"], 500);
        assert_eq!(entry["activeForm"]["maxLength"], 500);
    }
}

#[test]
fn the_plan_section_says_when_to_plan_and_when_to_answer() {
    let section = Dialect::Turn.prompt_section(Surface::Full).unwrap();
    for words in [
        "three or more distinct steps",
        "Don't plan for simple questions",
        "`list_todo` shows what is there already",
        "One at a time",
        "at once, before the next",
        "What became irrelevant is `complete_todo` with status cancelled and why",
        "Several calls in one answer are fine",
        "`list_todo` shows what remains",
        "directly or delegate it",
        "MUST NOT give your final answer while items remain",
    ] {
        assert!(section.contains(words), "{words}");
    }
}

#[test]
fn the_result_of_todo_manager_may_carry_a_reminder() {
    let tool = &Dialect::Manager.tools(Surface::Full)[0];
    let output = tool.output_schema.as_ref().unwrap();
    assert_eq!(output["properties"]["reminder"]["type"], "string");
}

#[test]
fn schemas_are_valid_draft_2020_12_with_subschemas_inlined() {
    for (dialect, surface) in pairs() {
        for tool in dialect.tools(surface) {
            for schema in [Some(tool.input_schema), tool.output_schema].into_iter().flatten() {
                jsonschema::draft202012::meta::validate(&schema).unwrap();
                assert_eq!(schema["type"], "object");
                assert!(!schema.to_string().contains("$ref"), "{}", tool.name);
            }
        }
    }
}

#[test]
fn conversation_turn_and_agent_are_never_arguments() {
    for (dialect, surface) in pairs() {
        let (_, text) = seen(dialect, surface);
        for word in ["conversation", "turnId", "agentId", "sessionId", "planId"] {
            assert!(!text.contains(&format!("\"{word}")), "{dialect} {surface}: {word}");
        }
    }
}

#[test]
fn only_looking_is_read_only() {
    let read_only = |dialect: Dialect| -> Vec<&str> {
        let tools = dialect.tools(Surface::Full).into_iter();
        tools.filter(|tool| tool.read_only).map(|tool| tool.name).collect()
    };
    assert_eq!(read_only(Dialect::Turn), ["list_todo"]);
    assert!(read_only(Dialect::Manager).is_empty());
    for whole in [Dialect::TodoWrite, Dialect::WriteTodos, Dialect::UpdatePlan] {
        assert!(read_only(whole).is_empty());
    }
    assert_eq!(read_only(Dialect::Tasks), ["TaskGet", "TaskList"]);
}

#[test]
fn names_round_trip_and_nothing_else_parses() {
    for (dialect, surface) in pairs() {
        assert_eq!(dialect.to_string().parse(), Ok(dialect));
        assert_eq!(surface.to_string().parse(), Ok(surface));
    }
    let error = "nope".parse::<Dialect>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown dialect: use manager, turn, todowrite, write_todos, update_plan or tasks"
    );
    assert!("Full".parse::<Surface>().is_err());
}

#[test]
fn most_open_items_are_30_for_manager_20_for_todowrite_and_else_as_configured() {
    let caps = Dialect::ALL.map(Dialect::open_items);
    assert_eq!(caps, [Some(30), None, Some(20), None, None, None]);
}
