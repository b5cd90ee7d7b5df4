//! The parts of the user's settings that the agent reads: `[agent]`, `[providers.NAME]` and
//! `[prices."provider/model"]`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::context::{ContextOptions, Inject};
use crate::provider::{
    ClientOptions, Effort, Failure, KeySource, ModelOptions, Price, ProviderConfig, built_in,
};
use crate::session::Budget;
use crate::tools::ShellTimeout;
use crate::turn::{self, Strategy};

/// What the user configured for the agent.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AgentConfig {
    /// `[agent]`.
    pub agent: AgentSection,
    /// `[providers.NAME]`.
    providers: BTreeMap<String, ProviderSection>,
    /// `[prices."provider/model"]`.
    pub prices: BTreeMap<String, Price>,
}

/// `[agent]`: how requests are worked on.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSection {
    /// The model, as `provider/name`.
    pub model: Option<String>,
    /// `supervisor` or `steps`.
    pub strategy: Option<Strategy>,
    /// How the model sees the plan.
    pub dialect: Option<String>,
    /// How many messages of earlier turns the model reads.
    pub history: Option<usize>,
    /// `always` or `on-change`: when the list is added to what the model reads.
    pub inject: Option<String>,
    /// The size of the model's context in tokens.
    pub context_tokens: Option<u64>,
    /// At how many percent of it older parts are shortened.
    pub compact_percent: Option<u64>,
    /// Model calls of a turn before the limit is extended.
    pub max_calls: Option<u32>,
    /// How many calls each extension gives.
    pub more_calls: Option<u32>,
    /// The limit is never extended beyond this.
    pub most_calls: Option<u32>,
    /// Steps of a turn of `steps`.
    pub max_steps: Option<u32>,
    /// Model calls of a simple task of `steps`.
    pub direct_calls: Option<u32>,
    /// Tool calls of a planning round of `steps`.
    pub planning_calls: Option<u32>,
    /// Tool calls of an item of `steps`.
    pub item_calls: Option<u32>,
    /// Whether a session waits when a usage limit is reached.
    pub wait_for_quota: Option<bool>,
    /// Budgets, as in `--budget`.
    pub budget: Option<String>,
    /// Most tokens of one answer.
    pub max_tokens: Option<u32>,
    /// Randomness.
    pub temperature: Option<f64>,
    /// How long the model is to think.
    pub effort: Option<Effort>,
    /// Whether the model's thinking is asked for.
    pub thinking: Option<bool>,
    /// How many seconds a shell command may take if the model does not say.
    pub shell_timeout: Option<u64>,
    /// The most seconds that the model may ask for.
    pub max_shell_timeout: Option<u64>,
}

/// `[providers.NAME]`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProviderSection {
    kind: Option<String>,
    base_url: Option<String>,
    key: Option<String>,
    answer_timeout: Option<u64>,
    stall_timeout: Option<u64>,
    max_answer: Option<usize>,
}

impl AgentConfig {
    /// Reads the tables of the settings. An error names the key.
    pub fn read(tables: &Map<String, Value>) -> Result<Self, String> {
        fn part<T: Default + for<'a> Deserialize<'a>>(
            tables: &Map<String, Value>,
            name: &str,
        ) -> Result<T, String> {
            let Some(value) = tables.get(name) else { return Ok(T::default()) };
            T::deserialize(value).map_err(|why| format!("[{name}]: {why}"))
        }
        let config = Self {
            agent: part(tables, "agent")?,
            providers: part(tables, "providers")?,
            prices: part(tables, "prices")?,
        };
        config.agent.inject()?;
        config.agent.budget()?;
        Ok(config)
    }

