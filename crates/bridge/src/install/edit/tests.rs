//! Edits as pairs of texts, before and after.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use Step::{Index, Key};

#[track_caller]
fn put(before: &str, key_path: &[Step<'_>], value: &Value, after: &str) {
    let mut doc = Document::parse(before.as_bytes()).unwrap();
    doc.put(key_path, value).unwrap();
    let bytes = doc.bytes();
    assert_eq!(String::from_utf8_lossy(&bytes), after);
    assert_eq!(taken_back(&bytes, doc.splices()).unwrap(), before.as_bytes(), "taken back");
    assert_eq!(Document::parse(&bytes).unwrap().get(key_path).as_ref(), Some(value));
}

#[track_caller]
fn remove(before: &str, key_path: &[Step<'_>], after: &str) {
    let mut doc = Document::parse(before.as_bytes()).unwrap();
    doc.remove(key_path);
    let bytes = doc.bytes();
    assert_eq!(String::from_utf8_lossy(&bytes), after);
    Document::parse(&bytes).unwrap();
    assert_eq!(taken_back(&bytes, doc.splices()).unwrap(), before.as_bytes(), "taken back");
}

#[test]
fn a_new_member_comes_last_and_looks_like_the_others() {
    let key_path = [Key("a"), Key("b")];
    let new = json!({"x": 1, "y": [true]});
    put("", &key_path, &json!(1), "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n");
    put("{}", &key_path, &json!(1), "{\n  \"a\": {\n    \"b\": 1\n  }\n}");
    put("{}\n", &[Key("a")], &json!([]), "{\n  \"a\": []\n}\n");
    put("{\"z\":1}", &key_path, &json!({"x": 1}), "{\"z\":1,\"a\":{\"b\":{\"x\":1}}}");
    put("{\"z\": 1}", &key_path, &json!({"x": 1}), "{\"z\": 1, \"a\": {\"b\": {\"x\": 1}}}");
    put("{\"a\":{}}", &key_path, &json!(1), "{\"a\":{\"b\":1}}");
    put(
        "{\n    \"a\": {\n        \"z\": 0\n    }\n}\n",
        &key_path,
        &new,
        "{\n    \"a\": {\n        \"z\": 0,\n        \"b\": {\n            \"x\": 1,\n            \
         \"y\": [\n                true\n            ]\n        }\n    }\n}\n",
    );
    put("{\n\t\"a\": {}\n}", &key_path, &json!(1), "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}");
    put(
        "{\r\n  \"a\": {}\r\n}\r\n",
        &key_path,
        &json!(1),
        "{\r\n  \"a\": {\r\n    \"b\": 1\r\n  }\r\n}\r\n",
    );
    put(
        "{\n  \"a\": {\"z\": 0}\n}",
        &key_path,
        &json!([1]),
        "{\n  \"a\": {\"z\": 0, \"b\": [1]}\n}",
    );
    put("\u{feff}{}", &[Key("a")], &json!(1), "\u{feff}{\n  \"a\": 1\n}");
}

#[test]
fn elements_are_added_to_arrays_in_their_own_style() {
    put("{\"a\": [1, 2]}", &[Key("a"), Index(2)], &json!(3), "{\"a\": [1, 2, 3]}");
    put("{\"a\":[1]}", &[Key("a"), Index(1)], &json!("x"), "{\"a\":[1,\"x\"]}");
    put(
        "{\n  \"a\": [\n    1\n  ]\n}",
        &[Key("a"), Index(1)],
        &json!(2),
        "{\n  \"a\": [\n    1,\n    2\n  ]\n}",
    );
    put(
        "{\n  \"a\": [\n    1,\n  ]\n}",
        &[Key("a"), Index(1)],
        &json!(2),
        "{\n  \"a\": [\n    1,\n    2,\n  ]\n}",
    );
    put("{\n  \"a\": []\n}", &[Key("a"), Index(0)], &json!(1), "{\n  \"a\": [\n    1\n  ]\n}");
    put("{}", &[Key("a"), Index(0)], &json!(1), "{\n  \"a\": [\n    1\n  ]\n}");
}

#[test]
fn comments_stay_with_what_they_are_about() {
    put(
        "{\n  // about a\n  \"a\": 1 // more\n  // last\n}",
        &[Key("b")],
        &json!(2),
        "{\n  // about a\n  \"a\": 1, // more\n  \"b\": 2\n  // last\n}",
    );
    put("{ /* none */ }", &[Key("b")], &json!(2), "{ /* none */\n  \"b\": 2\n}");
    put(
        "{\n  // none, {\"b\": 1}\n}",
        &[Key("b")],
        &json!(2),
        "{\n  // none, {\"b\": 1}\n  \"b\": 2\n}",
    );
    put("// nothing", &[Key("b")], &json!(2), "// nothing\n{\n  \"b\": 2\n}\n");
    remove(
        "{\n  \"a\": 1, // one\n  \"b\": 2 // two\n}",
        &[Key("b")],
        "{\n  \"a\": 1 // one\n // two\n}",
    );
    remove("{\"a\": 1, // one\n \"b\": 2}", &[Key("b")], "{\"a\": 1 // one\n}");
    remove("{\n  // why\n  \"a\": 1\n}", &[Key("a")], "{\n  // why\n}");
    remove("{\n  \"a\": 1, // mine\n  \"b\": 2\n}", &[Key("a")], "{\n  // mine\n  \"b\": 2\n}");
}

#[test]
fn what_is_removed_takes_its_comma_and_its_line_along() {
    remove("{\"a\": 1}", &[Key("a")], "{}");
    remove("{\n  \"a\": 1\n}\n", &[Key("a")], "{}\n");
    remove("{\n  \"a\": 1,\n}\n", &[Key("a")], "{}\n");
    remove("{\"a\": 1, \"b\": 2}", &[Key("a")], "{\"b\": 2}");
    remove("{\"a\": 1, \"b\": 2}", &[Key("b")], "{\"a\": 1}");
    remove(
        "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}",
        &[Key("b")],
        "{\n  \"a\": 1,\n  \"c\": 3\n}",
    );
    remove("{\n  \"a\": 1,\n  \"b\": 2\n}", &[Key("b")], "{\n  \"a\": 1\n}");
    remove("{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}", &[Key("a")], "{\r\n  \"b\": 2\r\n}");
    remove("{\n  \"a\": 1,\n  \"b\": 2,\n}", &[Key("b")], "{\n  \"a\": 1,\n}");
    remove("{\"a\": [1, 2, 3]}", &[Key("a"), Index(1)], "{\"a\": [1, 3]}");
    remove("{\"a\": 1}", &[Key("z")], "{\"a\": 1}");
    remove("{\"a\": 1}", &[Key("a"), Key("z")], "{\"a\": 1}");
}

#[test]
fn a_value_is_replaced_where_it_stands() {
    put("{\"a\": 1, \"b\": 2}", &[Key("a")], &json!("x"), "{\"a\": \"x\", \"b\": 2}");
    put("{\n  \"a\": {\"b\": 1}\n}", &[Key("a")], &json!({"c": 2}), "{\n  \"a\": {\"c\": 2}\n}");
    put(
        "{\n  \"a\": {\n    \"b\": 1\n  }\n}",
        &[Key("a")],
        &json!({"c": 2}),
        "{\n  \"a\": {\n    \"c\": 2\n  }\n}",
    );
}

#[test]
fn of_doubled_keys_the_last_counts() {
    put("{\"a\": 1, \"a\": 2}", &[Key("a")], &json!(3), "{\"a\": 1, \"a\": 3}");
    let doc = Document::parse(b"{\"a\": 1, \"a\": 2}").unwrap();
    assert_eq!(doc.value(), json!({"a": 2}));
}

#[test]
fn what_does_not_fit_is_said_with_how_far_one_got() {
    for (text, key_path, gone) in [
        ("[]", &[Key("a")][..], 0),
        ("3", &[Key("a")], 0),
        ("{\"a\": 1}", &[Key("a"), Key("b")], 1),
        ("{\"a\": {}}", &[Key("a"), Index(0)], 1),
        ("{\"a\": null}", &[Key("a"), Key("b")], 1),
        ("{\"a\": []}", &[Key("a"), Index(1)], 1),
    ] {
        let mut doc = Document::parse(text.as_bytes()).unwrap();
        assert_eq!(doc.put(key_path, &json!(1)), Err(Unfit(gone)), "{text}");
        assert_eq!(doc.bytes(), text.as_bytes(), "untouched");
    }
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    for (bytes, line, column) in [
        (&b"{"[..], 1, 1),
        (b"{\n  \"a\": 1\n  \"b\": 2\n}", 2, 9),
        (b"{'a': 1}", 1, 2),
        (b"{a: 1}", 1, 2),
        (b"{} {}", 1, 4),
        (b"{\n\"a\": \xff}", 2, 6),
    ] {
        let why = Document::parse(bytes).unwrap_err();
        assert_eq!((why.line, why.column), (line, column), "{why:?}");
        assert!(why.what.starts_with(|it: char| !it.is_uppercase() || it == 'U'), "{why:?}");
    }
    let deep = "[".repeat(100_000);
    assert!(Document::parse(deep.as_bytes()).is_err(), "no overflow either");
}

/// Any JSON in any layout, with comments and trailing commas.
pub(crate) fn laid_out() -> impl Strategy<Value = (Value, String)> {
    (object(), any::<[u8; 32]>(), any::<bool>()).prop_map(|(value, mut dice, comments)| {
        dice[0] |= 1;
        let mut at = 0;
        let mut roll = move |sides: u8| {
            at = (at + 1) % dice.len();
            dice[at] = dice[at].wrapping_mul(37).wrapping_add(dice[0]);
            dice[at] % sides
        };
        let mut text = String::new();
        if roll(8) == 0 {
            text.push('\u{feff}');
        }
        blank(&mut text, &mut roll, comments);
        lay_out(&mut text, &value, &mut roll, comments);
        blank(&mut text, &mut roll, comments);
        (value, text)
    })
}

pub(crate) fn object() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        "[a-z]{0,4}",
        Just("hooks".to_owned()),
        Just("Stop".to_owned()),
        Just("allow".to_owned()),
        Just("// {".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("/* , */")),
    ];
    let inner = leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..4)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    });
    prop::collection::vec(("[a-zA-Z]{1,6}", inner), 0..5)
        .prop_map(|it| Value::Object(it.into_iter().collect()))
}

