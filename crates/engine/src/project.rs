//! Finds the project of a directory.
//!
//! [`init`] gives a project its own database, [`instructions`] reads its `AGENTS.md`, [`repository`]
//! recognises a repository that was moved, [`relocate`] moves its plans.
//!
//! All worktrees of one repository are one project; a submodule is its own project. No git process
//! is run. A `.git` file is only believed if the repository that it names points back to it;
//! otherwise any directory could claim to be part of another project.

pub mod init;
pub mod instructions;
pub mod relocate;
pub mod repository;
mod survey;

use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::fail::Fail;

/// The directory with a project's own database.
pub const FOLDER: &str = ".punchlist";

/// The file with a project's own configuration.
pub const CONFIG: &str = "punchlist.toml";

/// A project: its root directory, and its name in the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Project {
    /// The canonical root directory.
    pub root: PathBuf,
    /// The root as text.
    pub name: String,
}

impl Project {
    /// The file of the project's own database, which need not exist.
    pub fn own_database(&self) -> PathBuf {
        self.root.join(FOLDER).join("punchlist.db")
    }

    /// Whether the root is the root of a repository.
    pub fn is_repository(&self) -> bool {
        self.root.join(".git").exists() || is_bare(&self.root)
    }
}

/// The project of a directory.
pub fn find(start: &Path) -> Result<Project, Fail> {
    let start = fs::canonicalize(start)
        .map_err(|why| Fail::usage(format!("cannot enter {}: {why}", start.display())))?;
    if !start.is_dir() {
        return Err(Fail::usage(format!("{} is not a directory", start.display())));
    }
    let root = root(&start);
    Ok(Project { name: text(&root), root })
}

/// The root of the repository around a directory; else the nearest directory with its own database;
/// else the directory itself.
fn root(start: &Path) -> PathBuf {
    let mut kept = None;
    for dir in start.ancestors() {
        if let Some(root) = repository(dir) {
            return root;
        }
        if kept.is_none() && dir.join(FOLDER).is_dir() {
            kept = Some(dir);
        }
    }
    kept.unwrap_or(start).to_owned()
}

/// The root of the project with this name, if it exists on this machine.
pub fn root_of(name: &str) -> Result<PathBuf, Fail> {
    let root = PathBuf::from(name);
    let is_it = root.is_absolute() && find(&root).is_ok_and(|it| it.name == name);
    if is_it {
        return Ok(root);
    }
    Err(Fail::refused(format!("the project {name} of this plan is not on this machine")).hint(
        "checks run in their plan's own project: call it there, or import the plan into this one.",
    ))
}

/// The real path of a directory, if it is in the project with this root: in its repository or one
/// of its worktrees, and in no other repository; without a repository, below the root.
pub fn inside(root: &Path, directory: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(directory).ok().filter(|it| it.is_dir())?;
    let is_inside = match around(&real) {
        Some((repository, _)) => repository == root,
        None => real.starts_with(root),
    };
    is_inside.then_some(real)
}

/// The root of the repository around a directory, and the top of the worktree there. The directory
/// need not exist.
pub fn around(directory: &Path) -> Option<(PathBuf, &Path)> {
    directory.ancestors().find_map(|top| Some((repository(top)?, top)))
}

/// The root of the repository whose top is exactly this directory.
fn repository(dir: &Path) -> Option<PathBuf> {
    let git = dir.join(".git");
    match fs::metadata(&git) {
        Ok(meta) if meta.is_dir() => git.join("HEAD").exists().then(|| dir.to_owned()),
        Ok(_) => Some(main_root(dir, &git).unwrap_or_else(|| dir.to_owned())),
        Err(_) if is_bare(dir) => match dir.parent() {
            // Inside `.git` itself the repository is the parent.
            Some(parent) if dir.file_name().is_some_and(|name| name == ".git") => {
                Some(parent.to_owned())
            }
            Some(_) | None => Some(dir.to_owned()),
        },
        Err(_) => None,
    }
}

fn is_bare(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
}

/// The main root for a worktree's `.git` file, if the repository knows this worktree.
fn main_root(dir: &Path, git: &Path) -> Option<PathBuf> {
    let admin = fs::canonicalize(dir.join(pointer(git, b"gitdir:")?)).ok()?;
    // A submodule, or a repository with a separate git directory, has no `commondir`.
    let common = fs::canonicalize(admin.join(pointer(&admin.join("commondir"), b"")?)).ok()?;
    let back = fs::canonicalize(admin.join(pointer(&admin.join("gitdir"), b"")?)).ok()?;
    let known = back == fs::canonicalize(git).ok()?
        && admin.parent() == Some(common.join("worktrees").as_path());
    if !known || !is_bare(&common) {
        return None;
    }
    match common.parent() {
        Some(parent) if common.file_name().is_some_and(|name| name == ".git") => {
            Some(parent.to_owned())
        }
        Some(_) | None => Some(common),
    }
}

/// Reads the path in a one-line file of git.
fn pointer(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    // A longer file is not such a file: no path is that long.
    const MOST: u64 = 16 * 1024;
    if fs::metadata(file).ok()?.len() > MOST {
        return None;
    }
    let bytes = fs::read(file).ok()?;
    let rest = bytes.strip_prefix(prefix)?.trim_ascii();
    (!rest.is_empty()).then(|| PathBuf::from(std::ffi::OsString::from_vec(rest.to_vec())))
}

