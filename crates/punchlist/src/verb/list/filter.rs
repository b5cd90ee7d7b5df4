//! The options that say which items of a list are wanted.

use punchlist_formats::typed::wanted::{Standing, Wanted};

/// What narrows a list down. Everything that is given must hold.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct Filter {
    /// Only items with this status: open, done, pending, in_progress, completed or cancelled
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    status: Vec<Standing>,
    /// Only open items, like `--status open`
    #[arg(long, conflicts_with = "status")]
    open: bool,
    /// Only ready items: those that could be started now
    #[arg(long)]
    ready: bool,
    /// Only items that you own or have in progress
    #[arg(long, conflicts_with = "owner")]
    pub(super) mine: bool,
    /// Only items that this person or agent owns or has in progress
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// Only items that contain this text, ignoring case
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

impl Filter {
    /// Converts the options to a filter of `formats`. `me` is the caller's name, for `--mine`.
    pub(super) fn wanted<'a>(&'a self, me: Option<&'a str>) -> Wanted<'a> {
        Wanted {
            standing: &self.status,
            open: self.open,
            ready: self.ready,
            mine: me,
            owner: self.owner.as_deref(),
            search: self.search.as_deref(),
        }
    }

    /// Whether the filter lets every item through.
    pub(super) fn is_all(&self) -> bool {
        !self.mine && self.wanted(None) == Wanted::default()
    }
}