fn blank(text: &mut String, roll: &mut impl FnMut(u8) -> u8, comments: bool) {
    match roll(if comments { 9 } else { 6 }) {
        0 => text.push('\n'),
        1 => text.push_str("\r\n"),
        2 => text.push('\t'),
        3 => text.push_str("  "),
        6 => text.push_str("/* , } */"),
        7 => text.push_str("// ] \"\n"),
        _ => {}
    }
}

fn lay_out(text: &mut String, value: &Value, roll: &mut impl FnMut(u8) -> u8, comments: bool) {
    let (open, close, members): (_, _, Vec<(Option<&String>, &Value)>) = match value {
        Value::Array(it) => ('[', ']', it.iter().map(|it| (None, it)).collect()),
        Value::Object(it) => ('{', '}', it.iter().map(|(key, it)| (Some(key), it)).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return text.push_str(&value.to_string());
        }
    };
    text.push(open);
    let count = members.len();
    for (n, (key, inner)) in members.into_iter().enumerate() {
        blank(text, roll, comments);
        if let Some(key) = key {
            text.push_str(&Value::from(key.as_str()).to_string());
            blank(text, roll, comments);
            text.push(':');
            blank(text, roll, comments);
        }
        lay_out(text, inner, roll, comments);
        blank(text, roll, comments);
        if n + 1 < count || comments && roll(2) == 0 {
            text.push(',');
        }
    }
    blank(text, roll, comments);
    text.push(close);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_layout_is_edited_to_what_was_meant_and_back((value, text) in laid_out(), new in object()) {
        let mut doc = Document::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(&doc.value(), &value);
        doc.put(&[Key("made by us"), Key("inner")], &new).unwrap();
        let mut expected = value.clone();
        expected["made by us"]["inner"] = new;
        let put = Document::parse(&doc.bytes()).map(|it| it.value());
        prop_assert_eq!(put, Ok(expected));
        prop_assert_eq!(taken_back(&doc.bytes(), doc.splices()), Some(text.into_bytes()));
        doc.remove(&[Key("made by us")]);
        prop_assert_eq!(Document::parse(&doc.bytes()).map(|it| it.value()), Ok(value));
    }

    #[test]
    fn any_member_can_be_taken_out_of_any_layout((value, text) in laid_out(), at in 0_usize..5) {
        let Some(key) = value.as_object().and_then(|it| it.keys().nth(at)) else { return Ok(()) };
        let mut doc = Document::parse(text.as_bytes()).unwrap();
        doc.remove(&[Key(key)]);
        let mut expected = value.clone();
        expected.as_object_mut().unwrap().shift_remove(key);
        prop_assert_eq!(Document::parse(&doc.bytes()).map(|it| it.value()), Ok(expected));
        prop_assert_eq!(taken_back(&doc.bytes(), doc.splices()), Some(text.into_bytes()));
    }

    #[test]
    fn no_bytes_bring_the_parser_down(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(mut doc) = Document::parse(&bytes) {
            doc.put(&[Key("a"), Index(0)], &json!(1)).ok();
            doc.remove(&[Key("a")]);
        }
    }
}
