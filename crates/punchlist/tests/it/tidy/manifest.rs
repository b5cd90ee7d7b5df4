//! Reads a crate's manifest, line by line.
//!
//! Our manifests are simple enough for that: a dependency is one line, `name.workspace = true`.

/// One crate's `Cargo.toml`.
pub(super) struct Manifest {
    /// Its path, for messages.
    pub(super) path: String,
    /// The crate's short name: its directory.
    pub(super) name: String,
    lines: Vec<(String, String)>,
}

impl Manifest {
    pub(super) fn read(path: &str, name: &str, text: &str) -> Self {
        let mut section = String::new();
        let mut lines = Vec::new();
        for line in text.lines().map(str::trim).filter(|it| !it.is_empty() && !it.starts_with('#'))
        {
            if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                section = name.to_owned();
                lines.push((section.clone(), String::new()));
            } else {
                lines.push((section.clone(), line.to_owned()));
            }
        }
        Self { path: path.to_owned(), name: name.to_owned(), lines }
    }

    /// The names under `dependencies`, `dev-dependencies` and so on.
    pub(super) fn names(&self, section: &str) -> Vec<&str> {
        self.section(section).map(|it| it.split(['.', '=', ' ']).next().unwrap_or(it)).collect()
    }

    /// The names of our own crates there, without the common prefix.
    pub(super) fn ours(&self, section: &str) -> Vec<&str> {
        self.names(section).into_iter().filter_map(|it| it.strip_prefix("punchlist-")).collect()
    }

    /// The lines of a section.
    pub(super) fn section<'a>(&'a self, section: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let section = section.to_owned();
        self.lines.iter().filter(move |it| it.0 == section && !it.1.is_empty()).map(|it| &it.1[..])
    }

    /// Whether a section has exactly this line.
    pub(super) fn says(&self, section: &str, line: &str) -> bool {
        self.section(section).any(|it| it == line)
    }

    /// The names of all its sections.
    pub(super) fn sections(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(|it| it.1.is_empty()).map(|it| &it.0[..])
    }
}

#[test]
fn a_manifest_is_read_by_section() {
    let text = "[package]\nname = \"x\"\n\n[dependencies]\n# why\npunchlist-model.workspace = true\nclap = \"4\"\n";
    let manifest = Manifest::read("x/Cargo.toml", "x", text);
    assert_eq!(manifest.names("dependencies"), ["punchlist-model", "clap"]);
    assert_eq!(manifest.ours("dependencies"), ["model"]);
    assert!(manifest.says("package", "name = \"x\""));
    assert_eq!(manifest.sections().collect::<Vec<_>>(), ["package", "dependencies"]);
}
