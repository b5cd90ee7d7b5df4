//! Explains a failed command that the sandbox may have stopped.
//!
//! The kernel does not report what it refused, so this is a guess from the output: what programs
//! print for the errors that the sandbox causes.

use punchlist_sched::call::Ended;
use punchlist_sched::tool::Finished;

/// What programs print when the sandbox refuses a file or the network, in lower case.
const SIGNS: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "permissionerror",
    "eacces",
    "eperm",
    // Moving or linking a file into the sandbox or out of it.
    "cross-device link",
    "exdev",
    "could not resolve",
    "couldn't resolve",
    "name resolution",
    "name or service not known",
    "enotfound",
    "eai_again",
    "network is unreachable",
    "could not connect",
    "couldn't connect",
    "failed to connect",
    "unable to connect",
    "connection refused",
    "unable to access",
];

/// The signal for system calls of another architecture.
const SIGSYS: i32 = 31;

/// The advice for the model.
const ADVICE: &str = "the sandbox may have stopped it: a command can write only in the project and \
                      in $TMPDIR, and has no network. If it needs more, call shell again with \
                      outside_sandbox and a reason; a person is asked first";

/// The end of a call that ran in the sandbox, with advice if the sandbox may have stopped it.
pub(super) fn explained(finished: Finished) -> Ended {
    let signal = finished.exit.as_ref().ok().and_then(|it| it.signal);
    match finished.ended() {
        Ended::Badly { what, output } if signal == Some(SIGSYS) || has_sign(&output.text) => {
            Ended::Badly { what: format!("{what}; {ADVICE}"), output }
        }
        other
        @ (Ended::Well(_) | Ended::Badly { .. } | Ended::Declined(_) | Ended::Panicked(_)) => other,
    }
}

fn has_sign(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    SIGNS.iter().any(|it| text.contains(it))
}

#[cfg(test)]
mod tests {
    use punchlist_sched::Output;
    use punchlist_sched::process::Exit;

    use super::*;

    #[track_caller]
    fn told(code: i32, text: &str) -> String {
        let exit = Exit { code: Some(code), signal: None, left_behind: 0, undead: 0 };
        match explained(Finished { exit: Ok(exit), output: Output::text(text) }) {
            Ended::Badly { what, .. } => what,
            Ended::Well(_) => "success".to_owned(),
            other @ (Ended::Declined(_) | Ended::Panicked(_)) => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_a_failure_that_looks_like_the_sandbox_is_explained() {
        assert!(told(1, "sh: cannot create /x: Permission denied").ends_with(ADVICE));
        assert!(told(6, "curl: (6) Could not resolve host: example.com").ends_with(ADVICE));
        assert_eq!(told(1, "2 tests failed"), "exit code 1");
        assert_eq!(told(0, "Permission denied"), "success");
    }
}
