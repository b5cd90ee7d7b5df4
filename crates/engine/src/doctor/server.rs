//! Examines a database that is on a server.

use std::path::Path;

use punchlist_bridge::doctor::Finding;
use punchlist_model::store::maintenance::ServerFacts;

use super::Examination;
use super::stores::{broken, content, examine};

/// A difference of the clocks that confuses a person, in milliseconds.
const MUCH: i64 = 2_000;

impl Examination<'_> {
    /// Examines a server and the database on it.
    pub(super) async fn server(&self, address: &Path) -> Vec<Finding> {
        let facts = match (self.stores.server)(address) {
            Ok(Some(facts)) => facts,
            Ok(None) => return Vec::new(),
            Err(fail) => return vec![broken(fail)],
        };
        let mut findings = server(&facts);
        if facts.schema == 0 {
            let said = format!("no plans yet; the first plan prepares {}", address.display());
            findings.push(Finding::good("database", said));
            return findings;
        }
        let found = match (self.stores.open)(address) {
            // Whoever may only read was told so above.
            Ok(store) if !facts.may_work => content(&*store, address, self.call.now).await,
            Ok(store) => examine(&*store, address, self.call.now).await,
            Err(fail) => Err(fail),
        };
        findings.extend(found.unwrap_or_else(|fail| vec![broken(fail)]));
        findings
    }
}

/// What the facts about a server mean for its user.
fn server(facts: &ServerFacts) -> Vec<Finding> {
    let encrypted = if facts.is_encrypted { "encrypted" } else { "not encrypted" };
    let micros = facts.latency.as_micros();
    let millis = format!("{}.{} ms", micros / 1000, micros % 1000 / 100);
    let mut findings = vec![Finding::good(
        "server",
        format!(
            "PostgreSQL {}, schema {}, {millis} there and back, {encrypted}",
            facts.server, facts.schema
        ),
    )];
    let ahead = facts.clock_ahead_ms;
    if ahead.abs() > MUCH {
        let (seconds, side) = (ahead.abs() / 1000, if ahead > 0 { "ahead" } else { "behind" });
        findings.push(Finding::note(
            "clock",
            format!("the server's clock is {seconds} s {side}; leases and times are the server's"),
            "set this machine's clock by NTP",
        ));
    } else {
        findings.push(Finding::good("clock", format!("{ahead} ms from the server's")));
    }
    let commit = &facts.synchronous_commit;
    if !facts.fsync || commit == "off" {
        let what = if facts.fsync { "synchronous_commit is off" } else { "fsync is off" };
        findings.push(Finding::note(
            "durability",
            format!("{what}: after a crash of the server the last changes may be missing"),
            "switch it on in postgresql.conf",
        ));
    } else {
        findings.push(Finding::good("durability", format!("synchronous_commit is {commit}")));
    }
    if facts.is_pooled {
        findings.push(Finding::note(
            "pooler",
            "a pooler is between: changes of others are seen by looking every 0.1 s",
            "give the server's own address to `watch` and `serve`",
        ));
    }
    let role = &facts.role;
    findings.push(match facts {
        _ if facts.schema == 0 => Finding::good("role", role.clone()),
        ServerFacts { is_owner: true, .. } => {
            Finding::good("role", format!("{role} owns the tables"))
        }
        ServerFacts { may_change: true, .. } => Finding::good(
            "role",
            format!(
                "{role} may change everything; only the owner of the tables upgrades and forgets"
            ),
        ),
        ServerFacts { may_work: true, .. } => Finding::good(
            "role",
            format!(
                "{role} may do items of shared plans; it may not write commands, change plans or \
                 answer questions"
            ),
        ),
        ServerFacts { may_read: true, .. } => {
            Finding::good("role", format!("{role} may read everything, and change nothing"))
        }
        _ => Finding::bad(
            "role",
            format!("{role} may not read plans"),
            "ask the owner of the database for the right, or use another role",
        ),
    });
    findings
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use punchlist_bridge::doctor::State;

    use super::*;

    fn facts() -> ServerFacts {
        ServerFacts {
            server: "18.4".to_owned(),
            schema: 1,
            latency: Duration::from_micros(1250),
            clock_ahead_ms: 3,
            synchronous_commit: "on".to_owned(),
            fsync: true,
            is_pooled: false,
            role: "ann".to_owned(),
            may_read: true,
            may_work: true,
            may_change: true,
            is_owner: true,
            is_encrypted: false,
        }
    }

    fn said(facts: &ServerFacts) -> Vec<(&'static str, State)> {
        server(facts).iter().map(|it| (it.about, it.state)).collect()
    }

    #[test]
    fn a_sound_server_is_good() {
        let all = [("server", State::Good), ("clock", State::Good)];
        let rest = [("durability", State::Good), ("role", State::Good)];
        assert_eq!(said(&facts()), [all, rest].concat());
        let first = server(&facts()).remove(0).said;
        assert_eq!(first, "PostgreSQL 18.4, schema 1, 1.2 ms there and back, not encrypted");
    }

    #[test]
    fn the_rights_of_a_role_are_told_as_they_are() {
        let admin = ServerFacts { is_owner: false, ..facts() };
        let worker = ServerFacts { may_change: false, ..admin.clone() };
        let viewer = ServerFacts { may_work: false, ..worker.clone() };
        for (facts, words) in [
            (facts(), "ann owns the tables"),
            (admin, "ann may change everything"),
            (worker, "ann may do items of shared plans; it may not write commands"),
            (viewer, "ann may read everything, and change nothing"),
        ] {
            let role = server(&facts).pop().unwrap();
            assert!(role.state == State::Good && role.said.starts_with(words), "{}", role.said);
        }
    }

    #[test]
    fn what_a_user_should_know_is_noted() {
        let wrong = ServerFacts {
            clock_ahead_ms: -61_000,
            synchronous_commit: "off".to_owned(),
            is_pooled: true,
            is_owner: false,
            may_change: false,
            may_work: false,
            may_read: false,
            ..facts()
        };
        assert_eq!(
            said(&wrong),
            [
                ("server", State::Good),
                ("clock", State::Note),
                ("durability", State::Note),
                ("pooler", State::Note),
                ("role", State::Bad)
            ]
        );
    }
}
