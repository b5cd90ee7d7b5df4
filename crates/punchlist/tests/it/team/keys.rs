//! Which keys of model providers the programs of a team get.

use super::*;

const CANARY: &str = "canary-81f0a6c2";

const MEMBERS: &str = r#"
[[team.members]]
agentType = "claude"
[[team.members]]
agentType = "codex"
[[team.members]]
agentType = "gemini"
env = ["WORK_CREDENTIAL"]
[[team.members]]
name = "editor"
agentType = "acp"
command = ["editor"]
"#;

#[test]
fn keys_of_providers_reach_no_member_but_those_that_sign_in_with_them_or_are_given_them() {
    let world = world(MEMBERS);
    for (name, program) in
        [("claude", CLAUDE), ("codex", CODEX), ("gemini", GEMINI), ("editor", ACP)]
    {
        let writes = "env > \"$HOME/env.$name\"";
        world.write(&format!("home/bin/{name}"), format!("{BEGINS}{writes}\n{program}"));
    }
    let provider = "kind = 'openai-chat'\nbase_url = 'http://127.0.0.1:9/v1'";
    world.write(
        "home/.config/punchlist/config.toml",
        format!("[providers.work]\n{provider}\nkey = '$WORK_CREDENTIAL'\n"),
    );
    let mut command = command(&world, &[], &["--send", "@all hello"]);
    let keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "WORK_CREDENTIAL"];
    for key in keys {
        command.env(key, CANARY);
    }
    command.env("HARMLESS", "seen");
    let ran = finish(command, b"");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for (name, expected) in [
        ("claude", &["ANTHROPIC_API_KEY"][..]),
        ("codex", &["OPENAI_API_KEY"]),
        ("gemini", &["GEMINI_API_KEY", "WORK_CREDENTIAL"]),
        ("editor", &[]),
    ] {
        let seen = fs::read_to_string(world.path(&format!("home/env.{name}"))).unwrap();
        assert!(seen.contains("HARMLESS=seen"), "{name}: {seen}");
        let has = |key: &&str| seen.lines().any(|it| it == format!("{key}={CANARY}"));
        let has: Vec<&str> = keys.into_iter().filter(|it| has(it)).collect();
        assert_eq!(has, expected, "{name}");
        assert_eq!(seen.matches(CANARY).count(), expected.len(), "{name}: {seen}");
    }
}
