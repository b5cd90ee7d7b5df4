//! What is recorded of a session of our own agent, compared with what its calls really did.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use super::Tally;
use super::place::Place;

/// The record of the only session.
#[derive(Default)]
pub(super) struct Transcript {
    /// The messages of the user, each the beginning of a turn.
    pub(super) said: Vec<String>,
    calls: Vec<Value>,
    results: Vec<(String, String)>,
    /// A line for each execution of a call.
    log: String,
}

impl Transcript {
    pub(super) fn read(place: &Place) -> Self {
        let lines = place.run(&["sessions", "export", "--format", "jsonl"]).out;
        let log = place.world.path("project/log.txt");
        let log = fs::read_to_string(log).unwrap_or_default();
        let mut transcript = Self { log, ..Self::default() };
        for line in lines.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let entry = &line["entry"];
            match entry["what"].as_str() {
                Some("user") => transcript.said.extend(entry["text"].as_str().map(str::to_owned)),
                Some("answer") => {
                    let calls = entry["message"]["calls"].as_array().cloned();
                    transcript.calls.extend(calls.unwrap_or_default());
                }
                Some("result") => {
                    let result = (entry["call"].to_string(), entry["text"].to_string());
                    transcript.results.push(result);
                }
                Some(_) | None => {}
            }
        }
        transcript
    }

    /// Checks that there are as many calls as expected, that each has one result, and that each number
    /// up to `most` was logged once by its call, unless the result says that nobody knows. `logs` returns
    /// the text of the arguments that has the number, by the tool.
    pub(super) fn check(
        &self,
        calls: usize,
        most: usize,
        logs: impl Fn(&str) -> Option<&'static str>,
        tally: &mut Tally,
    ) {
        tally.must(self.calls.len() == calls, || format!("{} calls", self.calls.len()));
        let mut logged = 0;
        let mut results: BTreeMap<&str, &str> = BTreeMap::new();
        for (call, text) in &self.results {
            if results.insert(call, text).is_some() {
                tally.spoil(format!("call {call} has two results"));
            }
        }
        for call in &self.calls {
            let Some(result) = results.get(call["id"].to_string().as_str()) else {
                tally.lose(format!("call {call} has no result"));
                continue;
            };
            let Some(argument) = logs(call["tool"].as_str().unwrap_or_default()) else { continue };
            let text = call["arguments"]["object"][argument].as_str().unwrap_or_default();
            let number = text.split(' ').find(|it| it.parse::<usize>().is_ok());
            let Some(number) = number else {
                tally.wrong(format!("{call} logs nothing"));
                continue;
            };
            logged += 1;
            let times = self.log.lines().filter(|it| *it == number).count();
            tally.writes += times;
            tally.acknowledged += 1;
            if times > 1 {
                tally.double(format!("call {number} ran {times} times"));
            } else if times == 0 && !result.contains("may have happened") {
                tally.lose(format!("call {number} did not run: {result}"));
            }
        }
        tally.must(logged == most, || format!("{logged} of {most} calls log a number"));
    }
}

/// The items of the first turn's plan.
pub(super) fn items(place: &Place) -> Value {
    let session = place.run(&["sessions", "show", "--json"]).json();
    let plan = session["turnList"][0]["plan"].as_str().unwrap_or_default().to_owned();
    let plan = place.run(&["list", "--all", "--json", "--plan", &plan]).json();
    let items = plan["items"].as_array().into_iter().flatten();
    items
        .map(|it| json!([it["number"], it["title"], it["status"], it["outcome"], it["claim"]]))
        .collect()
}
