//! `search`: finds lines by a regular expression, except in files that git ignores. Output and
//! memory are limited, however large the files are.

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
use super::{Place, Root, arguments, reads, run_blocking, schema};

/// Maximum of matches, unless the caller wants fewer.
const MOST: u64 = 200;
/// Maximum of bytes that are shown.
const MOST_BYTES: usize = 64 * 1024;
/// Maximum of characters of a line that are shown.
const LONGEST: usize = 300;
/// Maximum length of a pattern, in bytes.
const LONGEST_PATTERN: usize = 2_000;
/// Maximum of memory for a line.
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
    /// Only files whose path matches this glob, such as `*.rs` or `src/**/*.ts`.
    glob: Option<String>,
    /// The pattern is plain text.
    #[serde(default)]
    literal: bool,
    /// Ignore case.
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
    /// Searches files of the project, and others if the policy allows it.
    pub fn new(root: Root) -> Self {
        Self { root, schema: schema::<Arguments>() }
    }
}

fn parse(root: &Root, input: &Value) -> Result<(Place, Arguments), String> {
    let input: Arguments = arguments(input)?;
    let place = root.resolve(input.path.as_deref().unwrap_or("."))?;
    Ok((place, input))
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

    fn check(&self, input: &Value) -> Result<Checked, String> {
        let (place, input) = parse(&self.root, input)?;
        matcher(&input)?;
        globs(&input, &place.real)?;
        Ok(reads(self.name(), &place))
    }

    fn preview(&self, input: &Value) -> Preview {
        match parse(&self.root, input) {
            Ok((place, input)) => Preview {
                what: format!("search {} for {:?}", place.shown, input.pattern),
                touches: vec![place.shown],
                ..Preview::default()
            },
            Err(_) => Preview { what: "search".to_owned(), ..Preview::default() },
        }
    }

    fn run(&self, input: Value, work: Work) -> BoxFuture<'static, Ended> {
        let root = self.root.clone();
        run_blocking(work, move |work| {
            let (place, input) = parse(&root, &input)?;
            search(&place, &input, work)
        })
    }
}

fn matcher(input: &Arguments) -> Result<RegexMatcher, String> {
    if input.pattern.is_empty() || input.pattern.len() > LONGEST_PATTERN {
        return Err(format!("the pattern is empty, or longer than {LONGEST_PATTERN} bytes"));
    }
    RegexMatcherBuilder::new()
        .case_insensitive(input.ignore_case)
        .fixed_strings(input.literal)
        .line_terminator(Some(b'\n'))
        .build(&input.pattern)
        .map_err(|why| format!("the pattern cannot be used: {why}"))
}

fn globs(input: &Arguments, below: &Path) -> Result<Option<Override>, String> {
    let Some(glob) = input.glob.as_deref().filter(|it| !it.is_empty()) else { return Ok(None) };
    if glob.len() > LONGEST_PATTERN {
        return Err(format!("the glob is longer than {LONGEST_PATTERN} bytes"));
    }
    let mut globs = OverrideBuilder::new(below);
    globs.add(glob).map_err(|why| format!("the glob cannot be used: {why}"))?;
    Ok(Some(globs.build().map_err(|why| format!("the glob cannot be used: {why}"))?))
}

fn search(place: &Place, input: &Arguments, work: &Work) -> Result<String, String> {
    let matcher = matcher(input)?;
    let globs = globs(input, &place.real)?;
    let context = usize::from(input.context.unwrap_or(0).min(10));
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .heap_limit(Some(HEAP))
        .build();
    let limit = input.limit.unwrap_or(MOST).clamp(1, MOST);
    let mut hits = Hits { out: String::new(), file: None, count: 0, limit, full: false };
    if !place.real.exists() {
        return Err(format!("{} does not exist", place.shown));
    }
    // A single file is shown by its name, other files by their path below the directory.
    let below = if place.real.is_file() { place.real.parent() } else { Some(&*place.real) };
    let mut left_out = 0;
    for entry in walk(&place.real).build() {
        if work.is_stopping() {
            return Err("stopped".to_owned());
        }
        let Ok(entry) = entry else { continue };
        let is_file = entry.file_type().is_some_and(|it| it.is_file());
        let fits = |it: &Override| it.matched(entry.path(), false).is_whitelist();
        let negated = input.glob.as_deref().is_some_and(|it| it.starts_with('!'));
        let wanted = globs
            .as_ref()
            .is_none_or(|it| fits(it) || (negated && !it.matched(entry.path(), false).is_ignore()));
        if !is_file || !wanted {
            continue;
        }
        // A file that the call names was checked by the policy. Other secret files are skipped.
        if entry.depth() > 0 && is_secret(entry.path()) {
            left_out += 1;
            continue;
        }
        hits.file = Some(shown(entry.path(), below.unwrap_or(&place.real)));
        // Files that cannot be read, or with lines that are too long, are left out.
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

/// Collects matches until there are enough.
struct Hits {
    out: String,
    /// The file that is being searched, until its name is written.
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
        // A character has at most four bytes.
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
