//! The rules that an answer adds, and the reason of a question.

use punchlist_model::call::{Answer, Permit, Reach};

use super::{Commands, Decision, Policy, Rule, Subject};

impl Policy {
    /// The rules that an answer adds for this tool. They apply to the project, unless the person
    /// chose everywhere or only this session.
    pub fn rules_of(&self, answer: &Answer, tool: &str) -> Vec<Rule> {
        let rules = |all: &[Permit]| all.iter().map(Rule::from).collect::<Vec<Rule>>();
        let here = |all: Vec<Rule>| {
            let project = |it| Rule { project: self.place.clone(), ..it };
            all.into_iter().map(project).collect()
        };
        match answer {
            Answer::Session(all) | Answer::Always { rules: all, reach: Reach::Everywhere } => {
                rules(all)
            }
            Answer::Always { rules: all, reach: Reach::Project } => here(rules(all)),
            // The form that earlier versions stored.
            Answer::AlwaysTool => here(vec![Rule::tool(Decision::Allow, tool)]),
            Answer::AlwaysPrefix(words) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                here(vec![Rule::command(Decision::Allow, tool, &words)])
            }
            Answer::Once
            | Answer::AlwaysServer
            | Answer::Modify(_)
            | Answer::Refuse(_)
            | Answer::RefuseAndStop(_) => Vec::new(),
        }
    }

    /// Why a rule caused the question, and where the rule is written.
    pub fn why_asked(&self, rule: &Rule, subject: &Subject) -> String {
        let is_users = self.user.contains(rule) || !self.project.contains(rule);
        let file = if is_users { "your config.toml" } else { "the project's punchlist.toml" };
        let rule = rule.told();
        // The commands are unknown, so the rule may match one of them.
        match subject.commands {
            Commands::Opaque => format!("a rule in {file} may match it: {rule}"),
            Commands::None | Commands::All(_) => format!("a rule in {file} asks: {rule}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn always_is_for_the_project_unless_the_person_says_everywhere() {
        let policy = Policy::default().in_project("/work");
        let command = Some(vec!["make".to_owned()]);
        let rules = vec![Permit { command, ..Permit::default() }];
        let projects = |answer: Answer| -> Vec<Option<String>> {
            policy.rules_of(&answer, "shell").into_iter().map(|it| it.project).collect()
        };
        let here = Some("/work".to_owned());
        let always = |reach| Answer::Always { rules: rules.clone(), reach };
        assert_eq!(projects(always(Reach::Project)), vec![here.clone()]);
        assert_eq!(projects(always(Reach::Everywhere)), vec![None]);
        assert_eq!(projects(Answer::Session(rules.clone())), vec![None]);
        assert_eq!(projects(Answer::AlwaysTool), vec![here]);
        assert_eq!(projects(Answer::Once), Vec::new());
    }
}
