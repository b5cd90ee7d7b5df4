//! The workspace's files as text.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::source::Source;

/// One file.
pub(super) struct File {
    /// From the workspace's root, with slashes.
    pub(super) path: String,
    /// Its text; invalid UTF-8 is replaced.
    pub(super) text: String,
}

impl File {
    /// The crate that it belongs to: a directory under `crates`, or `xtask`.
    pub(super) fn crate_name(&self) -> Option<&str> {
        match self.path.split('/').collect::<Vec<_>>().as_slice() {
            ["crates", name, _, ..] => Some(name),
            ["xtask", _, ..] => Some("xtask"),
            _ => None,
        }
    }

    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// A Rust file, read.
pub(super) struct Rust {
    pub(super) file: File,
    pub(super) source: Source,
    /// Whether the whole file is only for tests.
    pub(super) is_test: bool,
}

/// The workspace's root directory.
pub(super) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate lies two levels below the root").to_owned()
}

/// Every file of the project, by path.
pub(super) fn files() -> Vec<File> {
    let mut files = Vec::new();
    walk(&root(), "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(files.iter().any(|it| it.path == "Cargo.toml"), "the walk starts at the wrong place");
    files
}

/// Every Rust file of the project.
pub(super) fn rust() -> Vec<Rust> {
    let mut all: Vec<Rust> = files()
        .into_iter()
        .filter(File::is_rust)
        .map(|file| Rust {
            source: Source::read(&file.text),
            is_test: is_test_path(&file.path),
            file,
        })
        .collect();
    // Modules that their parent declares only for tests, in whatever directory.
    let declared: BTreeSet<String> = all
        .iter()
        .flat_map(|it| {
            let directory = module_directory(&it.file.path);
            it.source.test_modules().into_iter().map(move |name| format!("{directory}/{name}"))
        })
        .collect();
    for it in &mut all {
        let path = it.file.path.trim_end_matches(".rs");
        it.is_test |=
            Path::new(path).ancestors().any(|it| declared.contains(&it.to_string_lossy()[..]));
    }
    all
}

/// The file's text, or an error message.
pub(super) fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}; write it"))
}

/// The directory of a file's submodules.
pub(super) fn module_directory(path: &str) -> String {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "mod.rs" | "lib.rs" | "main.rs" => directory.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    }
}

fn is_test_path(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "tests.rs"))
}

fn walk(directory: &Path, prefix: &str, files: &mut Vec<File>) {
    let entries = fs::read_dir(directory).expect("the workspace can be read");
    for entry in entries.map(|it| it.expect("the workspace can be read")) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().expect("the workspace can be read");
        if kind.is_dir() && !is_foreign(&name) {
            walk(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file() && name != ".git" {
            let bytes = fs::read(entry.path()).expect("the workspace can be read");
            files.push(File { path, text: String::from_utf8_lossy(&bytes).into_owned() });
        }
    }
}

/// Directories that do not belong to the project: build output and hidden ones.
fn is_foreign(name: &str) -> bool {
    name.starts_with("target") || (name.starts_with('.') && !matches!(name, ".ci" | ".cargo"))
}
