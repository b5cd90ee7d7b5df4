//! The hosts of an address, each with its share of the time that a caller waits.
//!
//! The driver would try the next host only after the first has failed, and it sets no limit to a host that
//! accepts a connection and then says nothing. So hosts are tried one by one, each within a limit.

use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// How long one of several hosts is waited for at most, and the only one.
const ONE_OF_SEVERAL: Duration = Duration::from_secs(5);
const THE_ONLY_ONE: Duration = Duration::from_secs(10);

/// A configuration for each host of a configuration, in the order of the address.
pub(crate) fn each(config: &Config) -> Vec<Config> {
    let count = config.get_hosts().len().max(config.get_hostaddrs().len());
    if count < 2 {
        return vec![config.clone()];
    }
    (0..count).map(|n| only(config, n)).collect()
}

/// How long one host may take to connect, or to answer, before another try is made.
pub(crate) fn share(hosts: usize, patience: Duration, own: Option<Duration>) -> Duration {
    let share = match u32::try_from(hosts) {
        Ok(0 | 1) => patience.min(THE_ONLY_ONE),
        // One share is left for what comes after the connection.
        Ok(several) => (patience / (several.saturating_add(1))).min(ONE_OF_SEVERAL),
        Err(_) => Duration::ZERO,
    };
    own.map_or(share, |it| it.min(share))
}

/// The configuration with only one of its hosts. The driver cannot remove a host from a configuration, so
/// everything else is copied.
fn only(all: &Config, n: usize) -> Config {
    let mut one = Config::new();
    match all.get_hosts().get(n) {
        Some(Host::Tcp(name)) => drop(one.host(name)),
        Some(Host::Unix(path)) => drop(one.host_path(path)),
        None => {}
    }
    if let Some(address) = all.get_hostaddrs().get(n) {
        one.hostaddr(*address);
    }
    if let Some(port) = all.get_ports().get(n).or(all.get_ports().first()) {
        one.port(*port);
    }
    if let Some(user) = all.get_user() {
        one.user(user);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(name) = all.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = all.get_options() {
        one.options(options);
    }
    if let Some(name) = all.get_application_name() {
        one.application_name(name);
    }
    if let Some(limit) = all.get_tcp_user_timeout() {
        one.tcp_user_timeout(*limit);
    }
    if let Some(interval) = all.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle())
        .ssl_mode(all.get_ssl_mode())
        .ssl_negotiation(all.get_ssl_negotiation())
        .target_session_attrs(all.get_target_session_attrs())
        .channel_binding(all.get_channel_binding());
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_its_port_and_all_else_is_the_same() {
        let all: Config = "postgres://u:p@a:1,b:2/d?options=-cjit%3Doff&application_name=x\
                           &target_session_attrs=read-write&tcp_user_timeout=7&keepalives=0"
            .parse()
            .unwrap();
        for (n, expected) in ["a:1", "b:2"].into_iter().enumerate() {
            let one: Config = format!(
                "postgres://u:p@{expected}/d?options=-cjit%3Doff&application_name=x\
                 &target_session_attrs=read-write&tcp_user_timeout=7&keepalives=0"
            )
            .parse()
            .unwrap();
            assert_eq!(each(&all).get(n), Some(&one));
        }
        let one: Config = "postgres://u@a/d".parse().unwrap();
        assert_eq!(each(&one), [one]);
    }

    #[test]
    fn all_hosts_together_take_less_than_the_caller_waits() {
        let millis = Duration::from_millis;
        for (hosts, patience, own, expected) in [
            (1, millis(700), None, millis(700)),
            (1, millis(30_000), None, millis(10_000)),
            (2, millis(600), None, millis(200)),
            (2, millis(30_000), None, millis(5_000)),
            (2, millis(30_000), Some(millis(2_000)), millis(2_000)),
            (2, millis(600), Some(millis(2_000)), millis(200)),
            (5, millis(600), None, millis(100)),
        ] {
            assert_eq!(share(hosts, patience, own), expected, "{hosts} hosts, {patience:?}");
        }
    }
}
