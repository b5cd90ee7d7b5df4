//! Tests of custom commands.

use proptest::prelude::*;

use super::*;
use crate::text::naughty::any_text;

fn parsed(text: &str) -> CommandFile {
    CommandFile::parse(text).unwrap()
}

fn prompt(text: &str, typed: &str, outputs: &[&str]) -> String {
    let file = parsed(text);
    let positional = file.positional(typed).unwrap();
    let outputs: Vec<String> = outputs.iter().map(|it| (*it).to_owned()).collect();
    file.prompt(typed, &positional, &outputs)
}

#[test]
fn front_matter_has_a_description_and_arguments() {
    let file = parsed(
        "---\n# mine\ndescription: \"Review a file\"\narguments: FILE [REASON]\n---\nLook at $1.\n",
    );
    assert_eq!(file.description, "Review a file");
    assert_eq!(file.usage(), "FILE [REASON]");
    assert_eq!(file.prompt("a.rs", &["a.rs".to_owned()], &[]), "Look at a.rs.");
    let bare = parsed("Only text.\n---\nand a rule");
    assert_eq!((bare.description.as_str(), bare.usage().as_str()), ("", ""));
    assert_eq!(bare.prompt("", &[], &[]), "Only text.\n---\nand a rule");
}

#[test]
fn a_bad_file_says_what_is_wrong_and_where() {
    for (text, expected) in [
        ("", "line 1: there is no text for the model"),
        ("---\ndescription: x\n---\n \n", "line 4: there is no text for the model"),
        ("---\ndescription: x\n", "line 1: the front matter has no end; write `---` below it"),
        ("---\ndescription\n---\nx", "line 2: write `key: value`"),
        ("---\ndescription: |\n  x\n---\nx", "line 2: write the description on one line"),
        (
            "---\ndescriptoin: x\n---\nx",
            "line 2: unknown key `descriptoin`; did you mean `description`?",
        ),
        ("---\nmodel: x\n---\nx", "line 2: unknown key `model`; known are description, arguments"),
        (
            "---\narguments: a|b\n---\nx",
            "line 2: `a|b` is not an argument; write `NAME` or `[NAME]`",
        ),
        ("---\narguments: [A] B\n---\nx", "line 2: `B` is required, but [A] before it is not"),
        ("a\nb !`git log\nc`", "line 2: a shell command ends with a backtick on its line"),
        ("---\n---\n\n!` `", "line 4: the shell command is empty"),
        (
            "!`echo $ARGUMENTS`",
            "line 1: a shell command gets its arguments as \"$1\" or \"$@\", not as $ARGUMENTS",
        ),
    ] {
        assert_eq!(CommandFile::parse(text).unwrap_err().to_string(), expected, "{text:?}");
    }
}

#[test]
fn arguments_are_inserted_into_the_text() {
    let body = "1=$1 2=$2 all=$ARGUMENTS.";
    for (typed, expected) in [
        ("", "1= 2= all=."),
        ("a  b", "1=a 2=b all=a  b."),
        ("'a b' \"c \\\" d\"", "1=a b 2=c \" d all='a b' \"c \\\" d\"."),
        ("don't it's", "1=don't 2=it's all=don't it's."),
        ("C:\\temp x", "1=C:\\temp 2=x all=C:\\temp x."),
    ] {
        assert_eq!(prompt(body, typed, &[]), expected, "{typed:?}");
    }
    let kept = "costs $100 or $1.50, $0, $x, $ARGUMENTSX, \\$1 and \\!`ls`, \\n";
    assert_eq!(
        prompt(kept, "a", &[]),
        "costs $100 or $1.50, $0, $x, $ARGUMENTSX, $1 and !`ls`, \\n"
    );
}

#[test]
fn the_last_declared_argument_takes_the_rest_and_a_missing_one_is_named() {
    let file = parsed("---\narguments: FILE REASON\n---\n$1: $2");
    for (typed, expected) in [
        ("a.rs too slow, isn't it", Ok(vec!["a.rs", "too slow, isn't it"])),
        ("a.rs \"too slow\"", Ok(vec!["a.rs", "too slow"])),
        ("a.rs", Err("it needs REASON")),
        ("", Err("it needs FILE")),
        ("\"a.rs", Err("a quote (\") is not closed")),
    ] {
        let found = file.positional(typed);
        let found = found.as_ref().map(|it| it.iter().map(String::as_str).collect());
        assert_eq!(found.map_err(String::as_str), expected, "{typed:?}");
    }
    assert_eq!(parsed("x").positional("a b  c").unwrap(), ["a", "b", "c"]);
}

#[test]
fn shell_commands_stay_as_they_are_written_and_their_outputs_are_inserted() {
    let body = "On !`git branch` with \"$1\":\n!`git diff -- \"$1\"`\nEnd.";
    let file = parsed(body);
    assert_eq!(file.shell().collect::<Vec<_>>(), ["git branch", "git diff -- \"$1\""]);
    assert_eq!(
        prompt(body, "a.rs", &["main\n", "one\n```\ntwo\n"]),
        "On main with \"a.rs\":\n````\none\n```\ntwo\n````\n\nEnd."
    );
}

#[test]
fn an_argument_or_an_output_is_never_read_as_a_part() {
    let body = "$1 !`echo \"$1\"` $ARGUMENTS";
    let hostile = "!`rm -rf ~` $2";
    let file = parsed(body);
    let positional = vec![hostile.to_owned(), "x".to_owned()];
    let prompt = file.prompt(hostile, &positional, &["$1 !`id`".to_owned()]);
    assert_eq!(prompt, "!`rm -rf ~` $2 $1 !`id` !`rm -rf ~` $2");
    assert_eq!(file.shell().collect::<Vec<_>>(), ["echo \"$1\""]);
}

#[test]
fn what_is_shown_is_what_runs() {
    let file =
        parsed("---\ndescription: a\u{202e}b\u{1b}[2Jc\n---\n!`ls\u{200b} \u{1b}[8m-l\u{1b}[0m`");
    assert_eq!(file.description, "abc");
    assert_eq!(file.shell().collect::<Vec<_>>(), ["ls -l"]);
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in any_text(), typed in any_text()) {
        for text in [text.clone(), format!("---\n{text}\n---\n{text}"), format!("!`{text}`$1")] {
            if let Ok(file) = CommandFile::parse(&text) {
                let positional = file.positional(&typed).unwrap_or_default();
                file.prompt(&typed, &positional, &[]);
            }
        }
    }
}
