//! The names of servers, and the names under which models see their tools: `mcp__server__tool`.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

/// The longest name of a tool that every provider accepts.
const LONGEST: usize = 64;
/// The longest name of a server.
const LONGEST_SERVER: usize = 32;
/// How many digits of a digest tell names apart.
const DIGITS: usize = 8;

/// Why a server cannot have this name.
pub(super) fn check_server(name: &str) -> Result<(), String> {
    let is_fine = !name.is_empty()
        && name.len() <= LONGEST_SERVER
        && name.chars().all(is_plain)
        && !name.contains("__")
        && !name.starts_with('_')
        && !name.ends_with('_');
    if is_fine {
        return Ok(());
    }
    Err(format!(
        "a server's name has 1 to {LONGEST_SERVER} letters, digits, - and _, with no _ at its ends and \
         no two in a row"
    ))
}

/// The nearest name that a server can have, for a name that was not chosen for us. May be empty.
pub(super) fn clean_server(name: &str) -> String {
    let plain = name.chars().map(|c| if is_plain(c) { c } else { '-' });
    let mut clean = String::new();
    for c in plain {
        if !(matches!(c, '-' | '_') && clean.ends_with(['-', '_'])) {
            clean.push(c);
        }
    }
    let clean: String = clean.trim_matches(['-', '_']).chars().take(LONGEST_SERVER).collect();
    clean.trim_end_matches(['-', '_']).to_owned()
}

/// The full name of a tool. A name that had to be cleaned or cut, or that is taken, ends in a few digits
/// of a digest, so that no two tools have one name and no tool can take another's.
pub(super) fn full(server: &str, tool: &str, taken: &BTreeSet<String>) -> String {
    let clean = |text: &str| -> String {
        text.chars().map(|c| if is_plain(c) { c } else { '_' }).take(LONGEST).collect()
    };
    let whole = format!("mcp__{}__{}", clean(server), clean(tool));
    let is_clean = !tool.is_empty() && tool.chars().all(is_plain) && check_server(server).is_ok();
    if is_clean && whole.len() <= LONGEST && !taken.contains(&whole) {
        return whole;
    }
    let digest = Sha256::digest(format!("{server}\0{tool}"));
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let (digits, _) = digits.split_at(DIGITS);
    let head: String = whole.chars().take(LONGEST - DIGITS - 1).collect();
    format!("{head}_{digits}")
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
