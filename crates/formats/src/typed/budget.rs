//! What a goal may cost, as typed: `tokens=200000,turns=20,minutes=90`.

use std::str::FromStr;

use punchlist_model::Budget;

/// A budget as typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypedBudget(pub Budget);

impl FromStr for TypedBudget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut budget = Budget::default();
        for part in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let wrong = || format!("{part:?} is not one of tokens=N, turns=N and minutes=N");
            let (name, number) = part.split_once('=').ok_or_else(wrong)?;
            let number = number.trim();
            match name.trim() {
                "tokens" => budget.tokens = Some(number.parse().map_err(|_| wrong())?),
                "turns" => budget.turns = Some(number.parse().map_err(|_| wrong())?),
                "minutes" => budget.minutes = Some(number.parse().map_err(|_| wrong())?),
                _ => return Err(wrong()),
            }
        }
        Ok(Self(budget))
    }
}
