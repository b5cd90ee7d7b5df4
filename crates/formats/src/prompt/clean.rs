//! A title on one line, without anything that could steer a terminal or pass for markup.

/// The text on one line: controls, line breaks and direction overrides become spaces, runs of space
/// become one, and `<` becomes `&lt;`, so that no title can close the tag around it. After `most`
/// characters it is cut with `…`.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() || is_unseen(c) {
            gap = count > 0;
            continue;
        }
        if count + usize::from(gap) >= most {
            line.push('…');
            return line;
        }
        if std::mem::take(&mut gap) {
            line.push(' ');
            count += 1;
        }
        match c {
            '<' => line.push_str("&lt;"),
            _ => line.push(c),
        }
        count += 1;
    }
    line
}

/// Controls, and what changes the direction or hides in text. Joiners stay: emoji and many scripts
/// need them.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
