//! Runs a command of the user's settings that prints a key.

use std::process::Command;
use std::time::Duration;

use crate::doctor::run::run;

/// How long a key command may take. It may ask a person for a password elsewhere.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the command printed, without the line break at the end. An error never contains the output.
pub fn output(command: &str) -> Result<String, String> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    let ran = run(shell, b"", PATIENCE).map_err(|why| why.to_string())?;
    match ran.code {
        Some(0) => String::from_utf8(ran.out)
            .map(|it| it.trim().to_owned())
            .map_err(|_| "it printed something that is not text".to_owned()),
        Some(_) | None => Err(format!("it {}", ran.end())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_command_prints_the_key_and_an_error_does_not() {
        assert_eq!(output("echo ' secret '").unwrap(), "secret");
        let why = output("echo secret; exit 3").unwrap_err();
        assert_eq!(why, "it exits with code 3");
    }
}