/// A path as unique text. Nearly all paths are UTF-8 and are used as they are.
fn text(path: &Path) -> String {
    if let Some(text) = path.to_str() {
        return text.to_owned();
    }
    // An absolute path begins with a slash, so no UTF-8 path looks like this.
    let mut text = String::from("bytes:");
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, path: &str) -> PathBuf {
            fs::canonicalize(self.0.path()).unwrap().join(path)
        }

        fn dir(&self, path: &str) -> PathBuf {
            let path = self.path(path);
            fs::create_dir_all(&path).unwrap();
            path
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn repository(&self, git: &str) {
            self.file(&format!("{git}/HEAD"), "ref: refs/heads/main\n");
            self.dir(&format!("{git}/objects"));
            self.dir(&format!("{git}/refs"));
        }

        /// Creates a worktree `at` of the repository with its data in `git`.
        fn worktree(&self, git: &str, at: &str) {
            let admin = format!("{git}/worktrees/wt");
            self.file(&format!("{at}/.git"), &format!("gitdir: {}\n", self.path(&admin).display()));
            self.file(&format!("{admin}/commondir"), "../..\n");
            let back = self.path(&format!("{at}/.git"));
            self.file(&format!("{admin}/gitdir"), &format!("{}\n", back.display()));
        }

        #[track_caller]
        fn check(&self, start: &str, root: &str) {
            assert_eq!(find(&self.dir(start)).unwrap().root, self.path(root), "from {start}");
        }
    }

    #[test]
    fn the_nearest_repository_is_the_project() {
        let tree = Tree::new();
        tree.repository("a/.git");
        tree.repository("a/b/.git");
        tree.check("a", "a");
        tree.check("a/src/deep", "a");
        tree.check("a/b/src", "a/b");
        tree.check("a/.git/hooks", "a");
    }

    #[test]
    fn all_worktrees_of_one_repository_are_one_project() {
        let tree = Tree::new();
        tree.repository("main/.git");
        tree.worktree("main/.git", "elsewhere/wt");
        tree.check("elsewhere/wt/src", "main");
    }

    #[test]
    fn worktrees_with_relative_links_too() {
        let tree = Tree::new();
        tree.repository("main/.git");
        tree.file("wt/.git", "gitdir: ../main/.git/worktrees/wt\n");
        tree.file("main/.git/worktrees/wt/commondir", "../..\n");
        tree.file("main/.git/worktrees/wt/gitdir", "../../../../wt/.git\n");
        tree.check("wt", "main");
    }

    #[test]
    fn worktrees_of_a_bare_repository_belong_to_it() {
        let tree = Tree::new();
        tree.repository("repo.git");
        tree.worktree("repo.git", "wt");
        tree.check("wt", "repo.git");
        tree.check("repo.git", "repo.git");
        tree.check("repo.git/hooks", "repo.git");
    }

    #[test]
    fn a_submodule_is_a_project_of_its_own() {
        let tree = Tree::new();
        tree.repository("main/.git");
        tree.repository("main/.git/modules/sub");
        tree.file("main/sub/.git", "gitdir: ../.git/modules/sub\n");
        tree.check("main/sub/src", "main/sub");
    }

    #[test]
    fn a_git_file_that_the_repository_does_not_know_is_not_believed() {
        let tree = Tree::new();
        tree.repository("main/.git");
        tree.worktree("main/.git", "wt");
        // This file points to a real worktree's data, which points back elsewhere.
        let admin = tree.path("main/.git/worktrees/wt");
        tree.file("evil/.git", &format!("gitdir: {}\n", admin.display()));
        tree.check("evil/src", "evil");
        // This one brings its own data, which names the victim as its repository.
        tree.file("forged/.git", "gitdir: admin\n");
        let victim = tree.path("main/.git");
        tree.file("forged/admin/commondir", &format!("{}\n", victim.display()));
        tree.file("forged/admin/gitdir", "../.git\n");
        tree.check("forged", "forged");
        for text in ["", "gitdir:", "gitdir: /nowhere/at/all", "\0\u{1}", "something else"] {
            tree.file("odd/.git", text);
            tree.check("odd", "odd");
        }
    }

    #[test]
    fn without_a_repository_a_folder_of_ours_decides_then_the_directory_itself() {
        let tree = Tree::new();
        tree.check("plain/deep", "plain/deep");
        tree.dir("plain/.punchlist");
        tree.check("plain/deep", "plain");
        tree.dir("plain/deep/.git");
        tree.check("plain/deep", "plain");
    }

    #[test]
    fn paths_that_are_not_utf8_have_names_that_no_other_path_has() {
        let name = |bytes: &[u8]| text(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(name(b"/a\\xff"), "/a\\xff");
        assert_eq!(name(b"/a\xff"), "bytes:/a\\xff");
        assert_eq!(name(b"/a\\xff\xff"), "bytes:/a\\\\xff\\xff");
    }

    #[test]
    fn what_is_no_directory_is_a_usage_error() {
        let tree = Tree::new();
        tree.file("file", "");
        assert!(find(&tree.path("file")).unwrap_err().message.contains("not a directory"));
        assert!(find(&tree.path("nothing")).unwrap_err().message.contains("cannot enter"));
    }
}
