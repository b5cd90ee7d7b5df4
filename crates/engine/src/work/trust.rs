//! Whose commands a worker runs. Pure.

use punchlist_model::Number;
use punchlist_model::store::work::Publishers;

/// Whose commands run without a rule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trust(Option<Vec<String>>);

impl Trust {
    /// These publishers. Without a list, a user trusts their own database file and nobody on a server.
    pub fn new(names: Option<Vec<String>>) -> Self {
        Self(names)
    }

    /// Whether the publisher of an item is trusted. The error names the publisher.
    pub(crate) fn check(&self, publishers: &Publishers, item: Number) -> Result<(), String> {
        let Some(publisher) = publishers.of.get(&item) else { return Err(String::new()) };
        let is_trusted = match &self.0 {
            Some(names) => names.contains(publisher),
            None => publishers.own.as_ref() == Some(publisher),
        };
        if is_trusted { Ok(()) } else { Err(publisher.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_publishers_are_trusted_and_without_names_only_the_owner_of_the_own_file() {
        let check = |names: Option<&[&str]>, own: Option<&str>, expected: bool| {
            let names = names.map(|it| it.iter().map(|it| (*it).to_owned()).collect());
            let own = own.map(str::to_owned);
            let of = [(Number(1), "ann".to_owned())].into();
            let publishers = Publishers { own, of, ..Publishers::default() };
            let trust = Trust::new(names);
            assert_eq!(trust.check(&publishers, Number(1)).is_ok(), expected, "{trust:?}");
            assert!(trust.check(&publishers, Number(2)).is_err(), "nobody is known");
        };
        check(None, Some("ann"), true);
        check(None, Some("bob"), false);
        check(None, None, false);
        check(Some(&["ann"]), None, true);
        check(Some(&["bob"]), Some("ann"), false);
        check(Some(&[]), Some("ann"), false);
    }
}
