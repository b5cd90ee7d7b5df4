//! Lines of JSON, held against serde_json.

use proptest::prelude::*;

use super::*;

/// The value as serde_json has it, by way of our index.
fn rebuilt(value: Value<'_>) -> serde_json::Value {
    if value.is_object() {
        let fields = value.fields().map(|(key, value)| (key.cow().into_owned(), rebuilt(value)));
        return serde_json::Value::Object(fields.collect());
    }
    if value.is_array() {
        return value.items().map(rebuilt).collect();
    }
    if let Some(text) = value.str() {
        return text.cow().into();
    }
    serde_json::from_str(value.raw()).expect("a scalar")
}

#[track_caller]
fn check(line: &str, expected: Result<(), Flaw>) {
    let mut tape = Tape::default();
    let found = tape.read(line.as_bytes());
    assert_eq!(
        found.map(|it| it.raw().trim().to_owned()),
        expected.map(|()| line.trim().to_owned())
    );
}

#[test]
fn what_is_no_json_is_told_with_its_place() {
    check("{}", Ok(()));
    check(" [ ] ", Ok(()));
    check("[1,2.5,-3e+7,0,true,false,null,\"x\"]", Ok(()));
    check("{\"a\":{\"b\":[{}]}}", Ok(()));
    check("", Err(Flaw::Short));
    check("{", Err(Flaw::Short));
    check("{\"a\"", Err(Flaw::Short));
    check("{\"a\":", Err(Flaw::Short));
    check("{\"a\":1", Err(Flaw::Short));
    check("\"abc", Err(Flaw::Short));
    check("tru", Err(Flaw::Short));
    check("-", Err(Flaw::Short));
    check("\"\\u12", Err(Flaw::Short));
    check("{\"a\" 1}", Err(Flaw::Syntax(5)));
    check("{,}", Err(Flaw::Syntax(1)));
    check("{\"a\":1,}", Err(Flaw::Syntax(7)));
    check("[1,]", Err(Flaw::Syntax(3)));
    check("[1}", Err(Flaw::Syntax(2)));
    check("{\"a\":1]", Err(Flaw::Syntax(6)));
    check("]", Err(Flaw::Syntax(0)));
    check("{}{}", Err(Flaw::Syntax(2)));
    check("[01]", Err(Flaw::Syntax(2)));
    check("[1.]", Err(Flaw::Syntax(3)));
    check("[1e999]", Err(Flaw::Syntax(1)));
    check("[1e-999]", Ok(()));
    check(&format!("[{}]", "9".repeat(400)), Err(Flaw::Syntax(1)));
    check("[+1]", Err(Flaw::Syntax(1)));
    check("[truE]", Err(Flaw::Syntax(1)));
    check("\"a\tb\"", Err(Flaw::Syntax(2)));
    check("\"a long text with a line\nend\"", Err(Flaw::Syntax(24)));
    check("\"\\x\"", Err(Flaw::Syntax(1)));
    check("\"\\u12g4\"", Err(Flaw::Syntax(3)));
}

#[test]
fn what_is_not_utf8_is_told_with_its_place() {
    let mut tape = Tape::default();
    assert_eq!(tape.read(b"{\"a\":\"\xff\"}").err(), Some(Flaw::Utf8(6)));
}

#[test]
fn a_mark_of_byte_order_is_no_part_of_the_line() {
    let mut tape = Tape::default();
    assert_eq!(tape.read(b"\xef\xbb\xbf{}").map(|it| it.is_object()), Ok(true));
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
    check(&nested(MOST_DEPTH), Ok(()));
    check(&nested(MOST_DEPTH + 1), Err(Flaw::Deep));
    check(&nested(100_000), Err(Flaw::Deep));
    check(&"{\"a\":".repeat(100_000), Err(Flaw::Deep));
}

#[test]
fn the_number_of_values_is_bounded() {
    let values = |count: usize| format!("[{}0]", "0,".repeat(count - 2));
    let mut tape = Tape::default();
    assert!(tape.read(values(MOST_VALUES).as_bytes()).is_ok());
    assert_eq!(tape.read(values(MOST_VALUES + 1).as_bytes()).err(), Some(Flaw::Many));
}

#[test]
fn a_surrogate_without_its_other_half_is_replaced_where_it_stands() {
    #[track_caller]
    fn check(literal: &str, expected: &str) {
        let mut tape = Tape::default();
        let value = tape.read(literal.as_bytes()).expect("JSON");
        assert_eq!(value.str().expect("a string").cow(), expected);
        let raw: String = serde_json::from_str(value.raw()).expect("others can read it");
        assert_eq!(raw, expected);
    }
    check(r#""a\ud83dz""#, "a\u{fffd}z");
    check(r#""a\ude00z""#, "a\u{fffd}z");
    check(r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀");
    check(r#""\ud83d\n""#, "\u{fffd}\n");
    check(r#""\uD83D\uDE00""#, "😀");
}

#[test]
fn the_last_field_of_a_name_counts() {
    let mut tape = Tape::default();
    let value = tape.read(br#"{"a":1,"b":{"a":2},"\u0061":3}"#).expect("JSON");
    assert_eq!(value.get("a").and_then(|it| it.u64()), Some(3));
    assert_eq!(value.path(&["b", "a"]).and_then(|it| it.u64()), Some(2));
    assert!(value.get("c").is_none());
    assert!(value.path(&["a", "a"]).is_none());
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        prop::num::f64::NORMAL.prop_map(Into::into),
        any::<String>().prop_map(Into::into),
        "[ -~]{0,40}".prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|it| serde_json::Value::Object(it.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn values_are_read_as_everybody_reads_them(value in any_json(), pretty in any::<bool>()) {
        let line = if pretty { format!("{value:#}") } else { value.to_string() };
        let mut tape = Tape::default();
        prop_assert_eq!(rebuilt(tape.read(line.as_bytes()).expect("JSON")), value);
    }

    #[test]
    fn what_others_refuse_is_refused(
        value in any_json(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut line = value.to_string().into_bytes();
        let at = at.index(line.len());
        line[at] = byte;
        let mut tape = Tape::default();
        let ours = tape.read(&line);
        // Others also refuse halves of surrogates; we repair them.
        if let Ok(theirs) = serde_json::from_slice::<serde_json::Value>(&line) {
            prop_assert_eq!(rebuilt(ours.expect("JSON")), theirs);
        } else if let Ok(ours) = ours {
            prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(ours.raw()).is_ok());
        }
    }

    #[test]
    fn texts_are_written_as_others_read_them(text in any::<String>()) {
        let mut out = Vec::new();
        write_string(&text, &mut out);
        let read: String = serde_json::from_slice(&out).expect("a literal");
        prop_assert_eq!(&read, &text);
        let literal = String::from_utf8(out).expect("UTF-8");
        prop_assert_eq!(unescape(&literal), text);
    }
}
