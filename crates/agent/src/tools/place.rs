//! Resolves paths, and says whether they are inside the project.
//!
//! A path is first normalised as text and then followed through symbolic links. A path that looks
//! as if it were inside the project must be inside: a link that leads out is refused, because a
//! person who is asked sees the path and not its target. A path that is plainly outside is allowed,
//! and is reported as outside.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use punchlist_sched::policy::like;

/// Names of files and directories of git, editors, agents and Punchlist. Their content is executed,
/// or decides what may be executed.
const GUARDED: &[&str] = &[
    ".git",
    ".vscode",
    ".mcp.json",
    ".claude",
    ".codex",
    ".gemini",
    ".punchlist",
    "punchlist.toml",
];

/// Where Punchlist's own configuration and data are, wherever the home directory is.
const OWN: &[&[&str]] = &[
    &[".config", "punchlist"],
    &[".local", "share", "punchlist"],
    &["Application Support", "punchlist"],
];

/// Names of files that usually contain secrets, in lower case.
const SECRETS: &[&str] = &[
    ".env*",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
];

/// Directories whose files usually contain secrets.
const SECRET_FOLDERS: &[&str] = &[".ssh", ".gnupg", ".aws", ".kube"];

/// The longest path that systems accept.
const LONGEST: usize = 4_096;

/// The project's root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Root {
    named: PathBuf,
    real: PathBuf,
    /// Further places that tools never write.
    guarded: Vec<PathBuf>,
}

/// A path, resolved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The path with links resolved. It need not exist.
    pub real: PathBuf,
    /// The path for messages: relative to the root, or in full.
    pub shown: String,
    /// Whether it is inside the root.
    pub inside: bool,
    /// Whether it usually contains secrets.
    pub is_secret: bool,
}

impl Place {
    /// The scope that a call which touches this place declares.
    pub(super) fn scope(&self) -> &str {
        // The path was made from text. If it is outside, `shown` has all of it.
        self.real.to_str().unwrap_or(&self.shown)
    }
}

impl Root {
    /// The root, which must be a directory.
    pub fn new(path: &Path) -> io::Result<Self> {
        let real = fs::canonicalize(path)?;
        if !real.is_dir() || real.to_str().is_none() {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok(Self { named: path.to_owned(), real, guarded: Vec::new() })
    }

    /// Adds places that tools never write.
    #[must_use]
    pub fn guarding(mut self, places: &[PathBuf]) -> Self {
        let real = |it: &PathBuf| fs::canonicalize(it).unwrap_or_else(|_| it.clone());
        self.guarded = places.iter().map(real).collect();
        self
    }

    /// The path with links resolved.
    pub fn path(&self) -> &Path {
        &self.real
    }

    /// Resolves a path.
    pub fn resolve(&self, text: &str) -> Result<Place, String> {
        if text.len() > LONGEST {
            return Err(format!("the path is too long: {} bytes", text.len()));
        }
        if text.is_empty() || text.contains('\0') {
            return Err(format!("{text:?} is not a path"));
        }
        if text.starts_with('~') {
            return Err(format!("{text:?}: ~ means nothing here; write the path in full"));
        }
        let named = normalised(&self.real.join(text));
        let real = follow_links(&named).map_err(|why| format!("{text:?} {why}"))?;
        let inside = real.starts_with(&self.real);
        let meant_inside = named.starts_with(&self.real) || named.starts_with(&self.named);
        if meant_inside && !inside {
            return Err(format!(
                "{text:?} leads out of the project, to {}; if you mean that, name it itself",
                real.display()
            ));
        }
        let shown = if inside { real.strip_prefix(&self.real).unwrap_or(&real) } else { &real };
        let shown = match shown.to_str() {
            Some("") => ".".to_owned(),
            Some(shown) if real.to_str().is_some() => shown.to_owned(),
            Some(_) | None => return Err(format!("{text:?} leads to a name that is not text")),
        };
        let is_secret = is_secret(&real);
        Ok(Place { real, shown, inside, is_secret })
    }

    /// Resolves a path that is to be written.
    pub fn resolve_to_write(&self, text: &str) -> Result<Place, String> {
        let place = self.resolve(text)?;
        // The project itself may be in a directory of such a name.
        let below = place.real.strip_prefix(&self.real).unwrap_or(&place.real);
        if is_guarded(below) || self.guarded.iter().any(|it| place.real.starts_with(it)) {
            return Err(guarded(&place.shown));
        }
        if below.as_os_str().is_empty() && place.inside {
            return Err(format!("{text:?} is the project's directory, not a file"));
        }
        Ok(place)
    }
}

/// Whether tools never write there.
pub(super) fn is_guarded(path: &Path) -> bool {
    let names: Vec<&OsStr> = path.components().map(Component::as_os_str).collect();
    let is_named = |it: &&OsStr| GUARDED.iter().any(|name| it.eq_ignore_ascii_case(name));
    let is_own = |own: &&[&str]| {
        names
            .windows(own.len())
            .any(|it| it.iter().zip(own.iter()).all(|(a, b)| a.eq_ignore_ascii_case(b)))
    };
    names.iter().any(is_named) || OWN.iter().any(is_own)
}

/// The refusal for such a place.
pub(super) fn guarded(shown: &str) -> String {
    format!("tools may not write {shown}; ask the user to change it")
}

/// Whether a file usually contains secrets, judging by its name.
pub(super) fn is_secret(path: &Path) -> bool {
    let lower = |it: &OsStr| it.to_string_lossy().to_ascii_lowercase();
    let name = path.file_name().map(lower).unwrap_or_default();
    let folders = path.parent().into_iter().flat_map(Path::components).map(Component::as_os_str);
    let is_below = |it: &OsStr| SECRET_FOLDERS.contains(&lower(it).as_str());
    SECRETS.iter().any(|it| like(it, &name)) || folders.into_iter().any(is_below)
}

/// The path without `.` and `..`, as text, without looking at the file system.
fn normalised(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

/// Follows links as far as the path exists; the rest is to be created.
fn follow_links(path: &Path) -> Result<PathBuf, String> {
    let mut there = path;
    let mut rest = Vec::new();
    loop {
        match fs::canonicalize(there) {
            Ok(real) => {
                if !rest.is_empty() && !real.is_dir() {
                    return Err(format!("cannot exist: {} is not a directory", real.display()));
                }
                return Ok(rest.iter().rev().fold(real, |real, name| real.join(name)));
            }
            Err(why) if why.kind() == ErrorKind::NotFound => {
                if fs::symlink_metadata(there).is_ok() {
                    return Err("is a link without a target".to_owned());
                }
                rest.push(there.file_name().ok_or("does not exist")?);
                there = there.parent().ok_or("does not exist")?;
            }
            Err(why) if why.kind() == ErrorKind::NotADirectory => {
                rest.push(there.file_name().ok_or("does not exist")?);
                there = there.parent().ok_or("does not exist")?;
            }
            Err(why) => return Err(format!("cannot be reached: {why}")),
        }
    }
}
