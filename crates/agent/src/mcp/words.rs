//! Texts of servers, made fit for one line: bounded, without control characters and without characters
//! that hide others.

/// The text in one line of at most `most` characters.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for (count, c) in text.split_whitespace().collect::<Vec<_>>().join(" ").chars().enumerate() {
        if count >= most {
            line.push('…');
            break;
        }
        if !is_hidden(c) {
            line.push(c);
        }
    }
    line
}

/// The text with its lines, of at most `most` characters.
pub(super) fn bounded(text: &str, most: usize) -> String {
    let shown = text.chars().filter(|c| *c == '\n' || !is_hidden(*c));
    let mut kept: String = shown.clone().take(most).collect();
    if shown.count() > most {
        kept.push('…');
    }
    kept.trim().to_owned()
}

/// Whether a person does not see the character: control characters, characters of no width, those that
/// turn the direction of writing, and tags.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{FEFF}' | '\u{3164}' | '\u{FFA0}')
        || matches!(c, '\u{115F}'..='\u{1160}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}')
        || matches!(c, '\u{2060}'..='\u{206F}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}
