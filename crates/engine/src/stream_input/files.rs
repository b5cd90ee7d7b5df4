//! Resolves the names of input files: paths, patterns, `-`.

use std::fs;
use std::path::{Path, PathBuf};

use super::Input;
use crate::check::glob;
use crate::fail::{self, Fail};

/// The inputs for the given files: paths, patterns, `-` for stdin. No file means stdin. Paths are
/// relative to `here`, and `~` is `home`.
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
        // An existing file with exactly this name is not a pattern.
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

/// Expands `~` in a quoted pattern, which the shell left as it is.
fn at_home(file: &Path, home: Option<&Path>) -> PathBuf {
    match file.strip_prefix("~") {
        Ok(rest) if !file.exists() => home.map_or_else(|| file.to_owned(), |it| it.join(rest)),
        Ok(_) | Err(_) => file.to_owned(),
    }
}

/// Checks that a file can be read, before anything is written.
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

/// The total size in bytes, if known.
pub fn size(inputs: &[Input]) -> Option<u64> {
    inputs.iter().try_fold(0, |sum: u64, input| match input {
        Input::Stdin => None,
        Input::File(path) => Some(sum + fs::metadata(path).ok()?.len()),
    })
}
