//! Masks secrets with a known form before a text is stored.
//!
//! Known forms are: keys with the prefixes of their providers, bearer tokens, private keys,
//! assignments to names such as `password`, and passwords in URLs. A secret without such a form
//! cannot be distinguished from a word. The text around a secret stays, so that it still says what
//! to do.

use std::borrow::Cow;
use std::ops::Range;

/// The replacement for a secret.
pub const MASK: &str = "[masked]";

/// The characters that a secret consists of.
#[derive(Clone, Copy)]
enum Made {
    /// Letters and digits.
    Plain,
    /// Letters, digits, `_` and `-`.
    Dashed,
    /// Capitals and digits.
    Upper,
    /// Letters, digits, `_`, `-`, `.`, `~`, `+`, `/` and `=`.
    Token,
}

impl Made {
    fn of(self, byte: u8) -> bool {
        match self {
            Self::Plain => byte.is_ascii_alphanumeric(),
            Self::Dashed => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Token => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'-' | b'.' | b'~' | b'+' | b'/' | b'=')
            }
        }
    }
}

/// Prefixes of keys, the characters that follow, and the minimal number of them.
const PREFIXES: [(&str, Made, usize); 22] = [
    ("sk-", Made::Dashed, 20),
    ("sk_live_", Made::Plain, 16),
    ("sk_test_", Made::Plain, 16),
    ("rk_live_", Made::Plain, 16),
    ("ghp_", Made::Plain, 30),
    ("gho_", Made::Plain, 30),
    ("ghu_", Made::Plain, 30),
    ("ghs_", Made::Plain, 30),
    ("ghr_", Made::Plain, 30),
    ("github_pat_", Made::Dashed, 22),
    ("glpat-", Made::Dashed, 20),
    ("npm_", Made::Plain, 36),
    ("pypi-", Made::Dashed, 40),
    ("hf_", Made::Plain, 30),
    ("AKIA", Made::Upper, 16),
    ("ASIA", Made::Upper, 16),
    ("AIza", Made::Dashed, 35),
    ("xoxa-", Made::Dashed, 10),
    ("xoxb-", Made::Dashed, 10),
    ("xoxp-", Made::Dashed, 10),
    ("xoxr-", Made::Dashed, 10),
    ("xoxs-", Made::Dashed, 10),
];

/// Ends of names whose value is a secret.
const NAMES: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "access_key",
    "secret_key",
    "private_key",
];

/// The text with all known secrets masked.
pub fn mask(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut masked: Option<String> = None;
    let mut kept = 0;
    let mut at = 0;
    while at < bytes.len() {
        let Some(secret) = secret_at(text, at) else {
            at += 1;
            continue;
        };
        let out = masked.get_or_insert_with(String::new);
        out.push_str(&text[kept..secret.start]);
        out.push_str(MASK);
        (kept, at) = (secret.end, secret.end.max(at + 1));
    }
    match masked {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(&text[kept..]);
            Cow::Owned(out)
        }
    }
}

/// The secret at `at`, if one begins there. Both ends are at character boundaries.
fn secret_at(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    match bytes[at] {
        b'-' => private_key(text, at),
        b'=' => assigned(bytes, at, 4),
        b':' => address(bytes, at).or_else(|| assigned(bytes, at, 8)),
        b'e' if begins_word(bytes, at) => web_token(bytes, at).or_else(|| prefixed(bytes, at)),
        b'B' | b'b' if begins_word(bytes, at) => bearer(bytes, at),
        byte if byte.is_ascii_alphabetic() && begins_word(bytes, at) => prefixed(bytes, at),
        _ => None,
    }
}

fn begins_word(bytes: &[u8], at: usize) -> bool {
    at == 0 || !Made::Dashed.of(bytes[at - 1])
}

fn run(bytes: &[u8], from: usize, made: Made) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| made.of(**byte)).count()
}

