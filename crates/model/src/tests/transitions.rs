//! The complete transition table.

use std::fmt::Write as _;

use crate::decide::transition::{Act, legal};
use crate::item::Status;

/// Every act in every status. A changed rule changes a line here.
#[test]
fn every_status_meets_every_act() {
    let mut table = String::new();
    for from in Status::ALL {
        for act in Act::ALL {
            let targets: Vec<_> = act.targets(from).iter().map(|to| to.as_str()).collect();
            let targets =
                if targets.is_empty() { "refused".to_owned() } else { targets.join(" | ") };
            writeln!(table, "{:<12} {:<9} {targets}", from.as_str(), format!("{act:?}")).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// A refusal offers exactly the statuses that some act leads to.
#[test]
fn what_is_legal_is_what_some_act_allows() {
    for from in Status::ALL {
        for to in Status::ALL {
            let allowed = Act::ALL
                .into_iter()
                .filter(|act| *act != Act::Replace)
                .any(|act| act.targets(from).contains(&to));
            assert_eq!(legal(from).contains(&to), allowed, "{from} → {to}");
        }
    }
}
