//! The names under which the server answers.

use std::net::SocketAddr;

use punchlist_engine::fail::Fail;

/// The origin of the pages, and the values of `Host` that are accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// `http` or `https`.
    pub scheme: &'static str,
    /// The origin that people are shown: `http://127.0.0.1:7878`.
    pub text: String,
    /// The accepted values of `Host`, in lower case.
    pub hosts: Vec<String>,
    is_proxied: bool,
}

impl Origin {
    /// The origin of a server that listens there. Beyond this machine it needs a proxy's origin.
    pub fn of(listen: SocketAddr, proxy: Option<&str>) -> Result<Self, Fail> {
        if let Some(proxy) = proxy {
            return Self::proxied(proxy);
        }
        if !listen.ip().is_loopback() {
            return Err(Fail::usage(format!("{listen} can be reached from other machines"))
                .hint("listen on 127.0.0.1, or name the proxy's origin with `--behind-proxy`."));
        }
        let mut origin =
            Self { scheme: "http", text: String::new(), hosts: Vec::new(), is_proxied: false };
        origin.listens_on(listen);
        Ok(origin)
    }

    /// The address that the server really listens on: the system may have chosen the port.
    pub fn listens_on(&mut self, address: SocketAddr) {
        if self.is_proxied {
            return;
        }
        let port = address.port();
        self.text = format!("http://{address}");
        self.hosts = vec![address.to_string(), format!("localhost:{port}")];
        if port == 80 {
            let host = address.to_string();
            self.hosts.extend([host.trim_end_matches(":80").to_owned(), "localhost".to_owned()]);
        }
    }

    fn proxied(text: &str) -> Result<Self, Fail> {
        let bad = || {
            Fail::usage(format!("{text:?} is no origin"))
                .hint("give scheme, host and port, as in `https://plans.example.org`.")
        };
        let (scheme, host) = match text.split_once("://").ok_or_else(bad)? {
            ("https", host) => ("https", host),
            ("http", host) => ("http", host),
            _ => return Err(bad()),
        };
        let is_host = |it: char| it.is_ascii_alphanumeric() || ".-:[]".contains(it);
        if host.is_empty() || !host.chars().all(is_host) {
            return Err(bad());
        }
        let host = host.to_ascii_lowercase();
        let (text, hosts) = (format!("{scheme}://{host}"), vec![host]);
        Ok(Self { scheme, text, hosts, is_proxied: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(listen: &str, proxy: Option<&str>) -> Result<(String, Vec<String>), String> {
        let origin = Origin::of(listen.parse().unwrap(), proxy).map_err(|it| it.message)?;
        Ok((origin.text, origin.hosts))
    }

    #[test]
    fn a_server_on_this_machine_answers_under_its_names_alone() {
        let (text, hosts) = of("127.0.0.1:7878", None).unwrap();
        assert_eq!(text, "http://127.0.0.1:7878");
        assert_eq!(hosts, ["127.0.0.1:7878", "localhost:7878"]);
        assert_eq!(of("[::1]:7878", None).unwrap().1, ["[::1]:7878", "localhost:7878"]);
        assert!(of("127.0.0.1:80", None).unwrap().1.contains(&"127.0.0.1".to_owned()));
    }

    #[test]
    fn listening_beyond_this_machine_needs_the_proxys_origin() {
        let refused = of("0.0.0.0:7878", None).unwrap_err();
        assert_eq!(refused, "0.0.0.0:7878 can be reached from other machines");
        let (text, hosts) = of("0.0.0.0:7878", Some("https://Plans.example.org")).unwrap();
        assert_eq!(
            (text.as_str(), hosts),
            ("https://plans.example.org", vec!["plans.example.org".to_owned()])
        );
        for bad in [
            "plans.example.org",
            "ftp://x",
            "https://",
            "https://a/b",
            "https://a b",
            "https://a\r\nX: y",
        ] {
            assert!(of("127.0.0.1:1", Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_port_that_the_system_chose_counts() {
        let mut origin = Origin::of("127.0.0.1:0".parse().unwrap(), None).unwrap();
        origin.listens_on("127.0.0.1:4321".parse().unwrap());
        assert_eq!(origin.text, "http://127.0.0.1:4321");
        let mut proxied = Origin::of("127.0.0.1:0".parse().unwrap(), Some("http://x")).unwrap();
        proxied.listens_on("127.0.0.1:4321".parse().unwrap());
        assert_eq!(proxied.hosts, ["x"]);
    }
}
