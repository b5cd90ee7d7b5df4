//! What needs no server: names, settings, keys, waits, prices and messages.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::*;

const CANARY: &str = "sk-canary-2f9d81";

fn no_variable(_name: &str) -> Option<String> {
    None
}

fn no_command(_command: &str) -> Result<String, String> {
    Err("it is not there".to_owned())
}

fn config(kind: Kind, url: Option<&str>, key: &str) -> ProviderConfig {
    let key = if key.is_empty() { KeySource::None } else { key.parse().unwrap() };
    ProviderConfig::new("mine", kind, url, key).unwrap()
}

#[test]
fn names_of_models() {
    let parsed = |text: &str| text.parse::<ModelName>().map(|it| (it.provider, it.name));
    let name = |provider: &str, name: &str| Ok((provider.to_owned(), name.to_owned()));
    assert_eq!(parsed("ollama/qwen3:8b"), name("ollama", "qwen3:8b"));
    assert_eq!(parsed("router/vendor/model"), name("router", "vendor/model"));
    assert_eq!(
        parsed("scripted:examples/scripted.json"),
        name("scripted", "examples/scripted.json")
    );
    for bad in ["", "qwen3", "/qwen3", "ollama/", "scripted:"] {
        let why = bad.parse::<ModelName>().unwrap_err().to_string();
        assert!(why.contains("write provider/name"), "{why}");
    }
    for text in ["ollama/qwen3", "scripted:a/b.json"] {
        let name: ModelName = text.parse().unwrap();
        assert_eq!(name.to_string(), text);
        let stored = serde_json::to_string(&name).unwrap();
        assert_eq!(serde_json::from_str::<ModelName>(&stored).unwrap(), name);
    }
}

#[test]
fn the_built_in_providers_and_their_variables() {
    let variable = |name: &str| {
        let value = match name {
            "ANTHROPIC_BASE_URL" => "http://gateway:4000/",
            "OPENAI_BASE_URL" => "http://gateway:4000/v1",
            "GOOGLE_GEMINI_BASE_URL" => "http://gateway:4000/v1beta/",
            "OLLAMA_HOST" => "0.0.0.0",
            _ => return None,
        };
        Some(value.to_owned())
    };
    let shown = |variable: &dyn Fn(&str) -> Option<String>| {
        let all = built_in(variable).unwrap();
        let lines = all.iter().map(|it| format!("{} {} {}", it.name, it.kind, it.base_url()));
        lines.collect::<Vec<String>>()
    };
    let usual = [
        "anthropic anthropic https://api.anthropic.com/v1/",
        "openai openai https://api.openai.com/v1/",
        "gemini gemini https://generativelanguage.googleapis.com/v1beta/",
        "ollama ollama http://127.0.0.1:11434/",
    ];
    assert_eq!(shown(&no_variable), usual);
    let changed = [
        "anthropic anthropic http://gateway:4000/v1/",
        "openai openai http://gateway:4000/v1/",
        "gemini gemini http://gateway:4000/v1beta/",
        "ollama ollama http://127.0.0.1:11434/",
    ];
    assert_eq!(shown(&variable), changed);
    let host = |value: &'static str| {
        let variable = move |name: &str| (name == "OLLAMA_HOST").then(|| value.to_owned());
        built_in(&variable).unwrap()[3].base_url().to_owned()
    };
    assert_eq!(host("box:8080"), "http://box:8080/");
    assert_eq!(host("https://box/ollama"), "https://box/ollama/");
}

