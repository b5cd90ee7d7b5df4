//! Why a model could not be called, in words that a person can act on.

use std::time::Duration;

use jiff::Timestamp;

/// What a person reads who has configured no model: the three shortest ways to one.
pub const NOTHING_CONFIGURED: &str = "\
no model is configured. The three shortest ways to one:
  1. A local model, without a key: install Ollama, run `ollama pull qwen3`, then use
     --model ollama/qwen3
  2. A key in the environment: export ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, GEMINI_API_KEY), then use
     --model anthropic/NAME (or openai/NAME, gemini/NAME)
  3. Any OpenAI-compatible server, in the settings file:
     [agent]
     model = \"local/NAME\"
     [providers.local]
     kind = \"openai-chat\"
     base_url = \"http://127.0.0.1:8000/v1/\"";

/// Why a call of a model failed. `provider` is the name by which the user configured it; `says` is the
/// provider's own message, without keys.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The user has configured no model.
    #[error("{NOTHING_CONFIGURED}")]
    NothingConfigured,
    /// There is no provider of this name.
    #[error(
        "there is no provider \"{name}\". Configured are: {known}. Add [providers.{name}] with kind and \
         base_url to the settings, or choose another --model"
    )]
    UnknownProvider {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// What is configured for a provider cannot be used.
    #[error("the settings of provider \"{provider}\" are wrong: {why}")]
    BadConfig {
        /// The provider.
        provider: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// The provider needs a key, and there is none.
    #[error("{provider} needs a key: {hint}")]
    NoKey {
        /// The provider.
        provider: String,
        /// Where to put one.
        hint: String,
    },
    /// The provider refused the key.
    #[error("{provider} refused the key ({says}). {hint}")]
    WrongKey {
        /// The provider.
        provider: String,
        /// The provider's message.
        says: String,
        /// Where the key came from, and what to do.
        hint: String,
    },
    /// The provider does not have the model.
    #[error(
        "{provider} has no model \"{model}\" ({says}). Check the name after \"{provider}/\" in --model, \
         and the base_url of the provider"
    )]
    UnknownModel {
        /// The provider.
        provider: String,
        /// The model's name.
        model: String,
        /// The provider's message.
        says: String,
    },
    /// The provider could not be reached.
    #[error(
        "{provider} cannot be reached at {url}: {why}. Check the network, and the base_url of the \
         provider{local}"
    )]
    NoNetwork {
        /// The provider.
        provider: String,
        /// Its address.
        url: String,
        /// What failed.
        why: String,
        /// What to do about a server on this machine; empty for others.
        local: String,
    },
    /// Too many requests in a short time.
    #[error("{provider} limits the rate of requests ({says}). Try again in a minute")]
    RateLimited {
        /// The provider.
        provider: String,
        /// The provider's message.
        says: String,
        /// How long it asks to wait.
        wait: Option<Duration>,
    },
    /// A usage limit is reached; it ends at a known time.
    #[error("the usage limit of {provider} is reached ({says}). Try again at {until}")]
    UsageLimit {
        /// The provider.
        provider: String,
        /// The provider's message.
        says: String,
        /// When to try again.
        until: Timestamp,
    },
    /// The account has no credit or quota left; when it will have is not known.
    #[error(
        "the account at {provider} has no quota left ({says}). Check its plan and billing, or choose \
         another --model"
    )]
    NoQuota {
        /// The provider.
        provider: String,
        /// The provider's message.
        says: String,
    },
    /// The provider has trouble of its own.
    #[error("{provider} has a problem of its own ({says}). Try again in a minute")]
    ServerError {
        /// The provider.
        provider: String,
        /// The provider's message.
        says: String,
        /// How long it asks to wait.
        wait: Option<Duration>,
    },
    /// The provider did not begin to answer.
    #[error(
        "{provider} did not answer within {} s. Try again, or raise the provider's answer_timeout",
        after.as_secs_f64()
    )]
    NoAnswer {
        /// The provider.
        provider: String,
        /// How long was waited.
        after: Duration,
    },
    /// The provider began to answer and then sent nothing any more.
    #[error(
        "{provider} sent nothing for {} s in the middle of an answer. Try again, or raise the \
         provider's stall_timeout",
        after.as_secs_f64()
    )]
    Stalled {
        /// The provider.
        provider: String,
        /// How long was waited.
        after: Duration,
    },
    /// The answer ended before it was complete.
    #[error("the answer of {provider} was cut off ({why}). Try again")]
    Truncated {
        /// The provider.
        provider: String,
        /// What happened.
        why: String,
    },
    /// The answer is longer than is accepted.
    #[error(
        "the answer of {provider} is longer than {limit} bytes and was cancelled. Ask for a shorter \
         answer, or raise the provider's max_answer"
    )]
    TooMuchText {
        /// The provider.
        provider: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The conversation is longer than the model can read.
    #[error(
        "the conversation is longer than the model can read ({says}). Start a new session, or choose a \
         model with a longer context"
    )]
    ContextTooLong {
        /// The provider.
        provider: String,
        /// The provider's message.
        says: String,
    },
    /// The provider refused the request.
    #[error("{provider} refused the request ({says}){hint}")]
    BadRequest {
        /// The provider.
        provider: String,
        /// The provider's message.
        says: String,
        /// What may help; empty if nothing is known.
        hint: String,
    },
    /// The file of a scenario cannot be read.
    #[error("the scenario {file} cannot be read: {why}")]
    NoScenario {
        /// The file.
        file: String,
        /// Why not.
        why: String,
    },
    /// A scenario is not well-formed, or was sent something else than it expects.
    #[error("the scenario {file} does not fit: {why}")]
    Scenario {
        /// The file.
        file: String,
        /// What does not fit.
        why: String,
    },
    /// The call was cancelled.
    #[error("the call was cancelled")]
    Cancelled,
}

impl Failure {
    /// What happened and what to do next, for a person.
    pub fn message(&self) -> String {
        self.to_string()
    }

    /// Whether the same call may succeed after a short wait.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::NoNetwork { .. }
            | Self::RateLimited { .. }
            | Self::ServerError { .. }
            | Self::Stalled { .. }
            | Self::Truncated { .. } => true,
            Self::NothingConfigured
            | Self::UnknownProvider { .. }
            | Self::BadConfig { .. }
            | Self::NoKey { .. }
            | Self::WrongKey { .. }
            | Self::UnknownModel { .. }
            | Self::UsageLimit { .. }
            | Self::NoQuota { .. }
            | Self::NoAnswer { .. }
            | Self::TooMuchText { .. }
            | Self::ContextTooLong { .. }
            | Self::BadRequest { .. }
            | Self::NoScenario { .. }
            | Self::Scenario { .. }
            | Self::Cancelled => false,
        }
    }

    /// How long the provider asks to wait.
    pub(super) fn asked_wait(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { wait, .. } | Self::ServerError { wait, .. } => *wait,
            Self::NothingConfigured
            | Self::UnknownProvider { .. }
            | Self::BadConfig { .. }
            | Self::NoKey { .. }
            | Self::WrongKey { .. }
            | Self::UnknownModel { .. }
            | Self::NoNetwork { .. }
            | Self::UsageLimit { .. }
            | Self::NoQuota { .. }
            | Self::NoAnswer { .. }
            | Self::Stalled { .. }
            | Self::Truncated { .. }
            | Self::TooMuchText { .. }
            | Self::ContextTooLong { .. }
            | Self::BadRequest { .. }
            | Self::NoScenario { .. }
            | Self::Scenario { .. }
            | Self::Cancelled => None,
        }
    }
}
