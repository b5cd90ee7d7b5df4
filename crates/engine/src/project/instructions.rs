//! The instructions of a project for agents: `AGENTS.md`, or `CLAUDE.md` or `GEMINI.md` in a directory
//! without it.
//!
//! Anybody may have written these files. So only regular files inside the project are read, up to a
//! limit, and text that a person who opens the file would not see is left out. This file does not decide
//! whether a model may be shown them: a person does ([`crate::policy::consent::Consent::Instructions`]).

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use punchlist_formats::text::{many_lines, one_line};
use rustix::fs::OFlags;

use super::{Project, around};
use crate::policy::human::CalledBy;

/// The files, the preferred one first. One per directory is read.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

/// The most bytes that are read of a file. A model is shown less than that of all files together.
const MOST: u64 = 64 * 1024;

/// The instructions that apply in a directory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Instructions {
    /// The files, from the root of the project down to the directory.
    pub files: Vec<InstructionFile>,
    /// Which files were ignored, and why: a sentence each.
    pub ignored: Vec<String>,
}

/// A file with instructions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstructionFile {
    /// The path, relative to the root.
    pub path: String,
    /// The text. It may be the beginning of a longer one.
    pub text: String,
    /// The file that the path is a link to, relative to the root.
    pub link_to: Option<String>,
}

impl Instructions {
    /// Reads the instructions that apply in a directory of a project: its own, and those of all
    /// directories above it up to the root. In a worktree, the root is the worktree's.
    pub fn read(project: &Project, directory: &Path) -> Self {
        let directory = fs::canonicalize(directory).unwrap_or_else(|_| project.root.clone());
        let top = match around(&directory) {
            Some((root, top)) if root == project.root => top,
            Some(_) | None => &project.root,
        };
        let mut inside: Vec<&Path> =
            directory.ancestors().take_while(|it| it.starts_with(top)).collect();
        if inside.is_empty() {
            inside.push(top);
        }
        let mut instructions = Self::default();
        for directory in inside.into_iter().rev() {
            instructions.add(top, directory);
        }
        instructions
    }

    /// Adds the file of one directory, if it has one.
    fn add(&mut self, top: &Path, directory: &Path) {
        for name in NAMES {
            let path = directory.join(name);
            match read(top, &path) {
                Ok(Some(file)) => {
                    self.files.push(file);
                    return;
                }
                Ok(None) => {}
                Err(why) => self.ignored.push(format!("{} is ignored: {why}", shown(top, &path))),
            }
        }
    }

    /// Says that a model is not shown the files, and how that can be changed. `answer` is what the
    /// person said when asked.
    pub fn unread(&self, answer: Option<bool>, called_by: CalledBy) -> String {
        let names: Vec<&str> = self.files.iter().map(|it| it.path.as_str()).collect();
        let what = match names.as_slice() {
            [one] => format!("{one} is not read"),
            all => format!("{} are not read", all.join(", ")),
        };
        if called_by.is_agent() {
            return format!("{what}: only your user can allow that");
        }
        let (why, way) = match answer {
            Some(_) => ("you said no", "asks you again"),
            None => ("you have not allowed it", "at a terminal allows it"),
        };
        format!("{what}: {why}; `punchlist init --instructions` {way}")
    }
}

/// Reads a file; `None` if there is none. An error says why it is ignored.
fn read(top: &Path, path: &Path) -> Result<Option<InstructionFile>, String> {
    let failed = |why: io::Error| format!("it cannot be read: {why}");
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(failed(why)),
    };
    let target = if meta.is_symlink() { Some(target(top, path)?) } else { None };
    let real = target.as_deref().unwrap_or(path);
    if !fs::symlink_metadata(real).map_err(failed)?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    // Somebody may put a link or a pipe in its place in the meantime.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let flags = i32::try_from(flags).map_err(|why| why.to_string())?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(real).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(InstructionFile {
        path: shown(top, path),
        text: many_lines(&String::from_utf8_lossy(&bytes)).into_owned(),
        link_to: target.map(|it| shown(top, &it)),
    }))
}

/// What a link leads to. It must be Markdown in the project: a link could otherwise send any file of
/// the user to the model, such as one with secrets.
fn target(top: &Path, path: &Path) -> Result<PathBuf, String> {
    let real = fs::canonicalize(path).map_err(|_| "it is a link that leads nowhere".to_owned())?;
    if !real.starts_with(top) {
        return Err("it is a link that leaves the project".to_owned());
    }
    if real.extension().is_none_or(|it| it != "md") {
        return Err("it is a link to a file that is not Markdown".to_owned());
    }
    Ok(real)
}

