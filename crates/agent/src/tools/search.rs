//! `search`: finds lines by a regular expression, without what git ignores. Output is bounded; so is
//! memory, whatever the files.

use std::path::Path;

use futures_core::future::BoxFuture;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::overrides::{Override, OverrideBuilder};
use punchlist_sched::call::{Checked, Ended};
use punchlist_sched::{Preview, Tool, Work};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::list::{shown, walk};
use super::place::is_secret;
use super::{Place, Root, arguments, aside, reads, schema};

/// How many lines are found unless fewer are wanted.
const MOST: u64 = 200;
/// How many bytes are shown.
const MOST_BYTES: usize = 64 * 1024;
/// How many characters of a line are shown.
const LONGEST: usize = 300;
/// How long a pattern may be, in bytes.
const LONGEST_PATTERN: usize = 2_000;
/// How much memory a line may take.
const HEAP: usize = 16 * 1024 * 1024;

/// The tool.
pub struct Search {
    root: Root,
    schema: Value,
}

#[derive(Clone, Deserialize, JsonSchema)]
struct Arguments {
    /// What to look for: a regular expression as in ripgrep, matched line by line.
    #[schemars(length(min = 1))]
    pattern: String,
    /// Where: a file or directory, relative to the project's root; the root if left out.
    path: Option<String>,
    /// Only files whose path fits, such as `*.rs` or `src/**/*.ts`.
    glob: Option<String>,
    /// The pattern is plain text.
    #[serde(default)]
    literal: bool,
    /// Capital and small letters are the same.
    #[serde(default)]
    ignore_case: bool,
    /// How many lines around each match to show.
    #[schemars(range(max = 10))]
    context: Option<u8>,
    /// How many matches to show at most.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u64>,
}

impl Search {
    /// Searches files of a project, and others where that is allowed.
    pub fn new(root: Root) -> Self {
        Self { root, schema: schema::<Arguments>() }
    }
}

fn look(root: &Root, given: &Value) -> Result<(Place, Arguments), String> {
    let given: Arguments = arguments(given)?;
    let place = root.resolve(given.path.as_deref().unwrap_or("."))?;
    Ok((place, given))
}

impl Tool for Search {
    fn name(&self) -> &'static str {
        "search"
    }

    fn description(&self) -> &'static str {
        "Find lines in files by a regular expression. What .gitignore leaves out, and binary files, are \
         left out. Shows up to 200 matches with their files and line numbers."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, given: &Value) -> Result<Checked, String> {
        let (place, given) = look(&self.root, given)?;
        matcher(&given)?;
        globs(&given, &place.real)?;
        Ok(reads(self.name(), &place))
    }

    fn preview(&self, given: &Value) -> Preview {
        match look(&self.root, given) {
            Ok((place, given)) => Preview {
                what: format!("search {} for {:?}", place.shown, given.pattern),
                touches: vec![place.shown],
                ..Preview::default()
            },
            Err(_) => Preview { what: "search".to_owned(), ..Preview::default() },
        }
    }

    fn run(&self, given: Value, work: Work) -> BoxFuture<'static, Ended> {
        let root = self.root.clone();
        aside(work, move |work| {
            let (place, given) = look(&root, &given)?;
            found(&place, &given, work)
        })
    }
}

fn matcher(given: &Arguments) -> Result<RegexMatcher, String> {
    if given.pattern.is_empty() || given.pattern.len() > LONGEST_PATTERN {
        return Err(format!("the pattern is empty, or longer than {LONGEST_PATTERN} bytes"));
    }
    RegexMatcherBuilder::new()
        .case_insensitive(given.ignore_case)
        .fixed_strings(given.literal)
        .line_terminator(Some(b'\n'))
        .build(&given.pattern)
        .map_err(|why| format!("the pattern cannot be used: {why}"))
}

