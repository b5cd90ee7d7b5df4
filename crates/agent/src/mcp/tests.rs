//! Tests of what is pure: names, values, entries and announcements.
