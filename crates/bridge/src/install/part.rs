//! The files of each agent, and which entries belong into each of them.
//!
//! Only this module knows which agent has which file. The agents' own modules know how an entry
//! looks; `edit` and `toml` know how a file is edited.

use std::path::{Path, PathBuf};

use punchlist_formats::hook::Agent;
use serde_json::Value;

use super::codex::OwnTool;
use super::edit::{Document, Forgives, Malformed, Splice};
use super::entries::{self, Made, SERVER_PATH, Wanted, hooked, is_our_server};
use super::file::Seen;
use super::record::Edited;
use super::toml::Toml;
use super::{Options, claude, codex, gemini};

/// A file being edited, JSON or TOML.
#[derive(Clone, Debug)]
pub(crate) enum Doc {
    Json(Document),
    Toml(Toml),
}

impl Doc {
    /// Parses a file; its name determines the format.
    pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Malformed> {
        if path.extension().is_some_and(|it| it == "toml") {
            return Toml::parse(bytes).map(Self::Toml);
        }
        Document::parse(bytes).map(Self::Json)
    }

    /// Whether an agent accepts the file. An agent ignores a whole file that it does not accept.
    pub(crate) fn check(&self, agent: Agent) -> Result<(), Malformed> {
        let forgives = match agent {
            Agent::Claude | Agent::Codex => Forgives { comments: false, trailing_commas: false },
            Agent::Gemini => Forgives { comments: true, trailing_commas: false },
        };
        match self {
            Self::Json(doc) => doc.check(forgives),
            Self::Toml(_) => Ok(()),
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Json(doc) => doc.bytes(),
            Self::Toml(doc) => doc.bytes(),
        }
    }

    pub(crate) fn splices(&self) -> &[Splice] {
        match self {
            Self::Json(doc) => doc.splices(),
            Self::Toml(doc) => doc.splices(),
        }
    }

    /// Whether the file is empty.
    pub(crate) fn is_empty(&self) -> bool {
        let value = match self {
            Self::Json(doc) => doc.value(),
            // A comment counts as content.
            Self::Toml(doc) => return doc.bytes().trim_ascii().is_empty(),
        };
        value.as_object().is_some_and(serde_json::Map::is_empty)
    }
}

/// One settings file of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    agent: Agent,
    what: What,
}

/// Which entries a file has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// Claude Code's servers.
    Servers,
    /// Hooks, and the agent's permissions or servers in the same file.
    Settings,
    /// Codex's hooks.
    Hooks,
    /// Codex's configuration: the server, the trust in the hooks, or both.
    Config { server: bool, trust: bool },
}

/// What later files must know about the files before them.
#[derive(Clone, Debug, Default)]
pub(crate) struct EarlierFiles {
    /// Codex's hooks file: its path, and its content before and after.
    hooks: Option<(String, Value, Value)>,
}

impl EarlierFiles {
    /// Whether the existing installation uses Codex's own tool.
    fn uses_own_tool(&self) -> bool {
        self.hooks.as_ref().is_some_and(|(_, before, _)| codex::uses_own_tool(before))
    }

    /// Codex's own tool, if it is used; `known` is the record of the file with its setting.
    fn own_tool<'a>(&self, known: Option<&'a Edited>) -> Option<OwnTool<'a>> {
        let before = known.and_then(|it| it.tool_before.as_ref());
        self.uses_own_tool().then(|| OwnTool { made: made(known), before })
    }
}

fn made(known: Option<&Edited>) -> Made<'_> {
    Made(known.and_then(|it| it.made.as_deref()))
}

impl Part {
    /// The files of an installation, each after those that it depends on.
    pub(super) fn all(options: &Options) -> Vec<Self> {
        let agent = options.agent;
        let (home, config, scope) = (&options.home, options.config_dir.as_deref(), &options.scope);
        let part = |path, what| Self { path, agent, what };
        match agent {
            Agent::Claude => {
                let places = claude::Places::of(home, config, scope);
                vec![part(places.servers, What::Servers), part(places.settings, What::Settings)]
            }
            Agent::Gemini => vec![part(gemini::settings(home, config, scope), What::Settings)],
            Agent::Codex => {
                let places = codex::Places::of(home, config, scope);
                let hooks = part(places.hooks, What::Hooks);
                if places.config == places.trust {
                    let whole = What::Config { server: true, trust: true };
                    return vec![hooks, part(places.config, whole)];
                }
                let server = What::Config { server: true, trust: false };
                let trust = What::Config { server: false, trust: true };
                vec![hooks, part(places.config, server), part(places.trust, trust)]
            }
        }
    }

    /// Whether the file has hooks of ours.
    pub(super) fn has_hooks(&self, doc: &Doc) -> bool {
        match (self.what, doc) {
            (What::Settings | What::Hooks, Doc::Json(doc)) => {
                !hooked(self.agent, &doc.value()).is_empty()
            }
            (What::Servers | What::Settings | What::Hooks | What::Config { .. }, _) => false,
        }
    }

    /// The server with Punchlist's name.
    pub(super) fn server(&self, doc: &Doc) -> Option<Value> {
        match (self.what, doc) {
            (What::Servers | What::Settings, Doc::Json(doc)) => doc.get(&SERVER_PATH),
            (What::Config { server: true, .. }, Doc::Toml(doc)) => doc.get(&codex::SERVER_PATH),
            (What::Servers | What::Settings | What::Hooks | What::Config { .. }, _) => None,
        }
    }

