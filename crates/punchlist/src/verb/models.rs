//! `punchlist models`.

use std::env;

use punchlist_agent::provider::{
    Failure, KeyLookup, Message, ModelName, ModelOptions, ModelRequest, ProviderConfig,
};
use punchlist_bridge::key_command;
use punchlist_formats::text::one_line;
use serde_json::json;

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::print::{self, Reply};
use crate::session;

/// Show which models can be used, and what is missing
///
/// Lists the providers: those that are there by name, and those of your configuration. With
/// `--check`, each model that is configured is asked for one word.
#[derive(clap::Args)]
pub(crate) struct Models {
    /// Call the model that is configured, and those that are named
    #[arg(long)]
    check: bool,
    /// Models to check, as provider/name
    #[arg(value_name = "MODEL", requires = "check")]
    models: Vec<String>,
}

impl Verb for Models {
    const NAME: &'static str = "models";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist models
  punchlist models --check
  punchlist models --check ollama/qwen3 anthropic/claude-sonnet-4-5";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let config = session::config(app)?;
        let variable = |name: &str| env::var(name).ok();
        let lookup = KeyLookup { variable: &variable, command: &key_command::output };
        let providers = config.providers(&variable).map_err(|why| session::no_model(&why))?;
        let chosen = session::model(None, &config).ok();
        let mut rows = Vec::new();
        for provider in &providers {
            let key = provider.find_key(&lookup).map(drop).map_err(|why| why.message());
            rows.push(Row { provider, key });
        }
        let mut checks = Vec::new();
        if self.check {
            let mut names = self.models;
            names.extend(chosen.as_ref().filter(|_| names.is_empty()).map(ToString::to_string));
            if names.is_empty() {
                return Err(session::no_model(&Failure::NothingConfigured));
            }
            let runtime = session::runtime()?;
            for name in names {
                let model = session::model(Some(&name), &config)?;
                print::aside(&format!("calling {model} …"), None);
                let result = runtime.block_on(check(&model, &config));
                checks.push((model, result));
            }
        }
        let is_bad = checks.iter().any(|(_, result)| result.is_err());
        let exit = if is_bad { 6 } else { 0 };
        if app.globals.json {
            let providers: Vec<_> = rows.iter().map(Row::json).collect();
            let checks: Vec<_> = checks
                .iter()
                .map(|(model, result)| json!({"model": model.to_string(), "error": result.as_ref().err()}))
                .collect();
            let model = chosen.map(|it| it.to_string());
            let value = json!({"model": model, "providers": providers, "checks": checks});
            return Ok(Reply { exit, ..Reply::json(&value) });
        }
        let mut out = match &chosen {
            Some(model) => format!("model: {model}\n\n"),
            None => format!("{}\n\n", Failure::NothingConfigured.message()),
        };
        for row in &rows {
            out.push_str(&row.line());
        }
        for (model, result) in &checks {
            let words = match result {
                Ok(words) => format!("works: {}", one_line(words)),
                Err(why) => format!("does not work: {}", one_line(why)),
            };
            out.push_str(&format!("\n{model} {words}\n"));
        }
        Ok(Reply { out, exit, ..Reply::default() })
    }
}

/// A provider, and what is missing.
struct Row<'a> {
    provider: &'a ProviderConfig,
    key: Result<(), String>,
}

impl Row<'_> {
    fn line(&self) -> String {
        let ProviderConfig { name, kind, .. } = self.provider;
        let state = match &self.key {
            Ok(()) => "ready".to_owned(),
            Err(why) => one_line(why).into_owned(),
        };
        format!("{name}/…  ({kind}, {})  {state}\n", self.provider.base_url())
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "name": self.provider.name,
            "kind": self.provider.kind.to_string(),
            "baseUrl": self.provider.base_url(),
            "missing": self.key.as_ref().err(),
        })
    }
}

/// Asks a model for one word.
async fn check(
    model: &ModelName,
    config: &punchlist_agent::config::AgentConfig,
) -> Result<String, String> {
    let provider = session::provider(model, config, 0).map_err(|why| why.message)?;
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
