//! Claude Code: recordings, and every trap that they do not show.