    /// Whether the file lets the agent use Punchlist's tools without asking.
    pub(super) fn permits(&self, doc: &Doc) -> bool {
        match (self.what, self.agent, doc) {
            (What::Settings, Agent::Claude, Doc::Json(doc)) => claude::permits(&doc.value()),
            (What::Servers | What::Settings | What::Hooks | What::Config { .. }, agent, doc) => {
                self.server(doc).is_some_and(|it| entries::is_approved(agent, &it))
            }
        }
    }

    /// The setting of Codex's own tool before an installation that uses it: from the record, or the
    /// current one if no installation used it before.
    pub(super) fn tool_before(
        &self,
        doc: &Doc,
        known: Option<&Edited>,
        earlier_files: &EarlierFiles,
    ) -> Option<Value> {
        match (self.what, doc) {
            (What::Config { server: true, .. }, _) if earlier_files.uses_own_tool() => {
                known.and_then(|it| it.tool_before.clone())
            }
            (What::Config { server: true, .. }, Doc::Toml(doc)) => doc.get(&codex::UPDATE_PLAN),
            (What::Servers | What::Settings | What::Hooks | What::Config { .. }, _) => None,
        }
    }

    /// Whether the file has an entry of ours; `had_hooks` says whether any file has hooks of ours.
    pub(super) fn is_ours_there(&self, doc: &Doc, had_hooks: bool) -> bool {
        let server = || self.server(doc).as_ref().is_some_and(is_our_server);
        match self.what {
            What::Servers => server(),
            What::Settings | What::Hooks => had_hooks,
            What::Config { .. } => had_hooks || server(),
        }
    }

    /// Adds our entries, or says why that is impossible.
    pub(super) fn put(
        &self,
        doc: &mut Doc,
        wanted: &Wanted,
        known: Option<&Edited>,
        earlier_files: &mut EarlierFiles,
    ) -> Result<(), String> {
        match (self.what, doc) {
            (What::Servers, Doc::Json(doc)) => entries::put_server(doc, wanted),
            (What::Settings, Doc::Json(doc)) if self.agent == Agent::Claude => {
                claude::put_settings(doc, wanted, made(known))
            }
            (What::Settings, Doc::Json(doc)) => {
                entries::put_server(doc, wanted)?;
                entries::put_hooks(doc, wanted)
            }
            (What::Hooks, Doc::Json(doc)) => {
                let before = doc.value();
                entries::put_hooks(doc, wanted)?;
                let file = self.path.to_str().ok_or("its path is not UTF-8")?.to_owned();
                earlier_files.hooks = Some((file, before, doc.value()));
                Ok(())
            }
            (What::Config { server, trust }, Doc::Toml(doc)) => {
                if server {
                    codex::put_config(doc, wanted, earlier_files.own_tool(known))?;
                }
                if let Some((file, _, hooks)) = earlier_files.hooks.as_ref().filter(|_| trust) {
                    codex::put_trust(doc, file, hooks, wanted)?;
                }
                Ok(())
            }
            (What::Servers | What::Settings | What::Hooks | What::Config { .. }, _) => {
                Err("it has another format".to_owned())
            }
        }
    }

    /// Removes our entries, and restores the server that was there before.
    pub(super) fn take(
        &self,
        doc: &mut Doc,
        known: Option<&Edited>,
        earlier_files: &EarlierFiles,
    ) -> Result<(), String> {
        // Without a record, all entries with our form are removed, and containers that are empty
        // then.
        let made = made(known);
        let before = known.and_then(|it| it.server_before.as_ref());
        match (self.what, doc) {
            (What::Servers, Doc::Json(doc)) => entries::take_server(doc, before, made),
            (What::Settings, Doc::Json(doc)) if self.agent == Agent::Claude => {
                claude::take_settings(doc, made);
            }
            (What::Settings, Doc::Json(doc)) => {
                entries::take_server(doc, before, made);
                entries::take_all_hooks(doc, self.agent, made);
            }
            (What::Hooks, Doc::Json(doc)) => {
                entries::take_all_hooks(doc, self.agent, made);
            }
            (What::Config { server, trust }, Doc::Toml(doc)) => {
                if server {
                    codex::take_config(doc, made, earlier_files.own_tool(known))?;
                }
                if let Some((file, before, after)) = earlier_files.hooks.as_ref().filter(|_| trust)
                {
                    codex::take_trust(doc, file, before, after, made)?;
                }
            }
            (What::Servers | What::Settings | What::Hooks | What::Config { .. }, _) => {}
        }
        Ok(())
    }

    /// Notes the change of this file for the files after it.
    pub(super) fn note(&self, seen: &Seen, after: Option<&[u8]>, earlier_files: &mut EarlierFiles) {
        let value = |bytes: Option<&[u8]>| {
            Document::parse(bytes.unwrap_or_default()).map_or(Value::Null, |doc| doc.value())
        };
        if let (What::Hooks, Some(file)) = (self.what, self.path.to_str()) {
            let before = value(seen.bytes.as_deref());
            earlier_files.hooks = Some((file.to_owned(), before, value(after)));
        }
    }

    /// The names of everything that our edits would have to create.
    pub(super) fn missing(&self, doc: &Doc, earlier_files: &EarlierFiles) -> Vec<String> {
        match doc {
            Doc::Json(doc) if self.agent == Agent::Claude => claude::all_missing(&doc.value()),
            Doc::Json(doc) => entries::missing(&doc.value(), self.agent, &["mcpServers"]),
            Doc::Toml(doc) => {
                let none = (String::new(), Value::Null, Value::Null);
                let (file, _, hooks) = earlier_files.hooks.as_ref().unwrap_or(&none);
                codex::missing(doc, file, hooks)
            }
        }
    }
}
