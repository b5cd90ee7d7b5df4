//! Which models can be used: the one that the user means, every provider with what it lacks, and a test call.
//!
//! Reads no environment: variables and the results of key commands are given in.

use punchlist_engine::fail::{Code, Fail};
use punchlist_formats::text::one_line;
use serde_json::{Value, json};

use crate::config::AgentConfig;
use crate::provider::{
    Failure, KeyLookup, KeySource, Message, ModelName, ModelOptions, ModelRequest, Provider,
    ProviderConfig,
};
use crate::session::Budget;

/// The model that the user named; an error if nobody named one.
pub fn named(name: Option<String>) -> Result<ModelName, Fail> {
    let name = name.ok_or_else(|| unusable(&Failure::NothingConfigured))?;
    name.parse().map_err(|_| {
        Fail::usage(format!("{name:?} is not a model name")).hint(
            "write it as provider/name, such as ollama/qwen3, or scripted:FILE for a scenario.",
        )
    })
}

/// The error for a model that cannot be used.
pub fn unusable(why: &Failure) -> Fail {
    let message = why.message();
    let (first, rest) = message.split_once('\n').unwrap_or((&message, ""));
    Fail::new(Code::Usage, first).details(rest.lines().map(str::to_owned).collect())
}

/// Refuses a limit of the cost for a model whose cost is not known: the limit would never be reached.
pub fn refuse_without_price(
    budget: &Budget,
    model: &ModelName,
    config: &AgentConfig,
) -> Result<(), Fail> {
    let limits_cost = budget.run.cost_micros.is_some() || budget.day.cost_micros.is_some();
    if !limits_cost || config.prices.contains_key(&model.to_string()) {
        return Ok(());
    }
    let add = [
        format!("[prices.{:?}]", model.to_string()),
        "input = 3.0     # for a million tokens of requests".to_owned(),
        "output = 15.0   # for a million tokens of answers".to_owned(),
    ];
    Err(Fail::usage(format!("the cost of {model} is not known, so it cannot be limited"))
        .details(add.to_vec())
        .hint("add its prices to your config.toml, or limit tokens or minutes."))
}

/// A provider, and what is missing for its use.
pub struct KnownProvider {
    config: ProviderConfig,
    key: Result<(), String>,
}

/// All providers, those of the settings first. Looks for their keys.
pub fn providers(config: &AgentConfig, lookup: &KeyLookup<'_>) -> Result<Vec<KnownProvider>, Fail> {
    let all = config.providers(lookup.variable).map_err(|why| unusable(&why))?;
    let known = all.into_iter().map(|config| {
        let key = config.find_key(lookup).map(drop).map_err(|why| why.message());
        KnownProvider { config, key }
    });
    Ok(known.collect())
}

impl KnownProvider {
    /// The name before the slash of its models.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Why no model of it can be used, if that is known.
    pub fn lacks(&self) -> Option<&str> {
        self.key.as_ref().err().map(String::as_str)
    }

    /// Whether there is a key.
    fn has_key(&self) -> bool {
        self.key.is_ok() && self.config.key != KeySource::None
    }

    fn line(&self, is_tried: bool) -> String {
        let ProviderConfig { name, kind, .. } = &self.config;
        let not_tried = if is_tried { "" } else { "; not tried" };
        let state = match &self.key {
            Ok(()) if self.has_key() => format!("key found{not_tried}"),
            Ok(()) => format!("no key needed{not_tried}"),
            Err(why) => one_line(why).into_owned(),
        };
        format!("{name}/…  ({kind}, {})  {state}\n", self.config.base_url())
    }

    fn json(&self) -> Value {
        json!({
            "name": self.config.name,
            "kind": self.config.kind.to_string(),
            "baseUrl": self.config.base_url(),
            "missing": self.lacks(),
        })
    }
}

/// The error if no model is named for a test call: if there are keys, name a model of their providers.
pub fn nothing_to_check(providers: &[KnownProvider]) -> Fail {
    let keys: Vec<&str> =
        providers.iter().filter(|it| it.has_key()).map(KnownProvider::name).collect();
    let Some(first) = keys.first() else { return unusable(&Failure::NothingConfigured) };
    Fail::usage(format!("no model is named; there is a key for {}", keys.join(", "))).hint(format!(
        "name one: `punchlist models --check {first}/NAME`, `--model {first}/NAME`, or \
         model = \"{first}/NAME\" in [agent] of your config.toml."
    ))
}

/// Asks a model for one word. Returns what it answered, or why it cannot be used.
pub async fn check(provider: &dyn Provider) -> Result<String, String> {
    let request = ModelRequest {
        answer_id: "check".to_owned(),
        messages: vec![Message::User("Answer with the word OK.".to_owned())],
        options: ModelOptions { max_tokens: Some(64), thinking: false, ..ModelOptions::default() },
        ..ModelRequest::default()
    };
    let answer = provider.call(&request, &mut |_| {}).await.map_err(|why| why.message())?;
    let first: String = answer.text.trim().chars().take(40).collect();
    Ok(format!("it answered {first:?}"))
}

/// What can be used, to be shown.
pub struct Report {
    /// The model that sessions use.
    pub chosen: Option<ModelName>,
    /// All providers.
    pub providers: Vec<KnownProvider>,
    /// The results of test calls.
    pub checks: Vec<(ModelName, Result<String, String>)>,
}

impl Report {
    /// Whether every test call was answered.
    pub fn is_well(&self) -> bool {
        self.checks.iter().all(|(_, result)| result.is_ok())
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let mut out = match &self.chosen {
            Some(model) => format!("model: {model}\n\n"),
            None => format!("{}\n\n", Failure::NothingConfigured.message()),
        };
        for provider in &self.providers {
            let is_tried = self.checks.iter().any(|(model, _)| model.provider == provider.name());
            out.push_str(&provider.line(is_tried));
        }
        for (model, result) in &self.checks {
            let words = match result {
                Ok(words) => format!("works: {}", one_line(words)),
                Err(why) => format!("does not work: {}", one_line(why)),
            };
            out.push_str(&format!("\n{model} {words}\n"));
        }
        out
    }

    /// The report as JSON.
    pub fn json(&self) -> Value {
        let providers: Vec<_> = self.providers.iter().map(KnownProvider::json).collect();
        let check = |(model, result): &(ModelName, Result<String, String>)| json!({"model": model.to_string(), "error": result.as_ref().err()});
        let checks: Vec<_> = self.checks.iter().map(check).collect();
        let model = self.chosen.as_ref().map(ToString::to_string);
        json!({"model": model, "providers": providers, "checks": checks})
    }
}
