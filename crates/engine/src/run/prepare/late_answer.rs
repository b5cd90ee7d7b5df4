//! What an answer that came too late for its run means for the next run.

use punchlist_model::call::Answer;

/// Adapts an answer that was given after its run had ended. It was about one question, so it stops
/// nothing else in this run, and "this run" no longer applies.
pub(crate) fn alone(answer: Answer) -> Answer {
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
    fn a_late_no_ends_nothing_else_of_the_next_run() {
        let late = Answer::Refuse(Some("after the last run".to_owned()));
        assert_eq!(alone(Answer::Refuse(None)), late);
        assert_eq!(alone(Answer::RefuseAndStop(None)), late);
        let why = Answer::Refuse(Some("not on a Friday".to_owned()));
        assert_eq!(alone(why.clone()), why);
        assert_eq!(alone(Answer::Session(Vec::new())), Answer::Once);
    }
}
