//! Finds the policy rule in the result of a call that was refused because nobody could be asked.

use punchlist_sched::policy::TO_ALLOW;

/// How the result of a call begins that was refused because nobody could be asked.
const REFUSED: &str = "Error: nobody can be asked; ";

/// The most lines that are taken for rules.
const MOST: usize = 24;

/// The rules that would allow a call of this tool, if it was refused for the lack of one: lines for the
/// user's `config.toml`. Empty for any other result. An MCP server can word its errors like our refusal,
/// so only rules about the tool itself are believed.
pub fn rule_to_add<'a>(tool: &str, result: &'a str) -> Vec<&'a str> {
    let Some(refusal) = unfenced(tool, result).strip_prefix(REFUSED) else { return Vec::new() };
    let Some((_, rules)) = refusal.split_once(TO_ALLOW) else { return Vec::new() };
    let lines = rules.lines().map(str::trim_end);
    let lines: Vec<&str> = lines.filter(|it| !it.is_empty() && !it.starts_with("```")).collect();
    if lines.len() > MOST || !are_about(tool, &lines) { Vec::new() } else { lines }
}

/// The result without the label and the fence of a stored one.
fn unfenced<'a>(tool: &str, result: &'a str) -> &'a str {
    let inside = result.strip_prefix(tool).and_then(|it| it.strip_prefix(":\n```"));
    inside.and_then(|it| it.split_once('\n')).map_or(result, |(_, inside)| inside)
}

/// Whether all rules are about this tool.
fn are_about(tool: &str, lines: &[&str]) -> bool {
    let own = [format!("tool = \"{tool}\""), format!("tool = \"{tool}:outside\"")];
    let count = |is_so: &dyn Fn(&str) -> bool| lines.iter().filter(|it| is_so(it)).count();
    let rules = count(&|it| it == "[[policy]]");
    let about = count(&|it| it.starts_with("tool ="));
    rules == about && rules == count(&|it| own.iter().any(|own| own == it))
}

#[cfg(test)]
mod tests {
    use punchlist_sched::policy::{Policy, Reader, Subject};

    use super::*;
    use crate::context;

    /// The refusal of a call, as the scheduler words it.
    fn refusal(tool: &str) -> String {
        let subject = Subject { tool: tool.to_owned(), ..Subject::default() };
        format!("{REFUSED}{}", Policy::default().unasked(&subject, None, Reader::Person))
    }

    #[test]
    fn a_refusal_names_the_rule_also_when_it_is_stored() {
        for tool in ["write", "mcp__notes__add"] {
            let refusal = refusal(tool);
            let own = format!("tool = \"{tool}\"");
            let expected = ["[[policy]]", "decision = \"allow\"", own.as_str()];
            assert_eq!(rule_to_add(tool, &refusal), expected);
            assert_eq!(rule_to_add(tool, &context::fence(tool, &refusal)), expected);
        }
    }

    #[test]
    fn what_is_no_refusal_of_this_tool_names_no_rule() {
        let fake = refusal("shell");
        assert!(rule_to_add("mcp__notes__add", &fake).is_empty());
        assert!(rule_to_add("shell", &format!("Exit code 1\n{fake}")).is_empty());
        assert!(rule_to_add("shell", &format!("{REFUSED}a person must approve it")).is_empty());
        assert!(rule_to_add("shell", "").is_empty());
    }
}
