//! What the user chose for a session. It is stored with the session, so that `resume` goes on with it.

use std::str::FromStr;

use punchlist_formats::dialect::Dialect;
use punchlist_model::store::turns::Used;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::turn::{self, Strategy};

/// The settings of a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionSettings {
    /// The model, as the user names it.
    pub model: String,
    /// The loop and its limits.
    pub turn: turn::Options,
    /// How the model sees the plan; by default `turn` for `supervisor` and `manager` for `steps`.
    pub dialect: Option<String>,
    /// The plan to work on, instead of one for each turn.
    pub plan: Option<String>,
    /// What must be true in the end: the goal of the plan, if the plan has none.
    pub goal: Option<String>,
    /// The JSON Schema of the final answer.
    pub schema: Option<Value>,
    /// What may be used.
    pub budget: Budget,
    /// Whether the session waits when a usage limit is reached.
    pub wait_for_quota: bool,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            model: String::new(),
            turn: turn::Options::default(),
            dialect: None,
            plan: None,
            goal: None,
            schema: None,
            budget: Budget::default(),
            wait_for_quota: true,
        }
    }
}

impl SessionSettings {
    /// How the model sees the plan. Fails if the name is that of no dialect.
    pub fn dialect(&self) -> Result<Dialect, String> {
        match &self.dialect {
            Some(name) => name.parse().map_err(|_| format!("there is no dialect {name:?}")),
            None => Ok(match self.turn.strategy {
                Strategy::Supervisor => Dialect::Turn,
                Strategy::Steps => Dialect::Manager,
            }),
        }
    }
}

/// What a run, and all runs of a day together, may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Of one run.
    pub run: Allowance,
    /// Of all runs of a day.
    pub day: Allowance,
}

/// How much may be used. `None` means without limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Allowance {
    /// Tokens, sent and received.
    pub tokens: Option<u64>,
    /// Minutes: of a run since the turn began, of a day those of all turns together.
    pub minutes: Option<u64>,
    /// Cost in millionths of the currency of the prices.
    pub cost_micros: Option<u64>,
}

impl Allowance {
    /// Which allowance is used up, in words; `None` if none is.
    pub fn reached(&self, used: &Used, minutes: u64) -> Option<String> {
        let tokens = used.input.saturating_add(used.output);
        if let Some(most) = self.tokens.filter(|most| tokens >= *most) {
            return Some(format!("{tokens} of {most} tokens are used"));
        }
        if let Some(most) = self.minutes.filter(|most| minutes >= *most) {
            return Some(format!("{minutes} of {most} minutes are over"));
        }
        let most = self.cost_micros.filter(|most| used.cost_micros >= *most)?;
        Some(format!("{} of {} are spent", money(used.cost_micros), money(most)))
    }
}

/// An amount of money without its currency: `1.25`.
pub fn money(micros: u64) -> String {
    let cents = micros.saturating_add(5_000) / 10_000;
    format!("{}.{:02}", cents / 100, cents % 100)
}

impl FromStr for Budget {
    type Err = String;

    /// `tokens=100000,minutes=30,cost=2.50`, and the same of a day: `day.tokens=…`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut budget = Self::default();
        for part in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let (key, value) =
                part.split_once('=').ok_or_else(|| format!("{part:?} is not KEY=VALUE"))?;
            let (key, value) = (key.trim(), value.trim());
            let (allowance, name) = match key.strip_prefix("day.") {
                Some(name) => (&mut budget.day, name),
                None => (&mut budget.run, key),
            };
            match name {
                "tokens" => allowance.tokens = Some(count(key, value)?),
                "minutes" => allowance.minutes = Some(count(key, value)?),
                "cost" => allowance.cost_micros = Some(micros(key, value)?),
                _ => {
                    return Err(format!(
                        "{key:?} is not tokens, minutes, cost, day.tokens, day.minutes or day.cost"
                    ));
                }
            }
        }
        Ok(budget)
    }
}

fn count(key: &str, value: &str) -> Result<u64, String> {
    let number = match (value.strip_suffix('k'), value.strip_suffix('M')) {
        (Some(number), _) => number.parse().ok().and_then(|it: u64| it.checked_mul(1_000)),
        (None, Some(number)) => number.parse().ok().and_then(|it: u64| it.checked_mul(1_000_000)),
        (None, None) => value.parse().ok(),
    };
    number
        .filter(|it| *it > 0)
        .ok_or_else(|| format!("{key}={value}: it is a whole number such as 500000, 500k or 2M"))
}

/// `2.5` as millionths, without rounding through a float.
fn micros(key: &str, value: &str) -> Result<u64, String> {
    let wrong = || format!("{key}={value}: it is an amount such as 2.50");
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    if part.len() > 6 || !part.bytes().all(|it| it.is_ascii_digit()) {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let part: u64 = format!("{part:0<6}").parse().map_err(|_| wrong())?;
    whole
        .checked_mul(1_000_000)
        .and_then(|it| it.checked_add(part))
        .filter(|it| *it > 0)
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_written_as_pairs() {
        let budget: Budget =
            "tokens=500k, minutes=30,cost=2.5,day.cost=10,day.minutes=90".parse().unwrap();
        let run =
            Allowance { tokens: Some(500_000), minutes: Some(30), cost_micros: Some(2_500_000) };
        let day = Allowance { tokens: None, minutes: Some(90), cost_micros: Some(10_000_000) };
        assert_eq!(budget, Budget { run, day });
        for bad in [
            "tokens",
            "tokens=",
            "tokens=0",
            "tokens=-1",
            "cost=1e3",
            "cost=0",
            "x=1",
            "day.minutes=0",
            "day.x=1",
        ] {
            assert!(bad.parse::<Budget>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_budget_that_is_reached_says_which() {
        let used = Used { calls: 1, input: 70, output: 30, cost_micros: 1_250_000 };
        let most = |tokens| Allowance { tokens: Some(tokens), ..Allowance::default() };
        assert_eq!(most(101).reached(&used, 0), None);
        assert_eq!(most(100).reached(&used, 0).unwrap(), "100 of 100 tokens are used");
        let cost = Allowance { cost_micros: Some(1_000_000), ..Allowance::default() };
        assert_eq!(cost.reached(&used, 0).unwrap(), "1.25 of 1.00 are spent");
        let minutes = Allowance { minutes: Some(5), ..Allowance::default() };
        assert_eq!(minutes.reached(&used, 4), None);
        assert_eq!(minutes.reached(&used, 5).unwrap(), "5 of 5 minutes are over");
    }
}