#[test]
fn addresses_and_kinds_that_are_wrong() {
    for url in ["box:8080/v1", "ftp://box/", "not an address", "http://me:secret@box/v1"] {
        let failure =
            ProviderConfig::new("mine", Kind::OpenAiChat, Some(url), KeySource::None).unwrap_err();
        assert!(matches!(failure, Failure::BadConfig { .. }), "{failure:?}");
        assert!(!failure.message().contains("secret"), "{failure}");
    }
    for kind in [Kind::Anthropic, Kind::OpenAi, Kind::OpenAiChat, Kind::Gemini, Kind::Ollama] {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    let why = "openapi".parse::<Kind>().unwrap_err();
    assert!(why.contains("anthropic, openai, openai-chat, gemini, ollama"), "{why}");
}

#[test]
fn keys_come_from_variables_and_commands() {
    let variable = |name: &str| (name == "MY_KEY").then(|| format!("{CANARY}\n"));
    let command = |line: &str| {
        let is_known = line == "pass show x";
        if is_known { Ok(format!("{CANARY}\n")) } else { Err("exit status 1".to_owned()) }
    };
    let lookup = KeyLookup { variable: &variable, command: &command };
    let found = |key: &str| config(Kind::OpenAiChat, None, key).find_key(&lookup);
    assert_eq!(found("$MY_KEY"), Ok(Some(Secret::new(CANARY))));
    assert_eq!(found("!pass show x"), Ok(Some(Secret::new(CANARY))));
    let why = found("$OTHER").unwrap_err().message();
    assert_eq!(why, "mine needs a key: set the variable OTHER");
    let why = found("!pass show y").unwrap_err().message();
    assert!(why.contains("`pass show y` failed: exit status 1"), "{why}");
    let literal = CANARY.parse::<KeySource>().unwrap_err();
    assert!(literal.contains("$VARIABLE") && !literal.contains(CANARY), "{literal}");
}

#[test]
fn who_needs_a_key() {
    let lookup = KeyLookup { variable: &no_variable, command: &no_command };
    let found = |kind, url| config(kind, url, "").find_key(&lookup);
    assert_eq!(found(Kind::Ollama, None), Ok(None));
    assert_eq!(found(Kind::OpenAiChat, Some("http://127.0.0.1:8000/v1")), Ok(None));
    for kind in [Kind::Anthropic, Kind::OpenAi, Kind::OpenAiChat, Kind::Gemini] {
        let failure = found(kind, None).unwrap_err();
        assert!(failure.message().contains("[providers.mine]"), "{failure}");
    }
}

#[test]
fn connecting_names_what_is_missing() {
    let lookup = KeyLookup { variable: &no_variable, command: &no_command };
    let surroundings = Surroundings {
        clock: std::sync::Arc::new(|| Timestamp::UNIX_EPOCH),
        jitter: std::sync::Arc::new(|| 0.0),
    };
    let providers = built_in(&no_variable).unwrap();
    let open = |name: &str| {
        let (name, options) = (name.parse().unwrap(), ClientOptions::default());
        connect(&name, &providers, &lookup, options, surroundings.clone())
            .map(|it| it.is_scripted())
    };
    assert_eq!(open("ollama/qwen3"), Ok(false));
    let why = open("anthropic/some").unwrap_err().message();
    assert_eq!(why, "anthropic needs a key: set the variable ANTHROPIC_API_KEY");
    let why = open("nobody/some").unwrap_err().message();
    assert!(why.contains("anthropic, openai, gemini, ollama"), "{why}");
    assert!(matches!(open("scripted:/nowhere.json"), Err(Failure::NoScenario { .. })));
}

#[test]
fn keys_are_hidden() {
    let key = Secret::new(CANARY);
    assert_eq!(format!("{key:?}"), "[key]");
    let text = format!("Incorrect API key provided: {CANARY}.");
    assert_eq!(key.hide_in(&text), "Incorrect API key provided: [key].");
    assert_eq!(Secret::new(" ").hide_in("a b"), "a b");
}

#[test]
fn waits_between_attempts() {
    let options = RetryOptions::default();
    let seconds = |attempt, asked: Option<u64>, jitter| {
        options.wait(attempt, asked.map(Duration::from_secs), jitter).as_secs_f64()
    };
    assert_eq!([1, 2, 3, 9, 99].map(|it| seconds(it, None, 1.0)), [1.0, 2.0, 4.0, 60.0, 60.0]);
    assert_eq!([1, 2, 3].map(|it| seconds(it, None, 0.0)), [0.5, 1.0, 2.0]);
    // Never earlier than the provider asks for.
    assert_eq!([0.0, 1.0].map(|it| seconds(1, Some(7), it)), [7.0, 7.5]);
}

#[test]
fn waits_that_providers_ask_for() {
    let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    let asked = |headers: &[(&'static str, &'static str)], body: &str| {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let headers: HeaderMap = headers.collect();
        retry::asked_wait(&headers, body, now).map(|it| it.as_secs_f64())
    };
    assert_eq!(asked(&[("retry-after", "7")], ""), Some(7.0));
    assert_eq!(asked(&[("retry-after", "7"), ("retry-after-ms", "250")], ""), Some(0.25));
    assert_eq!(asked(&[("retry-after", "Sun, 01 Mar 2026 12:01:00 GMT")], ""), Some(60.0));
    assert_eq!(asked(&[("retry-after", "Sun, 01 Mar 2026 11:00:00 GMT")], ""), Some(0.0));
    assert_eq!(asked(&[("retry-after", "soon")], ""), None);
    assert_eq!(asked(&[("retry-after", "-1")], ""), None);
    let gemini = r#"{"error": {"details": [{"@type": "Help"}, {"retryDelay": "34.5s"}]}}"#;
    assert_eq!(asked(&[], gemini), Some(34.5));
    assert_eq!(asked(&[], "{}"), None);
}

#[test]
fn prices() {
    let price: Price = serde_json::from_str(r#"{"input": 3.0, "output": 15.0}"#).unwrap();
    let usage = TokenUsage {
        input: 1_000_000,
        cache_read: 400_000,
        cache_write: 100_000,
        output: 200_000,
        thinking: 50_000,
    };
    assert_eq!(price.cost(&usage), 6.0);
    let cached = Price { cache_read: Some(0.5), cache_write: Some(4.0), ..price };
    assert!((cached.cost(&usage) - 5.1).abs() < 1e-9);
    let mut sum = usage;
    sum += usage;
    assert_eq!((sum.input, sum.output), (2_000_000, 400_000));
}

#[test]
fn every_failure_says_what_to_do() {
    let provider = || "anthropic".to_owned();
    let says = || "their words".to_owned();
    let until = "2026-03-01T13:00:00Z".parse().unwrap();
    let after = Duration::from_secs(300);
    let all = [
        Failure::NothingConfigured,
        Failure::UnknownProvider { name: "mine".to_owned(), known: "anthropic, ollama".to_owned() },
        Failure::BadConfig { provider: provider(), why: "kind \"x\" is unknown".to_owned() },
        Failure::NoKey {
            provider: provider(),
            hint: "set the variable ANTHROPIC_API_KEY".to_owned(),
        },
        Failure::WrongKey {
            provider: provider(),
            says: says(),
            hint: "To correct the key, set the variable ANTHROPIC_API_KEY".to_owned(),
        },
        Failure::UnknownModel { provider: provider(), model: "some".to_owned(), says: says() },
        Failure::NoNetwork {
            provider: "ollama".to_owned(),
            url: "http://127.0.0.1:11434/".to_owned(),
            why: "Connection refused".to_owned(),
            local: ". Is the server running on this machine?".to_owned(),
        },
        Failure::RateLimited { provider: provider(), says: says(), wait: None },
        Failure::UsageLimit { provider: provider(), says: says(), until },
        Failure::NoQuota { provider: provider(), says: says() },
        Failure::ServerError { provider: provider(), says: says(), wait: None },
        Failure::NoAnswer { provider: provider(), after },
        Failure::Stalled { provider: provider(), after },
        Failure::Truncated { provider: provider(), why: "the connection broke".to_owned() },
        Failure::TooMuchText { provider: provider(), limit: 8_388_608 },
        Failure::ContextTooLong { provider: provider(), says: says() },
        Failure::BadRequest { provider: provider(), says: says(), hint: String::new() },
        Failure::Scenario { file: "a.json".to_owned(), why: "it has only 3 answers".to_owned() },
        Failure::Cancelled,
    ];
    let lines = all.iter().map(|it| {
        let retried = if it.is_retryable() { "retried" } else { "final" };
        format!("[{retried}] {}", it.message())
    });
    insta::assert_snapshot!(lines.collect::<Vec<String>>().join("\n"));
}
