//! What kind of terminal this is, as far as environment variables tell. The caller passes them in.

use punchlist_engine::notices::Channel;
use punchlist_formats::text::Glyphs;

/// Finds a variable; an empty one counts as absent.
pub type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Whether a terminal is to get colour: unless `NO_COLOR` is set or the terminal is dumb.
pub fn has_colour(variable: Variable<'_>) -> bool {
    variable("NO_COLOR").is_none() && draws_in_place(variable)
}

/// Whether a terminal supports drawing in place.
pub fn draws_in_place(variable: Variable<'_>) -> bool {
    variable("TERM").is_none_or(|it| it != "dumb")
}

/// Whether this kind of terminal cuts lines that have become too wide, instead of wrapping them.
pub fn cuts_lines(variable: Variable<'_>) -> bool {
    let term = variable("TERM").unwrap_or_default();
    let is =
        |names: &[&str]| names.iter().any(|it| term == *it || term.starts_with(&format!("{it}-")));
    // tmux wraps, in whichever terminal it runs.
    variable("TMUX").is_none()
        && (variable("XTERM_VERSION").is_some() || is(&["linux", "screen", "st"]))
}

/// The channel for notices that this kind of terminal shows.
pub fn notice_channel(variable: Variable<'_>) -> Channel {
    let term = variable("TERM").unwrap_or_default();
    let is = |name: &str| term.starts_with(name);
    if term.is_empty() || is("linux") || is("dumb") || is("vt") {
        Channel::Bell
    } else if variable("VTE_VERSION").is_some() || is("rxvt") || is("foot") {
        Channel::Osc777
    } else {
        Channel::Osc9
    }
}

/// The characters to draw with: ASCII if the locale explicitly names an ASCII character set.
pub fn glyphs(variable: Variable<'_>) -> Glyphs {
    match ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).as_deref() {
        Some("C" | "POSIX") => Glyphs::Ascii,
        Some(_) | None => Glyphs::Unicode,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable<'a>(all: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| all.iter().find(|it| it.0 == name).map(|it| it.1.to_owned())
    }

    #[test]
    fn terminals_that_cut_lines_are_known_by_their_environment() {
        for (variables, expected) in [
            (&[("TERM", "xterm-256color")][..], false),
            (&[("TERM", "xterm-256color"), ("XTERM_VERSION", "XTerm(390)")], true),
            (&[("TERM", "linux")], true),
            (&[("TERM", "st-256color")], true),
            (&[("TERM", "screen-256color")], true),
            (&[("TERM", "screen-256color"), ("TMUX", "/tmp/tmux")], false),
            (&[("TERM", "tmux-256color"), ("TMUX", "/t"), ("XTERM_VERSION", "XTerm(390)")], false),
            (&[], false),
        ] {
            assert_eq!(cuts_lines(&variable(variables)), expected, "{variables:?}");
        }
    }

    #[test]
    fn no_color_and_a_dumb_terminal_are_obeyed() {
        for (variables, expected) in [
            (&[][..], true),
            (&[("NO_COLOR", "1")], false),
            (&[("NO_COLOR", "0")], false),
            (&[("TERM", "dumb")], false),
            (&[("TERM", "xterm")], true),
        ] {
            assert_eq!(has_colour(&variable(variables)), expected, "{variables:?}");
        }
    }

    #[test]
    fn only_an_ascii_locale_draws_in_ascii() {
        for (variables, expected) in [
            (&[][..], Glyphs::Unicode),
            (&[("LANG", "de_DE.UTF-8")], Glyphs::Unicode),
            (&[("LANG", "C")], Glyphs::Ascii),
            (&[("LANG", "C"), ("LC_ALL", "C.UTF-8")], Glyphs::Unicode),
            (&[("LC_CTYPE", "POSIX"), ("LANG", "de_DE.UTF-8")], Glyphs::Ascii),
        ] {
            assert_eq!(glyphs(&variable(variables)), expected, "{variables:?}");
        }
    }

    #[test]
    fn each_kind_of_terminal_gets_the_notices_that_it_shows() {
        for (variables, expected) in [
            (&[("TERM", "xterm-256color")][..], Channel::Osc9),
            (&[("TERM", "xterm-256color"), ("VTE_VERSION", "7600")], Channel::Osc777),
            (&[("TERM", "rxvt-unicode")], Channel::Osc777),
            (&[("TERM", "foot")], Channel::Osc777),
            (&[("TERM", "tmux-256color")], Channel::Osc9),
            (&[("TERM", "linux")], Channel::Bell),
            (&[], Channel::Bell),
        ] {
            assert_eq!(notice_channel(&variable(variables)), expected, "{variables:?}");
        }
    }
}