    /// All providers: those that are there by name, and those of the settings, which come first.
    pub fn providers(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<ProviderConfig>, Failure> {
        let mut all = Vec::new();
        for (name, it) in &self.providers {
            let bad = |why: String| Failure::BadConfig { provider: name.clone(), why };
            let kind = it.kind.as_deref().unwrap_or(name);
            let kind = kind.parse().map_err(|why: String| bad(why))?;
            let key = match &it.key {
                Some(key) => key.parse().map_err(|why: String| bad(why))?,
                None => KeySource::None,
            };
            all.push(ProviderConfig::new(name, kind, it.base_url.as_deref(), key)?);
        }
        let others = built_in(variable)?;
        let is_new = |it: &ProviderConfig| !self.providers.contains_key(&it.name);
        all.extend(others.into_iter().filter(is_new));
        Ok(all)
    }

    /// The variables that hold keys of the configured providers.
    pub fn key_variables(&self) -> BTreeSet<String> {
        let keys = self.providers.values().filter_map(|it| it.key.as_deref());
        keys.filter_map(|it| it.strip_prefix('$')).map(str::to_owned).collect()
    }

    /// The limits of a provider's calls.
    pub fn client_options(&self, provider: &str) -> ClientOptions {
        let mut options = ClientOptions::default();
        let Some(it) = self.providers.get(provider) else { return options };
        if let Some(seconds) = it.answer_timeout {
            options.answer_timeout = Duration::from_secs(seconds);
        }
        if let Some(seconds) = it.stall_timeout {
            options.stall_timeout = Duration::from_secs(seconds);
        }
        if let Some(bytes) = it.max_answer {
            options.max_answer = bytes;
        }
        options
    }
}

impl AgentSection {
    /// The loop and its limits.
    pub fn turn(&self) -> turn::Options {
        let strategy = self.strategy.unwrap_or_default();
        let mut options = turn::Options { strategy, ..turn::Options::default() };
        let calls = &mut options.calls;
        calls.first = self.max_calls.unwrap_or(calls.first);
        calls.more = self.more_calls.unwrap_or(calls.more);
        calls.most = self.most_calls.unwrap_or(calls.most);
        let steps = &mut options.steps;
        steps.steps = self.max_steps.unwrap_or(steps.steps);
        steps.direct = self.direct_calls.unwrap_or(steps.direct);
        steps.planning = self.planning_calls.unwrap_or(steps.planning);
        steps.item = self.item_calls.unwrap_or(steps.item);
        options
    }

    /// How long the model's shell commands may take.
    pub fn shell_timeout(&self) -> ShellTimeout {
        let ShellTimeout { usual, most } = ShellTimeout::default();
        let most = self.max_shell_timeout.map_or(most, Duration::from_secs);
        let usual = self.shell_timeout.map_or(usual, Duration::from_secs).min(most);
        ShellTimeout { usual, most }
    }

    /// How much of a conversation the model reads.
    pub fn context(&self) -> ContextOptions {
        let usual = ContextOptions::default();
        ContextOptions {
            history: self.history.unwrap_or(usual.history),
            inject: self.inject().unwrap_or(usual.inject),
            context_tokens: self.context_tokens.unwrap_or(usual.context_tokens),
            compact_percent: self.compact_percent.unwrap_or(usual.compact_percent),
            ..usual
        }
    }

    /// How the model is to answer.
    pub fn model_options(&self) -> ModelOptions {
        let usual = ModelOptions::default();
        ModelOptions {
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            effort: self.effort,
            thinking: self.thinking.unwrap_or(usual.thinking),
            cache_key: None,
        }
    }

    /// The budgets.
    pub fn budget(&self) -> Result<Budget, String> {
        let text = self.budget.as_deref().unwrap_or_default();
        text.parse().map_err(|why| format!("[agent] budget: {why}"))
    }

