//! Tests of lines and of outputs that are too long.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use punchlist_model::Attempt;

use super::{Capture, Lines, Options, Stream, is_of, name, so_far};
use crate::call::{CallId, Output};

/// Splits pieces into lines of at most eight bytes.
fn lines(pieces: &[&[u8]]) -> Vec<String> {
    let (mut lines, mut said) = (Lines::new(Stream::Out, 8), Vec::new());
    let mut say = |line: super::Line| said.push(line.text);
    pieces.iter().for_each(|piece| lines.take(piece, &mut say));
    lines.finish(&mut say);
    said
}

#[test]
fn lines_end_where_they_end_however_they_come() {
    assert_eq!(lines(&[b"one\ntw", b"o\n\nthree"]), ["one", "two", "", "three"]);
    assert_eq!(lines(&[b"a\r\nb\r", b"\nc\n"]), ["a", "b", "c"]);
    assert_eq!(lines(&[b"10%\r20%\r", b"done\n"]), ["10%", "20%", "done"]);
    assert_eq!(lines(&[b"\r\r\n"]), ["", ""]);
}

#[test]
fn a_line_that_is_too_long_is_cut_between_characters() {
    assert_eq!(lines(&[b"12345678\n"]), ["12345678"]);
    assert_eq!(lines(&[b"12345678", b"9\nnext\n"]), ["12345678…", "next"]);
    assert_eq!(lines(&["ääää€\n".as_bytes()]), ["ääää…"]);
    assert_eq!(lines(&["aääää\n".as_bytes()]), ["aäää…"]);
}

#[test]
fn bytes_that_are_no_text_are_shown_as_such() {
    assert_eq!(lines(&[b"a\xFFb\n\xC3"]), ["a\u{FFFD}b", "\u{FFFD}"]);
    assert_eq!(lines(&[b"\xBF\xBF\xBF\xBF\xBF\xBF\xBF\xBF\xBF\n"]).len(), 1);
}

/// Captures these pieces with these options.
fn keep(options: &Options, pieces: &[&[u8]]) -> Output {
    let mut capture = Capture::new(options, "whole.txt");
    pieces.iter().for_each(|piece| capture.take(piece));
    capture.finish()
}

fn small() -> (Options, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let directory = Some(dir.path().join("output/run"));
    (Options { most: 20, directory, ..Options::default() }, dir)
}

#[test]
fn an_output_within_the_limit_is_kept_as_it_is_and_no_file_is_left() {
    let (options, dir) = small();
    let kept = keep(&options, &[b"0123456789", b"012345678\n"]);
    assert_eq!(kept, Output::text("0123456789012345678\n"));
    assert!(!dir.path().join("output/run/whole.txt").exists());
}

#[test]
fn a_longer_one_keeps_both_ends_and_the_whole_is_in_a_file_of_its_owner() {
    let (options, dir) = small();
    let kept = keep(&options, &[b"first\nsecond\n", b"third\nfourth\nfifth\n"]);
    let path = dir.path().join("output/run/whole.txt");
    assert_eq!(kept.whole.as_deref(), path.to_str());
    let expected =
        format!("first\n[… 20 bytes left out; the whole is in {} …]\nfifth\n", path.display());
    assert_eq!(kept.text, expected);
    assert_eq!(fs::read_to_string(&path).unwrap(), "first\nsecond\nthird\nfourth\nfifth\n");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    // A shorter output overwrites the file.
    keep(&options, &[b"0123456789012345678901234"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "0123456789012345678901234");
}

#[test]
fn where_the_whole_cannot_be_kept_the_output_says_so() {
    let (mut options, dir) = small();
    let long: &[u8] = b"first\nsecond\nthird\nfourth\nfifth\n";
    // A symbolic link is not followed.
    let path = dir.path().join("output/run/whole.txt");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), &path).unwrap();
    let kept = keep(&options, &[long]);
    assert_eq!(kept.whole, None);
    assert!(kept.text.contains("the whole is not kept: "), "{}", kept.text);
    assert!(!dir.path().join("elsewhere").exists());
    fs::remove_file(&path).unwrap();
    options.most_whole = 10;
    let kept = keep(&options, &[long]);
    assert!(kept.text.contains("the file has only the first 10 bytes"), "{}", kept.text);
    assert_eq!(fs::read(&path).unwrap(), &long[..10]);
    options.directory = None;
    let kept = keep(&options, &[long]);
    assert_eq!(kept.text, "first\n[… 20 bytes left out; the whole is not kept …]\nfifth\n");
}

