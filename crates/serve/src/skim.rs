//! Finds the request id in a line that cannot be parsed, so that it can be answered.
//!
//! The line may be too long, broken or hostile. So it is scanned once, byte by byte, as it arrives;
//! only the field name or id that is being read is kept, up to [`KEPT`] bytes. The scan does not
//! check that the line is JSON.

use rmcp::model::RequestId;

/// The maximum length of a name or an id, as written. Longer ones are ignored.
const KEPT: usize = 1024;

/// The state of the scan.
#[derive(Debug, Default)]
pub(crate) struct Skim {
    /// The number of open objects and arrays.
    depth: usize,
    in_string: bool,
    /// Whether the last character of a string was a backslash that escapes the next.
    is_escaped: bool,
    /// Whether the outermost value is an object.
    is_object: bool,
    /// Whether a value of the outermost object is being read, not a name.
    in_value: bool,
    field: Field,
    /// The name or id that is being read, as written.
    kept: Vec<u8>,
    /// How many ids were found, and the last one if it is valid.
    ids: usize,
    id: Option<RequestId>,
    has_method: bool,
    has_result: bool,
}

/// The fields of the outermost object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Field {
    Id,
    Method,
    Result,
    #[default]
    Other,
}

/// Whom to answer.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Sender {
    /// The sender of the request with this id.
    Request(RequestId),
    /// Nobody: the line is a notification.
    Notification,
    /// The sender of a request whose id is unknown.
    Unknown,
}

impl Skim {
    /// Scans a whole line.
    pub(crate) fn of(line: &[u8]) -> Sender {
        let mut skim = Self::default();
        skim.read(line);
        skim.sender()
    }

    /// Scans the next piece.
    pub(crate) fn read(&mut self, mut piece: &[u8]) {
        while let [byte, rest @ ..] = piece {
            piece = rest;
            if !self.in_string {
                self.outside(*byte);
                continue;
            }
            self.keep(*byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                // Most of a long line is inside some string; skip to its end.
                _ if !self.is_kept() => {
                    let skipped = memchr::memchr2(b'"', b'\\', piece).unwrap_or(piece.len());
                    piece = &piece[skipped..];
                }
                _ => {}
            }
        }
    }

    /// Scans a byte outside of strings.
    fn outside(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => {
                if self.depth == 0 {
                    self.is_object = byte == b'{';
                }
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && !self.in_value => self.begin_value(),
            b',' if self.depth == 1 => self.end_value(),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                self.in_string = byte == b'"';
                if self.in_string && self.depth == 1 && self.in_value {
                    self.has_method |= self.field == Field::Method;
                }
                self.keep(byte);
            }
        }
    }

    fn begin_value(&mut self) {
        let name: Option<String> = serde_json::from_slice(&self.kept).ok();
        self.field = match name.as_deref() {
            Some("id") => Field::Id,
            Some("method") => Field::Method,
            Some("result" | "error") => Field::Result,
            Some(_) | None => Field::Other,
        };
        self.in_value = true;
        self.kept.clear();
    }

    fn end_value(&mut self) {
        match self.field {
            Field::Id => {
                self.ids += 1;
                self.id = serde_json::from_slice(&self.kept).ok();
            }
            Field::Result => self.has_result = true,
            Field::Method | Field::Other => {}
        }
        self.field = Field::Other;
        self.in_value = false;
        self.kept.clear();
    }

    /// Whether the current value is a name or an id.
    fn is_kept(&self) -> bool {
        self.depth == 1 && (!self.in_value || self.field == Field::Id) && self.kept.len() <= KEPT
    }

    /// Keeps a byte of a name or an id. One that is too long stays incomplete, and so is never
    /// valid.
    fn keep(&mut self, byte: u8) {
        if self.is_kept() {
            self.kept.push(byte);
        }
    }

    /// Whom to answer, after the last piece.
    pub(crate) fn sender(self) -> Sender {
        // An answer to our own request has our id, not the client's.
        if !self.is_object || (self.has_result && !self.has_method) {
            return Sender::Unknown;
        }
        match self.id {
            // With two ids, nobody knows which one is meant.
            Some(id) if self.ids == 1 => Sender::Request(id),
            None if self.ids == 0 && self.has_method => Sender::Notification,
            Some(_) | None => Sender::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asks(id: &str) -> Sender {
        Sender::Request(serde_json::from_str(id).unwrap())
    }

    #[track_caller]
    fn check(line: &str, expected: &Sender) {
        assert_eq!(Skim::of(line.as_bytes()), *expected, "{line}");
        let mut skim = Skim::default();
        for byte in line.as_bytes() {
            skim.read(&[*byte]);
        }
        assert_eq!(skim.sender(), *expected, "byte by byte: {line}");
    }

    #[test]
    fn the_id_of_a_request_is_found_wherever_it_stands() {
        let one = &asks("1");
        check(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#, one);
        check(r#"{"params":{"id":7,"a":[{"id":8}]},"method":"x","id":1}"#, one);
        check(r#"{"params":"\"id\":7,\\","id":1,"method":"x"}"#, one);
        check("\u{feff} { \"\\u0069d\" : 1 , \"method\" : 5 }\r", one);
        check(r#"{"id":1,"params":[[[["#, one);
        check(r#"{"id":"a \"b\" \\","method":"x"}"#, &asks(r#""a \"b\" \\""#));
        check(r#"{"id":-4}"#, &asks("-4"));
    }

    #[test]
    fn a_notification_is_nobody_to_answer() {
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"id":1}}"#,
            &Sender::Notification,
        );
    }

    #[test]
    fn what_has_no_usable_id_has_none() {
        let long = format!(r#"{{"id":"{}","method":"x"}}"#, "x".repeat(KEPT));
        for line in [
            "",
            "nonsense",
            "{}",
            "[]",
            r#""id":1"#,
            r#"{"id":null,"method":"x"}"#,
            r#"{"id":1.5,"method":"x"}"#,
            r#"{"id":{"id":1},"method":"x"}"#,
            r#"{"id":1,"id":2,"method":"x"}"#,
            r#"{"id":1,"result":{}}"#,
            r#"{"error":{},"id":1}"#,
            r#"{"method":5}"#,
            r#"[{"id":1,"method":"x"}]"#,
            "}}]],,::",
            long.as_str(),
        ] {
            check(line, &Sender::Unknown);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_looked_through_and_little_is_kept(
            line in r#"([{}:,\[\]"\\ 1]|id|"id":|"method":|\PC){0,200}"#,
        ) {
            let mut skim = Skim::default();
            for piece in line.as_bytes().chunks(7) {
                skim.read(piece);
                prop_assert!(skim.kept.len() <= KEPT + 1);
            }
            prop_assert_eq!(skim.sender(), Skim::of(line.as_bytes()));
        }
    }
}