    fn inject(&self) -> Result<Inject, String> {
        match self.inject.as_deref() {
            None | Some("always") => Ok(Inject::Always),
            Some("on-change") => Ok(Inject::OnChange),
            Some(other) => {
                Err(format!("[agent] inject = {other:?} is neither \"always\" nor \"on-change\""))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::provider::Kind;

    fn read(value: Value) -> Result<AgentConfig, String> {
        AgentConfig::read(value.as_object().unwrap())
    }

    #[test]
    fn what_the_specification_shows_is_read() {
        let config = read(json!({
            "agent": {"model": "local/qwen3", "strategy": "steps", "budget": "minutes=30"},
            "providers": {"local": {
                "kind": "openai-chat",
                "base_url": "http://127.0.0.1:8000/v1/",
                "key": "$LOCAL_KEY",
                "answer_timeout": 900,
            }},
            "prices": {"anthropic/some-model": {"input": 3.0, "output": 15.0}},
        }))
        .unwrap();
        assert_eq!(config.agent.turn().strategy, Strategy::Steps);
        assert_eq!(config.agent.budget().unwrap().run.minutes, Some(30));
        let all = config.providers(&|_| None).unwrap();
        assert_eq!(all[0].name, "local");
        assert_eq!(all[0].kind, Kind::OpenAiChat);
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["local", "anthropic", "openai", "gemini", "ollama"]);
        assert!(config.key_variables().contains("LOCAL_KEY"));
        assert_eq!(config.client_options("local").answer_timeout, Duration::from_secs(900));
        assert!(config.prices.contains_key("anthropic/some-model"));
    }

    #[test]
    fn a_provider_that_is_there_by_name_can_be_described_otherwise() {
        let config = read(json!({"providers": {"openai": {"base_url": "http://127.0.0.1:1/v1"}}}));
        let all = config.unwrap().providers(&|_| None).unwrap();
        assert_eq!(all.iter().filter(|it| it.name == "openai").count(), 1);
        assert_eq!(all[0].base_url(), "http://127.0.0.1:1/v1/");
    }

    /// The keys of a table, as the error for an unknown key lists them.
    fn keys(value: Value) -> Vec<String> {
        let why = read(value).unwrap_err();
        let (_, names) = why.split_once("expected ").unwrap();
        names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn the_page_of_the_agent_has_every_key_and_its_default() {
        let page = include_str!("../../../docs/agent.md");
        let agent = keys(json!({"agent": {"?": 1}}));
        let providers = keys(json!({"providers": {"x": {"?": 1}}}));
        let prices = keys(json!({"prices": {"x/y": {"?": 1}}}));
        assert!(agent.len() > 15 && providers.len() == 6 && prices.len() == 4);
        for key in [agent, providers, prices].concat() {
            assert!(
                page.contains(&format!("\n| `{key}` | ")),
                "docs/agent.md has no row for {key}"
            );
        }
        let (turn, context) = (turn::Options::default(), ContextOptions::default());
        let (client, shell) = (ClientOptions::default(), ShellTimeout::default());
        for (key, usual) in [
            ("shell_timeout", shell.usual.as_secs()),
            ("max_shell_timeout", shell.most.as_secs()),
            ("max_calls", u64::from(turn.calls.first)),
            ("more_calls", turn.calls.more.into()),
            ("most_calls", turn.calls.most.into()),
            ("max_steps", turn.steps.steps.into()),
            ("direct_calls", turn.steps.direct.into()),
            ("planning_calls", turn.steps.planning.into()),
            ("item_calls", turn.steps.item.into()),
            ("history", context.history as u64),
            ("context_tokens", context.context_tokens),
            ("compact_percent", context.compact_percent),
            ("answer_timeout", client.answer_timeout.as_secs()),
            ("stall_timeout", client.stall_timeout.as_secs()),
            ("max_answer", client.max_answer as u64),
        ] {
            let row = format!("\n| `{key}` | `{usual}` | ");
            assert!(page.contains(&row), "docs/agent.md has another default for {key}: {usual}");
        }
    }

    #[test]
    fn an_unknown_or_wrong_key_is_named() {
        for (value, expected) in [
            (json!({"agent": {"modle": "x"}}), "unknown field `modle`"),
            (json!({"agent": {"inject": "never"}}), "[agent] inject"),
            (json!({"agent": {"budget": "tokens=x"}}), "[agent] budget"),
            (json!({"agent": {"strategy": "other"}}), "[agent]"),
            (json!({"providers": {"x": {"kin": "openai"}}}), "unknown field `kin`"),
            (json!({"prices": {"x/y": {"input": "much"}}}), "[prices]"),
        ] {
            let why = read(value).unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
    }
}
