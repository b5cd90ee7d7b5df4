//! Tests: which scopes overlap, and which accesses conflict.

use proptest::prelude::*;

use super::{Access, Scope};

fn check(one: &str, other: &str, meet: bool) {
    let (one, other) = (Scope::new(one), Scope::new(other));
    assert_eq!(one.meets(&other), meet, "{one:?} and {other:?}");
    assert_eq!(other.meets(&one), meet, "{other:?} and {one:?}");
}

#[test]
fn scopes_meet_where_a_file_may_be_in_both() {
    check("src/main.rs", "src/main.rs", true);
    check("src/main.rs", "src/lib.rs", false);
    check("src", "src/lib.rs", true);
    check("src", "srcs/lib.rs", false);
    check("/", "anything/at/all", true);
    check("", "anything", true);
    check("src/**", "src/a/b/c.rs", true);
    check("src/**/mod.rs", "src/a/b/mod.rs", true);
    check("src/**/mod.rs", "src/mod.rs", true);
    check("src/**/mod.rs", "src/a/lib.rs", true);
    check("**/x", "a/b", true);
    check("src/*.rs", "src/main.rs", true);
    check("src/*.rs", "src/main.txt", false);
    check("src/a*.rs", "src/b*.rs", false);
    check("src/a*", "src/*b", true);
    check("src/*.rs", "src/*.txt", false);
    check("src/{a,b}.rs", "src/c.rs", true);
    check("docs/**", "src/**", false);
    check("./src/../docs/a", "docs/a", true);
    check("README.md", "readme.MD", true);
    check("a*a", "a", false);
}

#[test]
fn a_directory_that_ends_in_a_pattern_holds_all_that_is_below() {
    // `a/lib.rs` may be a directory: its name does not say.
    check("src/a/lib.rs", "src/a/lib.rs/deep", true);
    check("src/**/lib.rs", "src/a", true);
}

#[test]
fn reading_side_by_side_is_no_conflict_and_writing_is() {
    let check = |one: &Access, other: &Access, conflict: bool| {
        assert_eq!(one.conflicts_with(other), conflict, "{one:?} and {other:?}");
        assert_eq!(other.conflicts_with(one), conflict, "{other:?} and {one:?}");
    };
    let (read, write) = (Access::reads(["a"]), Access::writes(["a"]));
    check(&read, &read, false);
    check(&read, &write, true);
    check(&write, &write, true);
    check(&write, &Access::writes(["b"]), false);
    check(&write, &Access::none(), false);
    check(&Access::exclusive(), &Access::none(), true);
}

proptest! {
    /// No text causes a panic, and the result is symmetric.
    #[test]
    fn any_two_texts_meet_from_both_sides_or_from_none(one in ".{0,40}", other in ".{0,40}") {
        let (one, other) = (Scope::new(&one), Scope::new(&other));
        prop_assert_eq!(one.meets(&other), other.meets(&one));
        prop_assert!(one.meets(&one));
    }

    /// A pattern always overlaps the path that it was made from.
    #[test]
    fn a_pattern_meets_the_paths_that_it_was_made_from(
        parts in prop::collection::vec("[a-c]{1,3}", 1..5),
        at in any::<prop::sample::Index>(),
        how in 0..4,
    ) {
        let path = parts.join("/");
        let mut pattern = parts.clone();
        let at = at.index(parts.len());
        match how {
            0 => pattern[at] = "*".to_owned(),
            1 => pattern[at] = "**".to_owned(),
            2 => pattern[at] = format!("{}*", &parts[at][..1]),
            _ => pattern.truncate(at + 1),
        }
        prop_assert!(Scope::new(&path).meets(&Scope::new(&pattern.join("/"))));
    }
}