fn prefixed(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    PREFIXES.iter().find_map(|(prefix, made, least)| {
        let rest = bytes.get(at..).filter(|rest| rest.starts_with(prefix.as_bytes()));
        let from = at + rest.map(|_| prefix.len())?;
        let end = run(bytes, from, *made);
        (end - from >= *least).then_some(from..end)
    })
}

/// A JSON web token: three parts of base64 separated by dots, the first of which is an object.
fn web_token(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    const LEAST: usize = 10;
    if !bytes[at..].starts_with(b"eyJ") {
        return None;
    }
    let head = run(bytes, at, Made::Dashed);
    let body = run(bytes, head + 1, Made::Dashed);
    let end = run(bytes, body + 1, Made::Dashed);
    let dots = bytes.get(head) == Some(&b'.') && bytes.get(body) == Some(&b'.');
    let long = head - at >= LEAST && body.saturating_sub(head) > LEAST;
    (dots && long && end.saturating_sub(body) > LEAST).then_some(at..end)
}

/// `Bearer` and the token after it.
fn bearer(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    const LEAST: usize = 16;
    let word = bytes.get(at..at + 7)?;
    if !word.eq_ignore_ascii_case(b"bearer ") {
        return None;
    }
    let end = run(bytes, at + 7, Made::Token);
    (end - (at + 7) >= LEAST).then_some(at + 7..end)
}

/// A private key, from its first line to the end of its last line, or to the end of the text.
fn private_key(text: &str, at: usize) -> Option<Range<usize>> {
    const BEGIN: &str = "-----BEGIN ";
    // `get` returns `None` inside a character, where no key begins.
    let rest = text.get(at..)?.strip_prefix(BEGIN)?;
    let label = &rest[..rest.find("-----")?];
    if label.len() > 40 || !label.ends_with("PRIVATE KEY") {
        return None;
    }
    let from = at + BEGIN.len() + label.len() + "-----".len();
    let end = format!("-----END {label}-----");
    let to = text[from..].find(&end).map_or(text.len(), |end| from + end);
    Some(from..to)
}

/// The value after the `=` or `:` at `at`, if the name before it is one of [`NAMES`].
fn assigned(bytes: &[u8], at: usize, least: usize) -> Option<Range<usize>> {
    let name_end = trim_back(bytes, at);
    let is_name = |name: &str| {
        let start = name_end.checked_sub(name.len());
        start.is_some_and(|from| bytes[from..name_end].eq_ignore_ascii_case(name.as_bytes()))
    };
    if !NAMES.iter().any(|name| is_name(name)) {
        return None;
    }
    let quoted = |byte: &&u8| matches!(byte, b'"' | b'\'' | b'`');
    let blank = bytes[at + 1..].iter().take_while(|byte| **byte == b' ').count();
    let open = at + 1 + blank;
    let quote = bytes.get(open).filter(quoted);
    let from = open + usize::from(quote.is_some());
    let rest = bytes.get(from..)?;
    let ends = |byte: &u8| match quote {
        Some(quote) => byte == quote || *byte == b'\n',
        None => byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b',' | b';'),
    };
    let end = from + rest.iter().position(ends).unwrap_or(rest.len());
    let value = &bytes[from..end];
    // A variable, a placeholder, or a value that is already masked.
    let is_stand_in =
        value.first().is_some_and(|byte| matches!(byte, b'$' | b'<' | b'{' | b'*' | b'[' | b'('));
    // After a colon, prose is more common than a secret. A secret also contains digits or
    // punctuation.
    let is_word = bytes[at] == b':' && quote.is_none() && !value.iter().any(u8::is_ascii_digit);
    (value.len() >= least && !is_stand_in && !is_word).then_some(from..end)
}

/// The end of the name before `at`, without blanks and a closing quote.
fn trim_back(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while end > 0 && bytes[end - 1] == b' ' {
        end -= 1;
    }
    if end > 0 && matches!(bytes[end - 1], b'"' | b'\'') {
        end -= 1;
    }
    end
}

