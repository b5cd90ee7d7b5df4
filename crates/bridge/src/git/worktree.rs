//! A git worktree for one worker: made on a branch of its own, kept while it has changes.
//!
//! A worktree is removed only if it is certain that nothing is lost: no uncommitted change, no new
//! file, no commit. Whatever git cannot answer counts as a change. Files that git ignores are not
//! changes. Hooks of the repository do not run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::doctor::run::{Ran, run};

/// How long git may take. It writes all files of the project.
const PATIENCE: Duration = Duration::from_secs(300);

/// A worktree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Worktree {
    /// Its directory.
    pub path: PathBuf,
    /// The directory in it that corresponds to the project's root.
    pub project: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit that it began with.
    base: String,
    /// The repository's main directory, and the environment of git.
    root: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

/// What became of a worktree when its worker ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Left {
    /// It had no changes and is gone, with its branch.
    Removed,
    /// It is kept, for this reason.
    Kept(String),
}

/// Where the worktrees of a repository are: beside it, in `NAME.worktrees`.
fn beside(root: &Path) -> PathBuf {
    let name = root.file_name().unwrap_or(OsStr::new("project"));
    let mut name = name.to_owned();
    name.push(".worktrees");
    root.parent().unwrap_or(root).join(name)
}

impl Worktree {
    /// Makes a worktree of the project's repository, from its current commit, with a new branch. The
    /// directory is named like the branch and is in `parent`, or else beside the repository. The
    /// error is a message for the user.
    pub fn create(
        root: &Path,
        parent: Option<&Path>,
        branch: &str,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, String> {
        let is_of_git = |name: &OsStr| name.as_encoded_bytes().starts_with(b"GIT_");
        let environment: Vec<(OsString, OsString)> =
            environment.iter().filter(|(name, _)| !is_of_git(name)).cloned().collect();
        let git = |arguments: &[&OsStr]| git(root, &environment, arguments);
        let base = git(&["rev-parse", "--verify", "HEAD^{commit}"].map(OsStr::new))
            .map_err(|why| format!("a worktree needs a git repository with a commit: {why}"))?;
        let asked = |what: &str| git(&["rev-parse", what].map(OsStr::new));
        let parent = match parent {
            Some(parent) => parent.to_owned(),
            None => beside(Path::new(&asked("--show-toplevel")?)),
        };
        let path = parent.join(branch.replace('/', "-"));
        std::fs::create_dir_all(&parent)
            .map_err(|why| format!("cannot create {}: {why}", parent.display()))?;
        let options = ["worktree", "add", "--quiet", "-b", branch].map(OsStr::new);
        let place = [path.as_os_str(), OsStr::new(&base)];
        git(&[&options[..], &place].concat())
            .map_err(|why| format!("git made no worktree at {}: {why}", path.display()))?;
        let (branch, project) = (branch.to_owned(), path.join(asked("--show-prefix")?));
        Ok(Self { path, project, branch, base, root: root.to_owned(), environment })
    }

    /// Removes the worktree and its branch if they have no changes.
    pub fn leave(&self) -> Left {
        if let Some(why) = self.changes() {
            return Left::Kept(why);
        }
        // Without `--force`, git itself refuses to remove a worktree with changes.
        let remove = [OsStr::new("worktree"), OsStr::new("remove"), self.path.as_os_str()];
        if let Err(why) = git(&self.root, &self.environment, &remove) {
            return Left::Kept(format!("git does not remove it: {why}"));
        }
        // The branch goes only if it is still at the commit that it began with. Left over, it does
        // no harm.
        let name = format!("refs/heads/{}", self.branch);
        let delete = ["update-ref", "-d", &name, &self.base].map(OsStr::new);
        git(&self.root, &self.environment, &delete).ok();
        if let Some(parent) = self.path.parent() {
            // Fails while there are other worktrees.
            std::fs::remove_dir(parent).ok();
        }
        Left::Removed
    }

    /// Why the worktree must be kept; `None` if it has no changes.
    fn changes(&self) -> Option<String> {
        let git = |arguments: &[&str]| {
            let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
            git(&self.path, &self.environment, &arguments)
        };
        match git(&[
            "status",
            "--porcelain",
            "--untracked-files=normal",
            "--ignore-submodules=none",
        ]) {
            Ok(status) if status.is_empty() => {}
            Ok(_) => return Some("it has uncommitted changes".to_owned()),
            Err(why) => return Some(format!("its changes are unknown: {why}")),
        }
        for name in ["HEAD", &format!("refs/heads/{}", self.branch)] {
            match git(&["rev-parse", "--verify", name]) {
                Ok(commit) if commit == self.base => {}
                Ok(_) => return Some("it has commits".to_owned()),
                Err(why) => return Some(format!("its commits are unknown: {why}")),
            }
        }
        None
    }
}

/// Runs git in a directory. Returns what it printed, or why it failed.
fn git(
    directory: &Path,
    environment: &[(OsString, OsString)],
    arguments: &[&OsStr],
) -> Result<String, String> {
    let mut command = Command::new("git");
    command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
    command.arg("-C").arg(directory).args(arguments);
    let ran = run(command, b"", PATIENCE).map_err(|why| format!("git does not start: {why}"))?;
    match ran {
        Ran { code: Some(0), out, .. } => Ok(String::from_utf8_lossy(&out).trim_end().to_owned()),
        Ran { code: None, .. } => Err("git did not end in time".to_owned()),
        Ran { code: Some(code), err, .. } => {
            let err = String::from_utf8_lossy(&err);
            let last = err.lines().map(str::trim).rfind(|it| !it.is_empty());
            Err(last.map_or_else(|| format!("git ended with {code}"), str::to_owned))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Project {
        _directory: tempfile::TempDir,
        root: PathBuf,
        environment: Vec<(OsString, OsString)>,
    }

    impl Project {
        /// A repository with one commit and one ignored name.
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = fs::canonicalize(directory.path()).unwrap().join("app");
            fs::create_dir(&root).unwrap();
            let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
            let path = std::env::var_os("PATH").unwrap();
            let environment = vec![
                (OsString::from("PATH"), path),
                pair("HOME", "/nonexistent"),
                // A worker's worktree must not be that of whoever called us.
                pair("GIT_DIR", "/nonexistent"),
            ];
            let project = Self { _directory: directory, root, environment };
            project.git(&project.root, &["init", "-q", "-b", "main"]);
            fs::write(project.root.join("a.txt"), "a\n").unwrap();
            fs::write(project.root.join(".gitignore"), "target\n").unwrap();
            project.commit(&project.root);
            project
        }

        fn git(&self, directory: &Path, arguments: &[&str]) -> String {
            let user = ["-c", "user.name=n", "-c", "user.email=e@example.org"];
            let arguments: Vec<&OsStr> = user.iter().chain(arguments).map(OsStr::new).collect();
            git(directory, &self.environment[..2], &arguments).unwrap()
        }

        fn commit(&self, directory: &Path) {
            self.git(directory, &["add", "-A"]);
            self.git(directory, &["commit", "-q", "-m", "m"]);
        }

        fn create(&self, branch: &str) -> Result<Worktree, String> {
            Worktree::create(&self.root, None, branch, &self.environment)
        }
    }

    #[test]
    fn a_worktree_without_changes_leaves_nothing_behind() {
        let project = Project::new();
        let worktree = project.create("punchlist/3-ab12").unwrap();
        assert!(worktree.path.ends_with("app.worktrees/punchlist-3-ab12"));
        assert_eq!(fs::read_to_string(worktree.path.join("a.txt")).unwrap(), "a\n");
        // What git ignores does not count.
        fs::create_dir(worktree.path.join("target")).unwrap();
        fs::write(worktree.path.join("target/out"), "x").unwrap();
        assert_eq!(worktree.leave(), Left::Removed);
        assert!(!beside(&project.root).exists());
        assert_eq!(project.git(&project.root, &["branch", "--list", "punchlist/*"]), "");
        // The same name can be used again.
        assert_eq!(project.create("punchlist/3-ab12").unwrap().leave(), Left::Removed);
    }

    #[test]
    fn a_worktree_with_any_change_is_kept_with_its_branch() {
        type Change = fn(&Project, &Path);
        let changes: [(&str, &str, Change); 7] = [
            ("changed", "it has uncommitted changes", |_, at| {
                fs::write(at.join("a.txt"), "b").unwrap();
            }),
            ("removed", "it has uncommitted changes", |_, at| {
                fs::remove_file(at.join("a.txt")).unwrap();
            }),
            ("untracked", "it has uncommitted changes", |_, at| {
                fs::write(at.join("new"), "x").unwrap();
            }),
            ("staged", "it has uncommitted changes", |project, at| {
                fs::write(at.join("new"), "x").unwrap();
                project.git(at, &["add", "new"]);
            }),
            ("committed", "it has commits", |project, at| {
                fs::write(at.join("new"), "x").unwrap();
                project.commit(at);
            }),
            ("on another branch", "it has commits", |project, at| {
                project.git(at, &["switch", "-q", "-c", "other"]);
                fs::write(at.join("new"), "x").unwrap();
                project.commit(at);
            }),
            ("broken", "its changes are unknown: ", |_, at| {
                fs::write(at.join(".git"), "nonsense").unwrap();
            }),
        ];
        let project = Project::new();
        for (number, (name, expected, change)) in changes.into_iter().enumerate() {
            let branch = format!("punchlist/{number}");
            let worktree = project.create(&branch).unwrap();
            change(&project, &worktree.path);
            let Left::Kept(why) = worktree.leave() else { panic!("{name}: removed") };
            assert!(why.starts_with(expected), "{name}: {why}");
            assert!(worktree.path.exists(), "{name}");
            let branches = project.git(&project.root, &["branch", "--list", &branch]);
            assert!(branches.contains(&branch), "{name}: {branches}");
        }
    }

    #[test]
    fn a_project_below_the_root_of_its_repository_has_its_place_in_the_worktree() {
        let project = Project::new();
        let below = project.root.join("crates/one");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("b.txt"), "b").unwrap();
        project.commit(&project.root);
        let worktree = Worktree::create(&below, None, "punchlist/1", &project.environment).unwrap();
        assert!(worktree.project.join("b.txt").exists(), "{worktree:?}");
        assert!(worktree.path.starts_with(beside(&project.root)));
        assert_eq!(worktree.leave(), Left::Removed);
    }

    #[test]
    fn hooks_of_the_repository_do_not_run() {
        use std::os::unix::fs::PermissionsExt;
        let project = Project::new();
        let hook = project.root.join(".git/hooks/post-checkout");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\ntouch ran\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        let worktree = project.create("punchlist/1").unwrap();
        assert!(!worktree.path.join("ran").exists());
        assert_eq!(worktree.leave(), Left::Removed);
    }

    #[test]
    fn what_cannot_be_made_is_said() {
        let project = Project::new();
        let worktree = project.create("punchlist/1").unwrap();
        let again = project.create("punchlist/1").unwrap_err();
        assert!(again.contains("already exists"), "{again}");
        worktree.leave();
        let empty = tempfile::tempdir().unwrap();
        let why = Worktree::create(empty.path(), None, "b", &project.environment);
        let why = why.unwrap_err();
        assert!(why.starts_with("a worktree needs a git repository with a commit: "), "{why}");
    }
}
