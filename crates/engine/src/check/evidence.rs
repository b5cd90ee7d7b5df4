//! Evidence of a check: which files it covers, and whether they have changed since.
//!
//! Files are only read here, never changed. Views compare size, time and inode, which is cheap but
//! can be wrong; `verify` compares contents.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use punchlist_formats::planfile;
use punchlist_model::item::{CheckRun, CoveredFile};
use punchlist_model::{Check, Item, Level, Number, Plan};
use sha2::{Digest, Sha256};

use crate::fail::Fail;
use crate::project::{self, Project};

use super::glob;

/// Maximum of files that a check may cover. Each is stored with every piece of evidence.
const MOST_FILES: usize = 10_000;

/// Maximum of alternatives in the braces of one pattern.
const MOST_ALTERNATIVES: usize = 64;

/// A SHA-256 digest in hexadecimal digits.
#[derive(Default)]
pub struct Sum(Sha256);

impl Sum {
    /// Adds these bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes.
    pub fn digits(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The directory in which an item's check runs and from which its files are named. It is always in
/// the plan's own project: the directory of the plan file that the item came from, else the top of
/// the worktree that the call was made in. For a call from another project it is the project's
/// root.
///
/// `here` is the project of the call, `start` the directory of the call.
pub fn place(
    here: &Project,
    start: Option<&Path>,
    plan: &Plan,
    item: &Item,
) -> Result<PathBuf, Fail> {
    let is_here = here.name == plan.project;
    let root = if is_here { here.root.clone() } else { project::root_of(&plan.project)? };
    if let Some(directory) = planfile::directory(item) {
        return project::inside(&root, Path::new(directory)).ok_or_else(|| {
            let number = item.number;
            let mut fail = Fail::refused(format!(
                "the check of item {number} belongs to {directory}, which is not in the project {}",
                plan.project
            ))
            .hint("a check runs in its plan's own project alone: run the plan file there.");
            fail.items.push(number);
            fail
        });
    }
    if !is_here {
        return Ok(root);
    }
    let start = start.and_then(|it| fs::canonicalize(it).ok());
    let top = start.as_deref().and_then(project::around).filter(|it| it.0 == root);
    Ok(top.map_or_else(|| root.clone(), |(_, top)| top.to_owned()))
}

/// The files that a check covers, with their current state.
pub fn cover(root: &Path, globs: &[String]) -> Result<Vec<CoveredFile>, Fail> {
    let mut found = BTreeSet::new();
    for glob in globs {
        for pattern in alternatives(glob) {
            let pattern = inside(root, &pattern)?;
            let files = glob::files_in(root.to_owned(), &pattern).map_err(|why| {
                Fail::ours(format!("the files of {glob:?} cannot be listed: {why}"))
            })?;
            found.extend(files);
        }
        if found.len() > MOST_FILES {
            return Err(Fail::refused(format!("{glob:?} covers more than {MOST_FILES} files"))
                .hint("name fewer, for instance by their ending: `src/**/*.rs`."));
        }
    }
    found.iter().filter_map(|path| covered_file(root, path).transpose()).collect()
}

/// Checks that a pattern stays below the root. A directory's name becomes a pattern for all files
/// in it.
fn inside(root: &Path, pattern: &str) -> Result<PathBuf, Fail> {
    let path = PathBuf::from(pattern);
    let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !path.components().all(stays) {
        return Err(Fail::refused(format!("{pattern:?} leads out of the project"))
            .hint("`covers` names files below the project, as in `src/**`."));
    }
    let is_directory = !glob::is_pattern(&path) && root.join(&path).is_dir();
    let all = if is_directory { path.join("**") } else { path };
    Ok(if all.ends_with("**") { all.join("*") } else { all })
}

/// Expands braces: `a.{b,c}` gives `a.b` and `a.c`.
fn alternatives(pattern: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(next) = open.pop() {
        // The innermost pair is expanded first, so that nested braces are expanded one after the
        // other.
        let end = next.find('}');
        let start = end.and_then(|end| next[..end].rfind('{'));
        match (start, end) {
            (Some(start), Some(end)) if done.len() + open.len() < MOST_ALTERNATIVES => {
                for part in next[start + 1..end].rsplit(',') {
                    open.push(format!("{}{part}{}", &next[..start], &next[end + 1..]));
                }
            }
            _ => done.push(next),
        }
    }
    done
}

/// The current state of a file; `None` if the file no longer exists.
fn covered_file(root: &Path, path: &Path) -> Result<Option<CoveredFile>, Fail> {
    let look = || -> io::Result<CoveredFile> {
        let mut file = File::open(path)?;
        let meta = file.metadata()?;
        let mut sum = Sum::default();
        let mut piece = vec![0; 64 * 1024];
        loop {
            match file.read(&mut piece)? {
                0 => break,
                count => sum.add(&piece[..count]),
            }
        }
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        let (size, mtime_ms, inode) = stamp(&meta);
        Ok(CoveredFile { path: name, digest: sum.digits(), size, mtime_ms, inode })
    };
    match look() {
        Ok(file) => Ok(Some(file)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(Fail::ours(format!("{} cannot be read: {why}", path.display()))),
    }
}

fn stamp(meta: &fs::Metadata) -> (u64, i64, u64) {
    let ms = meta.mtime().saturating_mul(1000).saturating_add(meta.mtime_nsec() / 1_000_000);
    (meta.size(), ms, meta.ino())
}

/// The run of the check that proves an item, if its latest evidence is a check that passed.
pub fn believed(item: &Item) -> Option<&CheckRun> {
    let last = item.evidence.iter().rfind(|it| it.level > Level::Reported)?;
    last.run.as_ref().filter(|_| last.level == Level::Checked && last.passed())
}

/// The items whose covered files seem to have changed since the check, by size, time or inode.
pub fn stale(plan: &Plan) -> BTreeSet<Number> {
    let looks_changed = |item: &&Item| believed(item).is_some_and(looks_changed);
    let listed = plan.items.values().filter(|it| !it.is_superseded());
    listed.filter(looks_changed).map(|it| it.number).collect()
}

fn looks_changed(run: &CheckRun) -> bool {
    let root = Path::new(&run.worktree);
    run.covered.iter().any(|file| {
        fs::metadata(root.join(&file.path))
            .map_or(true, |meta| stamp(&meta) != (file.size, file.mtime_ms, file.inode))
    })
}

/// Whether the covered files or their contents differ from those at the time of the check.
pub fn has_changed(root: &Path, check: &Check, run: &CheckRun) -> Result<bool, Fail> {
    let now = cover(root, &check.covers)?;
    let content = |files: &[CoveredFile]| -> Vec<(String, String)> {
        files.iter().map(|it| (it.path.clone(), it.digest.clone())).collect()
    };
    Ok(content(&now) != content(&run.covered))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_alternatives() {
        let table = [
            ("a", vec!["a"]),
            ("a.{b,c}", vec!["a.b", "a.c"]),
            ("{a,b}/{c,d}", vec!["a/c", "a/d", "b/c", "b/d"]),
            ("{a,{b,c}}", vec!["a", "b", "c"]),
            ("a{b", vec!["a{b"]),
            ("a}b", vec!["a}b"]),
        ];
        for (pattern, expected) in table {
            let mut found = alternatives(pattern);
            found.sort();
            found.dedup();
            assert_eq!(found, expected, "{pattern}");
        }
        assert!(alternatives(&"{a,b}".repeat(100)).len() < 200);
    }

    #[test]
    fn what_is_covered_stays_below_the_project() {
        let root = Path::new("/nowhere");
        assert_eq!(inside(root, "src/**").unwrap(), Path::new("src/**/*"));
        assert_eq!(inside(root, "./a").unwrap(), Path::new("./a"));
        assert!(inside(root, "../a").is_err());
        assert!(inside(root, "/etc/passwd").is_err());
        assert!(inside(root, "a/../../b").is_err());
    }

    #[test]
    fn files_are_known_by_what_they_say() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("src/deep")).unwrap();
        for (path, text) in [("src/a.rs", "a"), ("src/deep/b.rs", "b"), ("src/c.txt", "c")] {
            fs::write(root.join(path), text).unwrap();
        }
        let names = |globs: &[&str]| -> Vec<String> {
            let globs: Vec<String> = globs.iter().map(|it| (*it).to_owned()).collect();
            cover(&root, &globs).unwrap().into_iter().map(|it| it.path).collect()
        };
        assert_eq!(names(&["src/**/*.rs"]), ["src/a.rs", "src/deep/b.rs"]);
        assert_eq!(names(&["src"]), ["src/a.rs", "src/c.txt", "src/deep/b.rs"]);
        assert_eq!(names(&["src/**"]), names(&["src"]));
        assert_eq!(names(&["src/*.{rs,txt}"]), ["src/a.rs", "src/c.txt"]);
        assert_eq!(names(&["none/**"]), Vec::<String>::new());
        let file = &cover(&root, &["src/a.rs".to_owned()]).unwrap()[0];
        let digest = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
        assert_eq!((file.digest.as_str(), file.size), (digest, 1));
    }
}
