//! Keys of providers. A key is never printed: not by `Debug`, not in messages of others.

use std::fmt;

/// What stands where a key would.
const HIDDEN: &str = "[key]";

/// A key. There is no `Display`, and `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A key as it was given, without the white space around it.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// The key itself, for the request that needs it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether there is anything in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The text without the key: servers quote the key in their messages.
    pub fn hide_in(&self, text: &str) -> String {
        if self.is_empty() { text.to_owned() } else { text.replace(&self.0, HIDDEN) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}
