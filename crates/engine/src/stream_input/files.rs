//! Which files are read as streams: names, patterns, `-`.

use std::fs;
use std::path::{Path, PathBuf};

use super::Input;
use crate::check::glob;
use crate::fail::{self, Fail};

/// What is named: files, patterns for them, `-` for stdin. Nothing means stdin. Paths count from `here`, and
/// `~` is `home`.
pub fn inputs(
    files: &[PathBuf],
    here: Option<&Path>,
    home: Option<&Path>,
) -> Result<Vec<Input>, Fail> {
    if files.is_empty() {
        return Ok(vec![Input::Stdin]);
    }
    let mut inputs = Vec::new();
    for file in files {
        if file.as_os_str() == "-" {
            if inputs.iter().any(|it| matches!(it, Input::Stdin)) {
                return Err(Fail::usage("stdin is named twice").hint("name `-` once."));
            }
            inputs.push(Input::Stdin);
            continue;
        }
        let file = at_home(file, home);
        let file = here.map_or_else(|| file.clone(), |it| it.join(&file));
        // What is there by that very name is no pattern.
        if !glob::is_pattern(&file) || file.exists() {
            check(&file)?;
            inputs.push(Input::File(file));
            continue;
        }
        let found = glob::files(&file)
            .map_err(|why| Fail::usage(format!("cannot look for {}: {why}", file.display())))?;
        if found.is_empty() {
            let message = format!("no file fits {}", file.display());
            return Err(Fail::not_found(message).hint("a hidden file fits only by its own name."));
        }
        inputs.extend(found.into_iter().map(Input::File));
    }
    Ok(inputs)
}

/// A quoted pattern keeps its `~`, which the shell would have taken away.
fn at_home(file: &Path, home: Option<&Path>) -> PathBuf {
    match file.strip_prefix("~") {
        Ok(rest) if !file.exists() => home.map_or_else(|| file.to_owned(), |it| it.join(rest)),
        Ok(_) | Err(_) => file.to_owned(),
    }
}

/// Whether a file can be read, before anything is written.
fn check(file: &Path) -> Result<(), Fail> {
    match fs::metadata(file) {
        Ok(data) if data.is_dir() => {
            let pattern = file.join("**/*.jsonl");
            Err(Fail::usage(format!("{} is a directory", file.display()))
                .hint(format!("name its files, as in '{}'.", pattern.display())))
        }
        Ok(_) => Ok(()),
        Err(why) => Err(fail::unreadable(&file.display().to_string(), &why)),
    }
}

/// How much there is to read, if that is known.
pub fn size(inputs: &[Input]) -> Option<u64> {
    inputs.iter().try_fold(0, |sum: u64, input| match input {
        Input::Stdin => None,
        Input::File(path) => Some(sum + fs::metadata(path).ok()?.len()),
    })
}