proptest! {
    #[test]
    fn whatever_comes_is_bounded_and_the_whole_is_whole(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..12),
    ) {
        let (options, dir) = small();
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let kept = keep(&options, &pieces);
        let all = pieces.concat();
        if all.len() <= options.most {
            let text = String::from_utf8_lossy(&all).replace('\0', "\u{FFFD}");
            prop_assert_eq!(kept, Output::text(text));
        } else {
            let path = dir.path().join("output/run/whole.txt");
            prop_assert_eq!(fs::read(&path).unwrap(), all);
            prop_assert_eq!(kept.whole.as_deref(), path.to_str());
            let note = path.to_str().unwrap().len() + 100;
            prop_assert!(kept.text.len() <= options.most * 3 + note, "{}", kept.text);
        }
        let most = options.most;
        let mut lines = Lines::new(Stream::Out, most);
        pieces.iter().for_each(|piece| lines.take(piece, &mut |it| assert!(it.text.len() <= most * 3 + 3)));
    }
}

#[test]
fn an_output_is_in_its_file_from_the_first_byte_on() {
    let (options, dir) = small();
    let mut capture = Capture::new(&options, "whole.txt");
    capture.take(b"first");
    let file = dir.path().join("output/run/whole.txt");
    assert_eq!(fs::read(&file).unwrap(), b"first");
    capture.take(b", second");
    assert_eq!(fs::read(&file).unwrap(), b"first, second");
}

#[test]
fn what_a_killed_call_had_said_is_read_from_its_files() {
    let (options, _dir) = small();
    let (call, attempt) = (CallId(3), Attempt(2));
    assert_eq!(so_far(&options, call, attempt), None);
    // Dropped without `finish`, like the captures of a call that is dropped.
    Capture::new(&options, &name(call, attempt, 1)).take(b"command");
    let file = options.directory.as_ref().unwrap().join("3-2.txt");
    let first = file.display().to_string();
    let kept = Output { whole: Some(first.clone()), ..Output::text("command") };
    assert_eq!(so_far(&options, call, attempt), Some(kept));
    Capture::new(&options, &name(call, attempt, 2)).take(b"check\0\n");
    let kept = Output { whole: Some(first), ..Output::text("command\ncheck\u{FFFD}\n") };
    assert_eq!(so_far(&options, call, attempt), Some(kept));
    assert_eq!(so_far(&options, call, Attempt(1)), None, "another attempt");
    Capture::new(&options, &name(CallId(4), Attempt(1), 1)).take(&b"0123456789\n".repeat(9));
    let cut = so_far(&options, CallId(4), Attempt(1)).unwrap().text;
    assert!(cut.starts_with("0123456789\n[… 79 bytes left out; the whole is in /"), "{cut}");
    assert!(cut.ends_with("/4.txt …]\n123456789\n"), "{cut}");
}

#[test]
fn a_file_is_known_by_the_number_of_its_call() {
    for name in ["3.txt", "3-2.txt", "3.2.txt", "3-2.4.txt"] {
        assert!(is_of(name, 3), "{name}");
        assert!(!is_of(name, 2) && !is_of(name, 33), "{name}");
    }
    assert!(!is_of("3", 3) && !is_of("x.txt", 3) && !is_of("", 0));
}
