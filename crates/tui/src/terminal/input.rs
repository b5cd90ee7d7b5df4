//! Reads stdin or a file: with a size limit, as UTF-8.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use punchlist_engine::fail::{Fail, unreadable};

/// Maximum size of an input.
const MOST: u64 = 256 * 1024 * 1024;

/// Reads all of stdin as bytes.
pub fn stdin_bytes() -> Result<Vec<u8>, Fail> {
    read(io::stdin().lock(), "stdin")
}

/// Reads all of stdin.
pub fn stdin() -> Result<String, Fail> {
    text(stdin_bytes()?, "stdin")
}

/// Reads a whole file; `-` is stdin.
pub fn file(path: &Path) -> Result<String, Fail> {
    if path.as_os_str() == "-" {
        return stdin();
    }
    let name = path.display().to_string();
    let file = File::open(path).map_err(|why| unreadable(&name, &why))?;
    text(read(file, &name)?, &name)
}

fn read(source: impl Read, name: &str) -> Result<Vec<u8>, Fail> {
    let mut bytes = Vec::new();
    source.take(MOST + 1).read_to_end(&mut bytes).map_err(|why| unreadable(name, &why))?;
    if bytes.len() as u64 > MOST {
        return Err(Fail::usage(format!("{name} has more than {} MB", MOST / 1024 / 1024)));
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>, name: &str) -> Result<String, Fail> {
    String::from_utf8(bytes).map_err(|why| {
        let bytes = why.as_bytes();
        let line =
            1 + bytes[..why.utf8_error().valid_up_to()].iter().filter(|it| **it == b'\n').count();
        Fail::usage(format!("{name} is not UTF-8 (line {line})")).hint("convert it first.")
    })
}
