//! Finds programs in directories, and the path of a program that survives an upgrade.
//!
//! The caller passes the directories of the search path.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use crate::doctor::is_same_file;
use crate::install::entries::word;

/// The first program with this name in these directories.
pub fn find(name: &str, directories: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    directories.into_iter().map(|it| it.join(name)).find(|it| is_program(it))
}

/// Whether the path is an executable file.
pub fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// A path of the program `real` that stays valid after an upgrade, because the real path may
/// contain a version. It is the path with one of these names in one of these directories, otherwise
/// the absolute path by which the program was called, otherwise `real`.
pub fn lasting_path(
    real: &Path,
    names: &[&OsStr],
    called: Option<&Path>,
    directories: &[PathBuf],
) -> PathBuf {
    let found = directories.iter().flat_map(|it| names.iter().map(|name| it.join(name)));
    let called = called.and_then(without_steps_up);
    // Paths in `/proc` are valid only as long as the process runs.
    let lasts = |it: &PathBuf| !it.starts_with("/proc") && !it.starts_with("/dev/fd");
    let leads_here = |it: &PathBuf| lasts(it) && fs::canonicalize(it).is_ok_and(|it| it == real);
    found.chain(called).find(leads_here).unwrap_or_else(|| real.to_owned())
}

/// The word by which a shell calls the program `own`: its name if that leads to it in these directories, else
/// its path, quoted.
pub fn shell_word(
    name: &str,
    own: Option<&Path>,
    directories: impl IntoIterator<Item = PathBuf>,
) -> String {
    let found = find(name, directories);
    match own {
        Some(own) if !found.is_some_and(|it| is_same_file(&it, own)) => {
            word(&own.to_string_lossy())
        }
        Some(_) | None => name.to_owned(),
    }
}

/// An absolute path without `..`, with links resolved.
fn without_steps_up(path: &Path) -> Option<PathBuf> {
    let steps: Vec<Component<'_>> = path.components().collect();
    let last_up = steps.iter().rposition(|it| *it == Component::ParentDir);
    let (above, below) = steps.split_at(last_up.map_or(0, |at| at + 1));
    let above = PathBuf::from_iter(above);
    let above = if above.as_os_str().is_empty() { above } else { fs::canonicalize(above).ok()? };
    Some(above.join(PathBuf::from_iter(below)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_program_is_called_by_its_name_where_the_path_leads_to_it_and_else_by_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| {
            let directory = dir.path().join(name);
            fs::create_dir_all(&directory).unwrap();
            let program = directory.join("punchlist");
            fs::write(&program, name).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            (directory, program)
        };
        let (own_directory, own) = place("it's here");
        let (other_directory, _) = place("other");
        let path = |all: &[&PathBuf]| all.iter().map(|it| (*it).clone()).collect::<Vec<_>>();
        let by_path = format!("'{}'", own.to_string_lossy().replace('\'', "'\\''"));
        for (search, expected) in [
            (path(&[&own_directory]), "punchlist"),
            (path(&[&own_directory, &other_directory]), "punchlist"),
            (path(&[&other_directory, &own_directory]), by_path.as_str()),
            (path(&[&other_directory]), by_path.as_str()),
            (path(&[]), by_path.as_str()),
        ] {
            assert_eq!(shell_word("punchlist", Some(&own), search.clone()), expected, "{search:?}");
        }
    }

    #[test]
    fn a_link_on_the_search_path_is_named_instead_of_the_versioned_file() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let (bin, real) = (root.join("bin"), root.join("1.2.3/punchlist"));
        for directory in [&bin, &root.join("1.2.3"), &root.join("other")] {
            fs::create_dir(directory).unwrap();
        }
        fs::write(&real, "").unwrap();
        symlink(&real, bin.join("punchlist")).unwrap();
        fs::write(root.join("other/punchlist"), "").unwrap();
        let check = |called: Option<&str>, directories: &[&str], expected: &str| {
            let directories: Vec<PathBuf> = directories.iter().map(|it| root.join(it)).collect();
            let called = called.map(|it| root.join(it));
            let names = [OsStr::new("punchlist")];
            let found = lasting_path(&real, &names, called.as_deref(), &directories);
            assert_eq!(found, root.join(expected), "{called:?} {directories:?}");
        };
        check(None, &["other", "bin"], "bin/punchlist");
        check(Some("1.2.3/../bin/punchlist"), &["other"], "bin/punchlist");
        check(Some("other/punchlist"), &[], "1.2.3/punchlist");
        check(None, &[], "1.2.3/punchlist");
    }

    #[test]
    fn a_program_is_a_file_that_can_be_run() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str, mode: u32| {
            let directory = dir.path().join(name);
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("agent"), "").unwrap();
            fs::set_permissions(directory.join("agent"), fs::Permissions::from_mode(mode)).unwrap();
            directory
        };
        let (text, program) = (place("text", 0o644), place("program", 0o755));
        assert_eq!(find("agent", [text.clone(), program.clone()]), Some(program.join("agent")));
        assert_eq!(find("agent", [text]), None);
    }
}