/// The path for people and models.
fn shown(top: &Path, path: &Path) -> String {
    one_line(&path.strip_prefix(top).unwrap_or(path).to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::project;

    struct Tree(tempfile::TempDir);

    impl Tree {
        /// A repository `p`.
        fn new() -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            tree.write("p/.git/HEAD", "ref: refs/heads/main\n");
            tree
        }

        fn path(&self, path: &str) -> PathBuf {
            fs::canonicalize(self.0.path()).unwrap().join(path)
        }

        fn write(&self, path: &str, text: impl AsRef<[u8]>) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn link(&self, path: &str, to: impl AsRef<Path>) {
            symlink(to, self.path(path)).unwrap();
        }

        fn read(&self, directory: &str) -> Instructions {
            let directory = self.path(directory);
            Instructions::read(&project::find(&directory).unwrap(), &directory)
        }

        #[track_caller]
        fn check(&self, directory: &str, files: &[&str], ignored: &[&str]) {
            let read = self.read(directory);
            let paths: Vec<&str> = read.files.iter().map(|it| it.path.as_str()).collect();
            assert_eq!(paths, files, "in {directory}");
            assert_eq!(read.ignored, ignored, "in {directory}");
        }
    }

    #[test]
    fn files_apply_from_the_root_down_to_the_directory() {
        let tree = Tree::new();
        for path in ["AGENTS.md", "p/AGENTS.md", "p/a/b/AGENTS.md", "p/a/b/c/AGENTS.md"] {
            tree.write(path, path);
        }
        tree.write("p/a/CLAUDE.md", "claude");
        tree.write("p/other/AGENTS.md", "other");
        tree.check("p", &["AGENTS.md"], &[]);
        tree.check("p/a/b", &["AGENTS.md", "a/CLAUDE.md", "a/b/AGENTS.md"], &[]);
        assert_eq!(tree.read("p/a/b").files[2].text, "p/a/b/AGENTS.md");
        // Without a repository, only the directory itself is the project.
        tree.write("q/sub/x", "");
        tree.check("q/sub", &[], &[]);
    }

    #[test]
    fn other_files_are_read_only_where_there_is_no_agents_md() {
        let tree = Tree::new();
        tree.write("p/GEMINI.md", "");
        tree.check("p", &["GEMINI.md"], &[]);
        tree.write("p/CLAUDE.md", "");
        tree.check("p", &["CLAUDE.md"], &[]);
        tree.write("p/AGENTS.md", "");
        tree.check("p", &["AGENTS.md"], &[]);
    }

    #[test]
    fn in_a_worktree_its_own_files_apply() {
        let tree = Tree::new();
        tree.write("p/AGENTS.md", "main");
        fs::create_dir_all(tree.path("p/.git/objects")).unwrap();
        fs::create_dir_all(tree.path("p/.git/refs")).unwrap();
        tree.write("p/.git/worktrees/wt/commondir", "../..\n");
        tree.write("p/.git/worktrees/wt/gitdir", tree.path("wt/.git").display().to_string());
        let admin = tree.path("p/.git/worktrees/wt").display().to_string();
        tree.write("wt/.git", format!("gitdir: {admin}\n"));
        tree.write("wt/AGENTS.md", "worktree");
        tree.write("wt/src/AGENTS.md", "sources");
        let texts: Vec<String> = tree.read("wt/src").files.into_iter().map(|it| it.text).collect();
        assert_eq!(texts, ["worktree", "sources"]);
    }

    #[test]
    fn a_link_is_followed_only_to_markdown_inside_the_project() {
        let tree = Tree::new();
        tree.write("p/docs/rules.md", "rules");
        tree.write("p/.env", "SECRET=1");
        tree.write("outside.md", "outside");
        tree.link("p/AGENTS.md", "docs/rules.md");
        let file = tree.read("p").files.remove(0);
        assert_eq!((file.text.as_str(), file.link_to.as_deref()), ("rules", Some("docs/rules.md")));
        for (to, why) in [
            ("/etc/passwd", "it is a link that leaves the project"),
            ("../outside.md", "it is a link that leaves the project"),
            (".env", "it is a link to a file that is not Markdown"),
            ("nowhere.md", "it is a link that leads nowhere"),
            ("AGENTS.md", "it is a link that leads nowhere"),
        ] {
            fs::remove_file(tree.path("p/AGENTS.md")).unwrap();
            tree.link("p/AGENTS.md", to);
            tree.check("p", &[], &[&format!("AGENTS.md is ignored: {why}")]);
        }
    }

    #[test]
    fn what_is_no_regular_file_is_ignored() {
        let tree = Tree::new();
        fs::create_dir(tree.path("p/AGENTS.md")).unwrap();
        let pipe = tree.path("p/CLAUDE.md");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        tree.link("p/GEMINI.md", "pipe.md");
        fs::rename(&pipe, tree.path("p/pipe.md")).unwrap();
        tree.link("p/CLAUDE.md", "pipe.md");
        let ignored = |name| format!("{name} is ignored: it is not a regular file");
        let ignored = NAMES.map(ignored);
        tree.check("p", &[], &ignored.each_ref().map(String::as_str));
    }

    #[test]
    fn a_file_is_read_up_to_a_limit_and_as_a_person_sees_it() {
        let tree = Tree::new();
        tree.write("p/AGENTS.md", "long ".repeat(2_000_000));
        assert_eq!(tree.read("p").files[0].text.len() as u64, MOST);
        let hidden = "Build.\u{1b}[2J\u{202e}\u{e0041}\u{e0042}\0\n```\nTest.\u{200b}";
        tree.write("p/AGENTS.md", [hidden.as_bytes(), b"\xff"].concat());
        assert_eq!(tree.read("p").files[0].text, "Build.\n```\nTest.\u{fffd}");
    }

    #[test]
    fn what_is_not_read_is_said_in_a_line() {
        let file = |path: &str| InstructionFile {
            path: path.to_owned(),
            text: String::new(),
            link_to: None,
        };
        let one = Instructions { files: vec![file("AGENTS.md")], ..Instructions::default() };
        let two = Instructions {
            files: vec![file("AGENTS.md"), file("a/CLAUDE.md")],
            ..Instructions::default()
        };
        for (it, answer, called_by, expected) in [
            (
                &one,
                None,
                CalledBy::PersonElsewhere,
                "AGENTS.md is not read: you have not allowed it; `punchlist init --instructions` at a terminal allows it",
            ),
            (
                &two,
                Some(false),
                CalledBy::PersonAtTerminal,
                "AGENTS.md, a/CLAUDE.md are not read: you said no; `punchlist init --instructions` asks you again",
            ),
            (
                &one,
                None,
                CalledBy::Agent("claude"),
                "AGENTS.md is not read: only your user can allow that",
            ),
        ] {
            assert_eq!(it.unread(answer, called_by), expected);
        }
    }
}
