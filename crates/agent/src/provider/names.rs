//! Names of models: `provider/name`, or `scripted:FILE`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The provider of models that are scenarios in a file.
pub(super) const SCRIPTED: &str = "scripted";

/// A model as the user names it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelName {
    /// Name of the provider.
    pub provider: String,
    /// The provider's name of the model; of a scenario, the path of its file.
    pub name: String,
}

/// A text that names no model.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "\"{0}\" is not a model name: write provider/name, such as ollama/qwen3, or scripted:FILE for a \
     scenario"
)]
pub struct BadModelName(String);

impl ModelName {
    /// Whether this is a scenario in a file.
    pub fn is_scripted(&self) -> bool {
        self.provider == SCRIPTED
    }
}

impl FromStr for ModelName {
    type Err = BadModelName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let scenario = text.strip_prefix(SCRIPTED).and_then(|it| it.strip_prefix(':'));
        let parts = scenario.map(|file| (SCRIPTED, file)).or_else(|| text.split_once('/'));
        match parts {
            Some((provider, name)) if !provider.is_empty() && !name.is_empty() => {
                Ok(Self { provider: provider.to_owned(), name: name.to_owned() })
            }
            Some(_) | None => Err(BadModelName(text.to_owned())),
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.is_scripted() { ':' } else { '/' };
        write!(f, "{}{separator}{}", self.provider, self.name)
    }
}

impl TryFrom<String> for ModelName {
    type Error = BadModelName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> Self {
        name.to_string()
    }
}
