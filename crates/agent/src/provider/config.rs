//! Which providers there are, where each is, and where its key comes from.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;

use super::{ClientOptions, Failure, Genai, ModelName, Provider, Scripted, Secret, Surroundings};

/// How a provider is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Responses API.
    OpenAi,
    /// OpenAI's chat completions, which most other servers offer too.
    OpenAiChat,
    /// Google's Gemini API.
    Gemini,
    /// Ollama's own API.
    Ollama,
}

impl Kind {
    const ALL: [Self; 5] =
        [Self::Anthropic, Self::OpenAi, Self::OpenAiChat, Self::Gemini, Self::Ollama];

    /// Where the provider is unless somebody configures another address.
    fn default_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com/v1/",
            Self::OpenAi | Self::OpenAiChat => "https://api.openai.com/v1/",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
            Self::Ollama => "http://127.0.0.1:11434/",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiChat => "openai-chat",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        })
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|it| it.to_string() == text).ok_or_else(|| {
            let names: Vec<String> = Self::ALL.iter().map(Self::to_string).collect();
            format!("kind \"{text}\" is not one of {}", names.join(", "))
        })
    }
}

/// Where a key comes from. Keys themselves are in no settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeySource {
    /// The provider needs none.
    None,
    /// A variable of the environment, written `$NAME`.
    Variable(String),
    /// The output of a command, written `!command`.
    Command(String),
}

impl FromStr for KeySource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let variable = text.strip_prefix('$').filter(|it| !it.is_empty());
        let command = text.strip_prefix('!').filter(|it| !it.trim().is_empty());
        let variable = variable.map(|it| Self::Variable(it.to_owned()));
        variable.or_else(|| command.map(|it| Self::Command(it.trim().to_owned()))).ok_or_else(
            // The text may be a key, so it is not repeated.
            || {
                "key must be \"$VARIABLE\" or \"!command\": keys are not kept in settings"
                    .to_owned()
            },
        )
    }
}

/// How keys are looked up. Whoever calls supplies both, since this crate reads no environment.
pub struct KeyLookup<'a> {
    /// The value of a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The output of a command, or why it failed.
    pub command: &'a dyn Fn(&str) -> Result<String, String>,
}

/// A provider that can be connected to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderConfig {
    /// The name before the slash in `--model`.
    pub name: String,
    /// How it is spoken to.
    pub kind: Kind,
    /// Where its key comes from.
    pub key: KeySource,
    base_url: Url,
}

impl ProviderConfig {
    /// A provider as settings describe it. Without an address, it is where this kind usually is.
    pub fn new(
        name: &str,
        kind: Kind,
        base_url: Option<&str>,
        key: KeySource,
    ) -> Result<Self, Failure> {
        let bad = |why: String| Failure::BadConfig { provider: name.to_owned(), why };
        let base_url = parsed(base_url.unwrap_or(kind.default_url())).map_err(bad)?;
        Ok(Self { name: name.to_owned(), kind, key, base_url })
    }

    /// The address; its path ends in a slash.
    pub fn base_url(&self) -> &str {
        self.base_url.as_str()
    }

    /// The address for messages, without a query: some have keys in it.
    pub(super) fn shown_url(&self) -> String {
        let mut shown = self.base_url.clone();
        shown.set_query(None);
        shown.to_string()
    }

    /// Whether the provider is on this machine.
    pub(super) fn is_local(&self) -> bool {
        let host = self.base_url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let is_loopback = |it: std::net::IpAddr| it.is_loopback();
        host == "localhost" || host.parse().is_ok_and(is_loopback)
    }

    /// What to do about a missing or a wrong key.
    pub(super) fn key_hint(&self) -> String {
        match &self.key {
            KeySource::Variable(name) => format!("set the variable {name}"),
            KeySource::Command(command) => format!("check the key command `{command}`"),
            KeySource::None => {
                format!("set key = \"$VARIABLE\" or \"!command\" in [providers.{}]", self.name)
            }
        }
    }

