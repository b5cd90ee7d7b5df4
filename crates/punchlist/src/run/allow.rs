//! What an answer means to the scheduler: the rules that it adds are for the project unless the person said
//! everywhere.

use std::path::Path;

use punchlist_model::call::{Answer, Permit, Reach};
use punchlist_sched::machine;
use punchlist_sched::policy::{Decision, Rule};

use crate::error::Fail;
use crate::project;

/// An answer to a question about this tool, as the scheduler knows it.
pub(super) fn answer(
    answer: &Answer,
    tool: &str,
    directory: &Path,
) -> Result<machine::Answer, Fail> {
    let all = |rules: &[Permit]| rules.iter().map(Rule::from).collect::<Vec<Rule>>();
    let here = |rules: Vec<Rule>| {
        let project = Some(project::find(directory)?.name);
        let rules = rules.into_iter().map(|it| Rule { project: project.clone(), ..it });
        Ok(machine::Answer::Always(rules.collect()))
    };
    match answer {
        Answer::Once | Answer::AlwaysServer => Ok(machine::Answer::Once),
        Answer::Session(rules) | Answer::Always { rules, reach: Reach::Everywhere } => {
            Ok(machine::Answer::Always(all(rules)))
        }
        Answer::Always { rules, reach: Reach::Project } => here(all(rules)),
        // As earlier versions offered it.
        Answer::AlwaysTool => here(vec![Rule::tool(Decision::Allow, tool)]),
        Answer::AlwaysPrefix(words) => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            here(vec![Rule::command(Decision::Allow, tool, &words)])
        }
        Answer::Modify(arguments) => Ok(machine::Answer::Modify(arguments.clone())),
        Answer::Refuse(reason) => Ok(machine::Answer::Refuse(reason.clone())),
        Answer::RefuseAndStop(reason) => Ok(machine::Answer::RefuseAndStop(reason.clone())),
    }
}

/// An answer that was given after its run had ended, as the next run takes it: it was about one question,
/// so it ends nothing else of this run, and "this run" is over.
pub(super) fn alone(answer: Answer) -> Answer {
    match answer {
        Answer::Refuse(reason) | Answer::RefuseAndStop(reason) => {
            let reason = reason.unwrap_or_else(|| "after the last run".to_owned());
            Answer::Refuse(Some(reason))
        }
        Answer::Session(_) => Answer::Once,
        answer @ (Answer::Once
        | Answer::Always { .. }
        | Answer::AlwaysTool
        | Answer::AlwaysPrefix(_)
        | Answer::AlwaysServer
        | Answer::Modify(_)) => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn always_is_for_the_project_unless_the_person_says_everywhere() {
        let directory = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(directory.path()).unwrap();
        let command = Some(vec!["make".to_owned()]);
        let rules = vec![Permit { command, ..Permit::default() }];
        let projects = |given: Answer| -> Vec<Option<String>> {
            match answer(&given, "shell", &root).unwrap() {
                machine::Answer::Always(rules) => rules.into_iter().map(|it| it.project).collect(),
                machine::Answer::Once
                | machine::Answer::Modify(_)
                | machine::Answer::Refuse(_)
                | machine::Answer::RefuseAndStop(_) => Vec::new(),
            }
        };
        let here = Some(root.display().to_string());
        let always = |reach| Answer::Always { rules: rules.clone(), reach };
        assert_eq!(projects(always(Reach::Project)), vec![here.clone()]);
        assert_eq!(projects(always(Reach::Everywhere)), vec![None]);
        assert_eq!(projects(Answer::Session(rules.clone())), vec![None]);
        assert_eq!(projects(Answer::AlwaysTool), vec![here]);
    }

    #[test]
    fn a_late_no_ends_nothing_else_of_the_next_run() {
        let late = Answer::Refuse(Some("after the last run".to_owned()));
        assert_eq!(alone(Answer::Refuse(None)), late);
        assert_eq!(alone(Answer::RefuseAndStop(None)), late);
        let why = Answer::Refuse(Some("not on a Friday".to_owned()));
        assert_eq!(alone(why.clone()), why);
        assert_eq!(alone(Answer::Session(Vec::new())), Answer::Once);
    }
}
