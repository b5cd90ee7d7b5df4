//! The environment of a model's commands.

use std::collections::BTreeSet;
use std::ffi::OsString;

/// The variable that says that an agent makes a call.
const AGENT: &str = "AI_AGENT";

/// The variables of tools. Keys are not among them: neither the variables in `keys`, nor what is called a
/// key, a token or the like. One of them says that an agent makes the call, so that a model cannot call
/// `punchlist` in the user's place.
pub fn environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    keys: &BTreeSet<String>,
) -> Vec<(OsString, OsString)> {
    let is_kept = |name: &str| !is_key(name) && name != AGENT && !keys.contains(name);
    let kept = variables.into_iter().filter(|(name, _)| is_kept(&name.to_string_lossy()));
    kept.chain([(AGENT.into(), "punchlist".into())]).collect()
}

/// Whether a variable holds a key, by its name.
fn is_key(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["_API_KEY", "_KEY", "_TOKEN", "_SECRET", "_PASSWORD"].iter().any(|it| name.ends_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_not_reach_the_tools() {
        let all = [
            "PATH",
            "ANTHROPIC_API_KEY",
            "openai_api_key",
            "HOME",
            "GH_TOKEN",
            "MY_SECRET",
            "KEYBOARD",
            "CONFIGURED",
            "TOKENS",
            "AI_AGENT",
        ];
        let variables = all.map(|it| (it.into(), "x".into()));
        let keys = BTreeSet::from(["CONFIGURED".to_owned()]);
        let kept: Vec<_> = environment(variables, &keys)
            .into_iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        assert_eq!(kept, ["PATH=x", "HOME=x", "KEYBOARD=x", "TOKENS=x", "AI_AGENT=punchlist"]);
    }
}
