//! The names of projects: a directory on this machine, something else on the server.
//!
//! On one machine a project is its directory. On a server that would not do: two machines may have
//! different projects at the same path, and the same project at different paths. So there a project
//! has a name that its repository or its user gave it, or, without one, the machine's name and the
//! path. Each machine records its directories.

use punchlist_model::session::Session;
use punchlist_model::store::AttachmentKey;
use punchlist_model::{MadeFor, Slice};

/// The names that this machine knows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Names {
    /// This machine.
    pub(crate) host: String,
    /// Projects and their directories here, the most recently used first.
    pub(crate) known: Vec<(String, String)>,
}

impl Names {
    /// The name on the server of the project in a directory.
    pub(crate) fn there(&self, project: &str) -> String {
        match self.known.iter().find(|(_, directory)| directory == project) {
            Some((name, _)) => name.clone(),
            None => self.local(project),
        }
    }

    /// The directory here of a project on the server; its name if it has none.
    pub(crate) fn here(&self, project: &str) -> String {
        match self.known.iter().find(|(name, _)| name == project) {
            Some((_, directory)) => directory.clone(),
            None => self.without_host(project),
        }
    }

    /// The name on the server of a path that is in no project of this machine: with the machine's name.
    pub(crate) fn local(&self, path: &str) -> String {
        if path.starts_with('/') { format!("{}:{path}", self.host) } else { path.to_owned() }
    }

    fn without_host(&self, name: &str) -> String {
        let path = name.strip_prefix(&self.host).and_then(|it| it.strip_prefix(':'));
        path.filter(|it| it.starts_with('/')).unwrap_or(name).to_owned()
    }

    /// The name on the server of a file.
    fn file_there(&self, path: &str) -> String {
        let within = |(name, directory): &(String, String)| {
            let rest = path.strip_prefix(directory.as_str())?.strip_prefix('/')?;
            Some(format!("{name}/{rest}"))
        };
        self.known.iter().find_map(within).unwrap_or_else(|| self.local(path))
    }

    /// The path here of a file.
    fn file_here(&self, name: &str) -> String {
        let within = |(project, directory): &(String, String)| {
            let rest = name.strip_prefix(project.as_str())?.strip_prefix('/')?;
            Some(format!("{directory}/{rest}"))
        };
        self.known.iter().find_map(within).unwrap_or_else(|| self.without_host(name))
    }

    pub(crate) fn key_there(&self, key: AttachmentKey) -> AttachmentKey {
        AttachmentKey { project: self.there(&key.project), ..key }
    }

    pub(crate) fn key_here(&self, key: AttachmentKey) -> AttachmentKey {
        AttachmentKey { project: self.here(&key.project), ..key }
    }

    pub(crate) fn purpose_there(&self, what: MadeFor) -> MadeFor {
        match what {
            MadeFor::Project(it) => MadeFor::Project(self.there(&it)),
            MadeFor::File(it) => MadeFor::File(self.file_there(&it)),
            MadeFor::Conversation(it) => MadeFor::Conversation(self.key_there(it)),
        }
    }

    pub(crate) fn purpose_here(&self, what: MadeFor) -> MadeFor {
        match what {
            MadeFor::Project(it) => MadeFor::Project(self.here(&it)),
            MadeFor::File(it) => MadeFor::File(self.file_here(&it)),
            MadeFor::Conversation(it) => MadeFor::Conversation(self.key_here(it)),
        }
    }

    /// Gives a plan the names that hold here.
    pub(crate) fn plan_here(&self, plan: &mut Slice) {
        plan.project = self.here(&plan.project);
        plan.made_for = plan.made_for.take().map(|it| self.purpose_here(it));
    }

    pub(crate) fn session_there(&self, session: Session) -> Session {
        Session { project: self.there(&session.project), ..session }
    }

    pub(crate) fn session_here(&self, session: Session) -> Session {
        Session { project: self.here(&session.project), ..session }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(host: &str, directory: &str) -> Names {
        Names { host: host.to_owned(), known: vec![("abc123".to_owned(), directory.to_owned())] }
    }

    #[test]
    fn different_checkouts_of_a_project_meet() {
        let (one, other) = (names("ann", "/home/ann/p"), names("bob", "/srv/p"));
        assert_eq!(other.here(&one.there("/home/ann/p")), "/srv/p");
        let file = MadeFor::File("/home/ann/p/docs/plan.md".to_owned());
        let there = MadeFor::File("/srv/p/docs/plan.md".to_owned());
        assert_eq!(other.purpose_here(one.purpose_there(file)), there);
    }

    #[test]
    fn equal_paths_of_different_machines_do_not_collide() {
        let (one, other) = (names("ann", "/p"), names("bob", "/p"));
        let (from_one, from_other) = (one.there("/tmp/x"), other.there("/tmp/x"));
        assert_ne!(from_one, from_other);
        assert_eq!(one.here(&from_one), "/tmp/x");
        assert_eq!(one.here(&from_other), "bob:/tmp/x");
        assert_eq!(one.there("bob:/tmp/x"), "bob:/tmp/x");
        let file = |path: &str| MadeFor::File(path.to_owned());
        assert_eq!(one.purpose_there(file("/tmp/plan.md")), file("ann:/tmp/plan.md"));
        assert_eq!(one.purpose_here(file("ann:/tmp/plan.md")), file("/tmp/plan.md"));
        assert_eq!(one.purpose_there(file("/pq/plan.md")), file("ann:/pq/plan.md"));
    }
}
