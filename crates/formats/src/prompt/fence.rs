//! Fences around foreign text that the text cannot close.

/// The text between two fences of backticks, with `info` behind the first. The fences are longer
/// than every run of backticks in the text.
pub fn fence(info: &str, text: &str) -> String {
    let fence = "`".repeat(3.max(longest_ticks(text) + 1));
    format!("{fence}{info}\n{text}\n{fence}")
}

fn longest_ticks(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