fn globs(given: &Arguments, below: &Path) -> Result<Option<Override>, String> {
    let Some(glob) = given.glob.as_deref().filter(|it| !it.is_empty()) else { return Ok(None) };
    if glob.len() > LONGEST_PATTERN {
        return Err(format!("the glob is longer than {LONGEST_PATTERN} bytes"));
    }
    let mut globs = OverrideBuilder::new(below);
    globs.add(glob).map_err(|why| format!("the glob cannot be used: {why}"))?;
    Ok(Some(globs.build().map_err(|why| format!("the glob cannot be used: {why}"))?))
}

fn found(place: &Place, given: &Arguments, work: &Work) -> Result<String, String> {
    let matcher = matcher(given)?;
    let globs = globs(given, &place.real)?;
    let context = usize::from(given.context.unwrap_or(0).min(10));
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .heap_limit(Some(HEAP))
        .build();
    let limit = given.limit.unwrap_or(MOST).clamp(1, MOST);
    let mut hits = Hits { out: String::new(), file: None, count: 0, limit, full: false };
    if !place.real.exists() {
        return Err(format!("{} does not exist", place.shown));
    }
    // A file that is searched by itself is shown by its name, others by the path below.
    let below = if place.real.is_file() { place.real.parent() } else { Some(&*place.real) };
    let mut left_out = 0;
    for entry in walk(&place.real).build() {
        if work.is_stopping() {
            return Err("stopped".to_owned());
        }
        let Ok(entry) = entry else { continue };
        let is_file = entry.file_type().is_some_and(|it| it.is_file());
        let fits = |it: &Override| it.matched(entry.path(), false).is_whitelist();
        let negated = given.glob.as_deref().is_some_and(|it| it.starts_with('!'));
        let wanted = globs
            .as_ref()
            .is_none_or(|it| fits(it) || (negated && !it.matched(entry.path(), false).is_ignore()));
        if !is_file || !wanted {
            continue;
        }
        // One that was named was asked about. The others nobody has thought of.
        if entry.depth() > 0 && is_secret(entry.path()) {
            left_out += 1;
            continue;
        }
        hits.file = Some(shown(entry.path(), below.unwrap_or(&place.real)));
        // A file that cannot be read, or has lines beyond all bounds, is left out.
        searcher.search_path(&matcher, entry.path(), &mut hits).ok();
        if hits.full {
            hits.out.push_str("(there is more; narrow the pattern, the path or the glob)\n");
            break;
        }
    }
    if hits.count == 0 {
        hits.out.push_str("no matches\n");
    }
    if left_out > 0 {
        let files = if left_out == 1 { "1 file" } else { &format!("{left_out} files") };
        hits.out.push_str(&format!(
            "({files} left out that may hold secrets; name one to search it)\n"
        ));
    }
    Ok(hits.out)
}

/// Takes what is found, until there is enough of it.
struct Hits {
    out: String,
    /// The file that is searched, until it is named.
    file: Option<String>,
    count: u64,
    limit: u64,
    full: bool,
}

impl Hits {
    fn line(&mut self, number: Option<u64>, sign: char, bytes: &[u8]) {
        if let Some(file) = self.file.take() {
            self.out.push_str(&format!("{file}\n"));
        }
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        // No character has more than four bytes.
        let text = String::from_utf8_lossy(bytes.get(..LONGEST * 4).unwrap_or(bytes));
        let mut chars = text.chars();
        let short: String = chars.by_ref().take(LONGEST).collect();
        let more = if chars.next().is_some() { "…" } else { "" };
        self.out.push_str(&format!("{:>6}{sign} {short}{more}\n", number.unwrap_or(0)));
    }
}

impl Sink for &mut Hits {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if self.count == self.limit || self.out.len() >= MOST_BYTES {
            self.full = true;
            return Ok(false);
        }
        self.count += 1;
        self.line(found.line_number(), ':', found.bytes());
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, Self::Error> {
        if self.count < self.limit || *around.kind() == grep_searcher::SinkContextKind::After {
            self.line(around.line_number(), '-', around.bytes());
        }
        Ok(true)
    }
}
