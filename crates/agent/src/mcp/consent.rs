//! Which servers that somebody else named a person has allowed in a project.

use std::path::{Path, PathBuf};

use punchlist_engine::fail::Fail;
use punchlist_engine::policy::digest_consent::{AllowedThing, DigestConsent};

use super::{ForeignServer, ForeignServers, ServerConfig};

/// The consents of a person to servers in one project.
pub struct ServerConsents {
    /// The user's data directory, which has the record.
    pub data: PathBuf,
    /// The project.
    pub project: String,
}

impl ServerConsents {
    fn is_given(&self, digest: &str) -> bool {
        DigestConsent::Server.is_given(&self.data, &self.project, digest)
    }

    /// The servers of the project whose top is here, and those that an editor offers, that nobody has
    /// allowed.
    pub fn to_ask(&self, top: &Path, offered: &ForeignServers) -> Vec<ForeignServer> {
        let is_given = |digest: &str| self.is_given(digest);
        let of_project = ForeignServers::of_project(top);
        offered.to_ask(is_given).chain(of_project.to_ask(is_given)).cloned().collect()
    }

    /// Records that a person has allowed a server.
    pub fn give(&self, server: &ForeignServer) -> Result<(), Fail> {
        let allowed = AllowedThing {
            project: self.project.clone(),
            digest: server.digest.clone(),
            name: server.config.name.clone(),
            what: server.what(),
        };
        DigestConsent::Server.give(&self.data, &allowed)
    }

    /// The servers for a session: the user's own, then those that an editor offers, then the project's. Of
    /// two servers with one name the first counts, so a project takes the place of no other.
    /// `is_allowed_now` says of digests whether a person has allowed the server for this session only.
    pub fn configs(
        &self,
        own: Vec<ServerConfig>,
        offered: &ForeignServers,
        of_project: &ForeignServers,
        is_allowed_now: impl Fn(&str) -> bool,
    ) -> Vec<ServerConfig> {
        let is_allowed = |digest: &str| is_allowed_now(digest) || self.is_given(digest);
        let mut configs = own;
        configs.extend(offered.configs(is_allowed));
        configs.extend(of_project.configs(is_allowed));
        configs
    }
}
