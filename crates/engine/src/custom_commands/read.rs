//! Walks a directory of command files and reads them, within limits.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use punchlist_formats::custom_command::CommandFile;
use punchlist_formats::text::{many_lines, one_line, truncate};
use rustix::fs::OFlags;

use super::{CommandSource, CustomCommand, CustomCommands};
use crate::check::evidence::Sum;

/// Maximum size of a file, in bytes.
const LARGEST: u64 = 64 * 1024;
/// Maximum number of entries that are examined in one place.
const MOST_ENTRIES: usize = 1_000;
/// Maximum depth of directories.
const DEEPEST: usize = 4;
/// Maximum length of a name, in characters.
const LONGEST_NAME: usize = 50;
/// Maximum width of a path in a message.
const WIDEST_PATH: usize = 100;

/// Reads all files in a directory. A directory that does not exist has none.
pub(super) fn directory(
    found: &mut CustomCommands,
    top: &Path,
    source: CommandSource,
    is_allowed: &dyn Fn(&str) -> bool,
) {
    let mut walk = Walk { top, source, is_allowed, examined: 0, found };
    if source == CommandSource::Project && walk.leaves_project() {
        let why = "a link in its path leaves the project";
        walk.skip(top, why);
        return;
    }
    walk.enter(top, &[], 0);
    found.commands.sort_by(|a, b| (a.source, &a.name).cmp(&(b.source, &b.name)));
}

struct Walk<'a> {
    top: &'a Path,
    source: CommandSource,
    is_allowed: &'a dyn Fn(&str) -> bool,
    examined: usize,
    found: &'a mut CustomCommands,
}

impl Walk<'_> {
    /// Whether the directory itself, or the one above it, is a link.
    fn leaves_project(&self) -> bool {
        let is_link =
            |it: &Path| fs::symlink_metadata(it).is_ok_and(|meta| meta.file_type().is_symlink());
        is_link(self.top) || self.top.parent().is_some_and(is_link)
    }

    fn enter(&mut self, directory: &Path, namespace: &[String], depth: usize) {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(why) if why.kind() == ErrorKind::NotFound && depth == 0 => return,
            Err(why) => return self.skip(directory, &format!("it cannot be read: {why}")),
        };
        let room = MOST_ENTRIES.saturating_sub(self.examined);
        let mut entries: Vec<_> = entries.flatten().take(room + 1).map(|it| it.path()).collect();
        if entries.len() > room {
            entries.truncate(room);
            self.skip(directory, &format!("only {MOST_ENTRIES} entries are examined"));
        }
        self.examined += entries.len();
        entries.sort();
        for path in entries {
            self.entry(&path, namespace, depth);
        }
    }

    fn entry(&mut self, path: &Path, namespace: &[String], depth: usize) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Editors leave files that begin with a dot.
        if name.starts_with('.') {
            return;
        }
        let Ok(meta) = fs::symlink_metadata(path) else { return };
        let is_link = meta.file_type().is_symlink();
        let is_directory = if is_link { path.is_dir() } else { meta.is_dir() };
        let Some(stem) = (if is_directory { Some(&*name) } else { name.strip_suffix(".md") })
        else {
            return;
        };
        // A link in a project could send any file of the user to the model.
        if is_link && self.source == CommandSource::Project {
            return self.skip(path, "it is a link");
        }
        let Some(part) = cleaned(stem) else {
            return self.skip(path, "its name has no letter or digit");
        };
        let mut names = namespace.to_vec();
        names.push(part);
        if is_directory && depth + 1 >= DEEPEST {
            return self.skip(path, "it lies too deep");
        }
        if is_directory {
            return self.enter(path, &names, depth + 1);
        }
        match self.read(path, cut(&names.join(":"))) {
            Ok(command) => self.found.commands.push(command),
            Err(why) => self.skip(path, &why),
        }
    }

    fn read(&self, path: &Path, name: String) -> Result<CustomCommand, String> {
        let same = |it: &&CustomCommand| it.source == self.source && it.name == name;
        if let Some(other) = self.found.commands.iter().find(same) {
            return Err(format!("its name would be /{name}, as that of {}", other.path));
        }
        let bytes = bytes(path, self.source)?;
        let text = str::from_utf8(&bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let file = CommandFile::parse(text).map_err(|why| why.to_string())?;
        let mut sum = Sum::default();
        sum.add(name.as_bytes());
        sum.add(b"\0");
        sum.add(&bytes);
        let digest = sum.digits();
        Ok(CustomCommand {
            source: self.source,
            path: self.shown(path),
            text: many_lines(text).into_owned(),
            file,
            is_allowed: (self.is_allowed)(&digest),
            digest,
            name,
        })
    }

    fn skip(&mut self, path: &Path, why: &str) {
        let line = format!("{} is skipped: {}", self.shown(path), one_line(why));
        self.found.skipped.push(line);
    }

    /// The path for people: below the directory that holds `commands`.
    fn shown(&self, path: &Path) -> String {
        let below = self.top.parent().unwrap_or(self.top);
        // A project's directory is below `.punchlist`, which is shown too.
        let below = match self.source {
            CommandSource::User => below,
            CommandSource::Project => below.parent().unwrap_or(below),
        };
        let path = path.strip_prefix(below).unwrap_or(path).to_string_lossy().into_owned();
        truncate(&one_line(&path), WIDEST_PATH).into_owned()
    }
}

/// The content of a file.
fn bytes(path: &Path, source: CommandSource) -> Result<Vec<u8>, String> {
    let failed = |why: io::Error| format!("it cannot be read: {why}");
    let file = open(path, source).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it is larger than {} KiB", LARGEST / 1024));
    }
    Ok(bytes)
}

/// Opens a file without waiting for the other end of a pipe. In a project, no link is followed:
/// somebody may put one in the file's place in the meantime.
fn open(path: &Path, source: CommandSource) -> io::Result<File> {
    let mut flags = OFlags::NONBLOCK;
    if source == CommandSource::Project {
        flags |= OFlags::NOFOLLOW;
    }
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// A part of a name: lower-case letters, digits, `-`, `_` and `.`. Anything else becomes `-`. `None`
/// if no letter or digit is left.
fn cleaned(name: &str) -> Option<String> {
    let name = one_line(name).to_lowercase();
    let keep = |it: char| if it.is_alphanumeric() || "-_.".contains(it) { it } else { '-' };
    let name: String = name.chars().map(keep).collect();
    let name = name.trim_matches(['-', '.']);
    name.contains(char::is_alphanumeric).then(|| name.to_owned())
}

/// The beginning of a name that is too long.
fn cut(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect::<String>().trim_end_matches(['-', '.', ':']).to_owned()
}
