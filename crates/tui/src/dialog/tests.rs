//! Tests of the dialogs, at a screen: keys in, screen out.

mod list;
mod plan;
mod text;

use super::Dialog;
use super::screen::{SIZES, Screen};

/// The screens of a dialog at all sizes, after these keys, one below the other.
fn screens(make: impl Fn() -> Dialog, keys: &str) -> String {
    let mut all = String::new();
    for (width, height) in SIZES {
        let mut screen = Screen::new(make(), (width, height));
        screen.press(keys);
        let text = screen.text();
        assert_eq!(text.lines().count(), usize::from(height), "{text}");
        all.push_str(&format!("--- {width}x{height}\n{text}\n"));
    }
    all
}

/// Presses keys one by one, and resizes to every size after each of them. The selected row, if the
/// dialog has one, and the keys stay on the screen.
fn resized(make: impl Fn() -> Dialog, keys: &[&str], last_line: &str) {
    let mut screen = Screen::new(make(), SIZES[0]);
    for key in keys {
        screen.press(key);
        for size in SIZES.into_iter().chain([(1, 1), (10, 3), (40, 10)]) {
            screen.resize(size);
            let text = screen.text();
            assert_eq!(text.split('\n').count(), usize::from(size.1), "{key:?}:\n{text}");
            if size.0 >= 40 {
                let last = text.lines().last().unwrap_or_default();
                assert!(!last.is_empty(), "{key:?} at {size:?}:\n{text}");
            }
        }
    }
    screen.shows(last_line);
}
