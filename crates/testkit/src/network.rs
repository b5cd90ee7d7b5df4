//! Hosts with addresses of their own on this machine: network namespaces, joined by a bridge.
//!
//! Nothing outside of these namespaces is reached or changed. Needs root, and Debian's `iproute2`.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The network of the hosts: 10.213.77.0/24, in namespaces that have no other.
const NETWORK: &str = "10.213.77";

/// The networks of this process so far.
static NETWORKS: AtomicU32 = AtomicU32::new(1);

/// A network that ends with the test.
#[derive(Debug)]
pub struct Network {
    /// The beginning of the names of its namespaces.
    name: String,
    hosts: Vec<&'static str>,
}

/// A host of a network.
#[derive(Clone, Debug)]
pub struct Host {
    /// The name of its namespace.
    pub namespace: String,
    /// Its address.
    pub address: String,
    /// The addresses of all hosts, as PostgreSQL's access rules write them.
    pub network: String,
}

impl Network {
    /// Makes a network with these hosts.
    ///
    /// # Panics
    ///
    /// If that is not possible.
    #[must_use]
    pub fn new(hosts: &[&'static str]) -> Self {
        let number = NETWORKS.fetch_add(1, Ordering::Relaxed);
        let name = format!("pl{}.{number}", std::process::id());
        let network = Self { name, hosts: hosts.to_vec() };
        let hub = network.namespace("hub");
        ip(&["netns", "add", &hub]);
        ip(&["-n", &hub, "link", "add", "bridge", "type", "bridge"]);
        ip(&["-n", &hub, "link", "set", "bridge", "up"]);
        for name in hosts {
            let Host { namespace, address, .. } = network.host(name);
            ip(&["netns", "add", &namespace]);
            ip(&["-n", &namespace, "link", "set", "lo", "up"]);
            let pair = ["-n", &hub, "link", "add", name, "type", "veth", "peer", "name", "eth0"];
            ip(&[&pair[..], &["netns", &namespace]].concat());
            ip(&["-n", &hub, "link", "set", name, "master", "bridge", "up"]);
            let address = format!("{address}/24");
            ip(&["-n", &namespace, "addr", "add", &address, "dev", "eth0"]);
            ip(&["-n", &namespace, "link", "set", "eth0", "up"]);
        }
        network
    }

    fn namespace(&self, host: &str) -> String {
        format!("{}-{host}", self.name)
    }

    /// A host by its name.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn host(&self, name: &str) -> Host {
        let number = self.hosts.iter().position(|it| *it == name).expect("a host of the network");
        Host {
            namespace: self.namespace(name),
            address: format!("{NETWORK}.{}", number + 1),
            network: format!("{NETWORK}.0/24"),
        }
    }

    /// The same command on a host. Its environment is the one that was set for it, and no more.
    #[must_use]
    pub fn on(&self, host: &str, command: &Command) -> Command {
        let mut there = entering(&self.host(host).namespace);
        there.arg(command.get_program()).args(command.get_args()).env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                there.env(name, value);
            }
        }
        if let Some(directory) = command.get_current_dir() {
            there.current_dir(directory);
        }
        there
    }

    /// Cuts the link of a host: what is sent gets lost, and nobody is told.
    pub fn cut(&self, host: &str) {
        ip(&["-n", &self.namespace("hub"), "link", "set", host, "down"]);
    }

    /// Restores the link of a host.
    pub fn join(&self, host: &str) {
        ip(&["-n", &self.namespace("hub"), "link", "set", host, "up"]);
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in self.hosts.iter().chain(&["hub"]) {
            let namespace = self.namespace(name);
            Command::new("ip").args(["netns", "del", &namespace]).output().ok();
        }
    }
}

/// Runs what follows in a namespace. The process becomes that program, so it has the same id.
pub(crate) fn entering(namespace: &str) -> Command {
    let mut command = Command::new("/usr/bin/nsenter");
    command.arg(format!("--net=/run/netns/{namespace}")).arg("--");
    command
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().expect("`ip` runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {}: {said}", arguments.join(" "));
}