/// The password in `scheme://user:password@host`, where `at` is the first colon.
fn address(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    const MOST: usize = 300;
    let rest = bytes.get(at..)?.strip_prefix(b"://")?;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'' | b'<');
    let head = &rest[..rest.len().min(MOST)];
    let authority = &head[..head.iter().position(ends).unwrap_or(head.len())];
    let host = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = authority[..host].iter().position(|byte| *byte == b':')?;
    let from = at + 3;
    (host > colon + 1).then_some(from + colon + 1..from + host)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(mask(text), expected);
    }

    #[test]
    fn keys_with_their_makers_prefixes_are_masked() {
        check("use sk-ant-api03-abcDEF_0123456789-xyz now", "use sk-[masked] now");
        check("key=sk-proj-0123456789abcdefghij.", "key=sk-[masked].");
        check("ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_[masked]");
        check("github_pat_11ABCDEFG0_abcdefghijklmnop", "github_pat_[masked]");
        check("AWS AKIAIOSFODNN7EXAMPLE here", "AWS AKIA[masked] here");
        check("xoxb-1234567890-abcdef", "xoxb-[masked]");
        check("AIzaSyA0123456789abcdefghijklmnopqrstuv", "AIza[masked]");
        check(
            "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N !",
            "jwt [masked] !",
        );
    }

    #[test]
    fn bearer_tokens_and_passwords_in_addresses_are_masked() {
        check(
            "curl -H 'Authorization: Bearer abcdef0123456789.xyz='",
            "curl -H 'Authorization: Bearer [masked]'",
        );
        check(
            "postgres://shop:hunter2@db.example/shop",
            "postgres://shop:[masked]@db.example/shop",
        );
        check("https://user@host/a:b@c", "https://user@host/a:b@c");
    }

    #[test]
    fn private_keys_are_masked_to_their_end() {
        check(
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nb",
            "a\n-----BEGIN RSA PRIVATE KEY-----[masked]-----END RSA PRIVATE KEY-----\nb",
        );
        check("-----BEGIN PRIVATE KEY-----\nMIIE", "-----BEGIN PRIVATE KEY-----[masked]");
        check("-----BEGIN PUBLIC KEY-----\nMIIE", "-----BEGIN PUBLIC KEY-----\nMIIE");
    }

    #[test]
    fn values_given_to_names_of_secrets_are_masked() {
        check("set password=hunter2 and go", "set password=[masked] and go");
        check("DB_PASSWORD='correct horse' x", "DB_PASSWORD='[masked]' x");
        check("{\"api_key\": \"abcd1234\"}", "{\"api_key\": \"[masked]\"}");
        check("token: 0123456789abcdef", "token: [masked]");
        check("MY_SECRET = s3cr3tvalue;", "MY_SECRET = [masked];");
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "",
            "Fix the password reset",
            "Rotate the token: ask the team first",
            "password=$DB_PASSWORD",
            "password=<yours>",
            "password=[masked]",
            "Read sk-learn's docs and task-management-of-the-very-long-name",
            "the bearer of bad news",
            "token = 1",
            "AKIA is a prefix",
            "eyJ is how they begin",
            "--- a/src/lib.rs",
            "ask-for-the-very-long-dashed-name-please",
        ] {
            check(text, text);
        }
    }

    proptest! {
        #[test]
        fn masking_never_fails_and_masks_nothing_twice(text in crate::text::naughty::any_text()) {
            let once = mask(&text).into_owned();
            prop_assert_eq!(mask(&once), once.as_str());
        }

        #[test]
        fn a_secret_is_found_wherever_it_stands(before in ".{0,20}", after in ".{0,20}") {
            let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
            let text = format!("{before} {secret} {after}");
            prop_assert!(!mask(&text).contains(secret));
        }
    }
}