    /// The key. `None`: the provider needs none.
    pub fn find_key(&self, lookup: &KeyLookup<'_>) -> Result<Option<Secret>, Failure> {
        let none = |hint: String| Failure::NoKey { provider: self.name.clone(), hint };
        let key = match &self.key {
            KeySource::None => {
                let needs_one =
                    self.kind != Kind::Ollama && self.base_url.as_str() == self.kind.default_url();
                return if needs_one { Err(none(self.key_hint())) } else { Ok(None) };
            }
            KeySource::Variable(name) => (lookup.variable)(name).unwrap_or_default(),
            KeySource::Command(command) => (lookup.command)(command)
                .map_err(|why| none(format!("the key command `{command}` failed: {why}")))?,
        };
        let key = Secret::new(&key);
        if key.is_empty() { Err(none(self.key_hint())) } else { Ok(Some(key)) }
    }
}

/// An address whose path ends in a slash, as joining paths to it needs.
fn parsed(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|why| format!("base_url \"{text}\": {why}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!("base_url \"{text}\" must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("base_url contains a password: use key instead".to_owned());
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

/// The providers that are there by name: `anthropic`, `openai`, `gemini` and `ollama`, with their usual
/// variables.
pub fn built_in(variable: &dyn Fn(&str) -> Option<String>) -> Result<Vec<ProviderConfig>, Failure> {
    let given = |name: &str| variable(name).filter(|it| !it.trim().is_empty());
    // These two variables name a server, to which the path of the API is added.
    let anthropic = given("ANTHROPIC_BASE_URL").map(|it| with_path(&it, "v1"));
    let gemini = given("GOOGLE_GEMINI_BASE_URL").map(|it| with_path(&it, "v1beta"));
    let ollama = given("OLLAMA_HOST").map(|it| ollama_url(&it));
    let key = |name: &str| KeySource::Variable(name.to_owned());
    let all = [
        ("anthropic", Kind::Anthropic, anthropic, key("ANTHROPIC_API_KEY")),
        ("openai", Kind::OpenAi, given("OPENAI_BASE_URL"), key("OPENAI_API_KEY")),
        ("gemini", Kind::Gemini, gemini, key("GEMINI_API_KEY")),
        ("ollama", Kind::Ollama, ollama, KeySource::None),
    ];
    let configs = all.into_iter();
    configs
        .map(|(name, kind, url, key)| ProviderConfig::new(name, kind, url.as_deref(), key))
        .collect()
}

fn with_path(url: &str, path: &str) -> String {
    let url = url.trim().trim_end_matches('/');
    if url.ends_with(&format!("/{path}")) { url.to_owned() } else { format!("{url}/{path}") }
}

/// `OLLAMA_HOST` may leave out the scheme and the port, and may be the address that the server listens
/// on everywhere.
fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    if host.contains("://") {
        return host.to_owned();
    }
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let host = host.replacen("0.0.0.0", "127.0.0.1", 1);
    if has_port { format!("http://{host}") } else { format!("http://{host}:11434") }
}

/// Connects to a model: finds its provider and the key. Nothing is sent yet.
pub fn connect(
    model: &ModelName,
    providers: &[ProviderConfig],
    lookup: &KeyLookup<'_>,
    options: ClientOptions,
    surroundings: Surroundings,
) -> Result<Box<dyn Provider>, Failure> {
    if model.is_scripted() {
        return Ok(Box::new(Scripted::open(model.clone())?));
    }
    let config = providers.iter().find(|it| it.name == model.provider).ok_or_else(|| {
        let known: Vec<&str> = providers.iter().map(|it| it.name.as_str()).collect();
        Failure::UnknownProvider { name: model.provider.clone(), known: known.join(", ") }
    })?;
    let key = config.find_key(lookup)?;
    Ok(Box::new(Genai::new(config.clone(), model.clone(), key, options, surroundings)?))
}
