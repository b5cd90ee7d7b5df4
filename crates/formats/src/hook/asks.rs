//! Whether an answer ends by asking the user.
//!
//! Only its end counts: a question in the middle that the answer goes on from, or one inside code,
//! asks nobody. What may stand behind the question is what people put there: closing quotes and
//! brackets, emphasis, an emoji, the options to choose from (in brackets, or below it), a block of
//! code that it is about, or a short sentence that says that the agent waits.

use std::borrow::Cow;

/// Marks that end a question, in any script.
const MARKS: [char; 12] = ['?', '？', '؟', '⸮', '՞', '\u{37e}', '፧', '⁇', '⁈', '⁉', '❓', '❔'];

/// Ends of polite questions that are written with a full stop.
const ENDS: [&str; 4] = ["ますか。", "ですか。", "でしょうか。", "吗。"];

/// How a sentence begins that only says that the agent waits for the answer to the one before it.
const WAITING: [&str; 16] = [
    "i'll wait",
    "i’ll wait",
    "i will wait",
    "i'm waiting",
    "i’m waiting",
    "i am waiting",
    "waiting for",
    "awaiting",
    "let me know",
    "please let me know",
    "just let me know",
    "tell me",
    "please tell me",
    "please confirm",
    "please advise",
    "your call",
];

/// Longest sentence of waiting, in bytes.
const MOST_WAITING: usize = 120;
/// Answers that may follow a question without brackets around them.
const PLAIN_CHOICES: [&str; 4] = ["y/n", "n/y", "yes/no", "no/yes"];
/// Longest choice in brackets, in characters, and most words of each thing to choose.
const MOST_CHOICE: usize = 60;
const MOST_CHOICE_WORDS: usize = 3;
/// How much of the end is looked at, in bytes.
const MOST_END: usize = 8 * 1024;

/// Whether the answer ends by asking the user.
pub fn asks_user(answer: &str) -> bool {
    let prose = without_code(answer);
    let lines: Vec<&str> = end(&prose).lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    let Some((last, before)) = lines.split_last() else { return false };
    let above = before.last().copied();
    if ends_in_question(last) || waits(last, above) {
        return true;
    }
    // The choice stands on a line of its own.
    if before_choice(last).is_some_and(str::is_empty) && above.is_some_and(ends_in_question) {
        return true;
    }
    // The options to choose from stand below the question.
    let question = lines.iter().rfind(|line| !is_option(line));
    is_option(last) && question.is_some_and(|line| ends_in_question(line))
}

/// The text without fenced blocks of code; one that was never closed goes to the end.
fn without_code(text: &str) -> Cow<'_, str> {
    if !text.contains("```") && !text.contains("~~~") {
        return Cow::Borrowed(text);
    }
    let mut prose = String::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    Cow::Owned(prose)
}

fn end(text: &str) -> &str {
    let mut from = text.len().saturating_sub(MOST_END);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// Whether a line ends in a question, whatever ornament or choice stands behind it.
fn ends_in_question(line: &str) -> bool {
    ends_in_mark(line) || before_choice(line).is_some_and(ends_in_mark)
}

fn ends_in_mark(line: &str) -> bool {
    let bare = line.trim_end_matches(is_ornament);
    // "Really?!" asks as well.
    let bare = bare.trim_end_matches(['!', '！']);
    bare.ends_with(MARKS) || ENDS.iter().any(|end| bare.ends_with(end))
}

/// What stands before a choice like `(y/n)`, `[Y/n]`, `**(yes or no)**` or `y/n` at the end of a line;
/// `None` if there is none.
fn before_choice(line: &str) -> Option<&str> {
    let is_behind = |c: char| !is_closing(c) && (is_ornament(c) || matches!(c, '`' | '.' | ':'));
    let bare = line.trim_end_matches(is_behind);
    let behind = &line[bare.len()..];
    let from = match opening(bare) {
        Some((from, inside)) if is_choice(inside) => from,
        Some(_) | None => {
            // `[y]es/[n]o` has its brackets in the middle.
            let space = bare.char_indices().rfind(|(_, c)| c.is_whitespace());
            let from = space.map_or(0, |(at, c)| at + c.len_utf8());
            let word: String = bare[from..].chars().filter(|c| !is_around(*c)).collect();
            let is_plain = PLAIN_CHOICES.contains(&word.to_lowercase().as_str());
            is_plain.then_some(from)?
        }
    };
    let mut before = &bare[..from];
    if behind.starts_with('`') {
        before = before.strip_suffix('`').unwrap_or(before);
    }
    // With a backtick still open, all of it is code.
    let is_code = before.matches('`').count() % 2 == 1;
    (!is_code).then(|| before.trim_end_matches(is_ornament))
}

/// The brackets that a text ends in: where they open, and what is inside.
fn opening(text: &str) -> Option<(usize, &str)> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().rev() {
        if is_closing(c) {
            depth += 1;
        } else if matches!(c, '(' | '[' | '（') {
            depth = depth.checked_sub(1)?;
        }
        if depth == 0 {
            let inside = text.get(at + c.len_utf8()..)?.trim_end_matches(is_closing);
            return matches!(c, '(' | '[' | '（').then_some((at, inside));
        }
    }
    None
}

/// Whether this is a few short things to choose from: `y/n`, `keep it or drop it`.
fn is_choice(text: &str) -> bool {
    if text.chars().nth(MOST_CHOICE).is_some() {
        return false;
    }
    let bare: String = text.chars().filter(|c| !is_around(*c)).collect();
    let bare = bare.replace(", or ", "/").replace(" or ", "/");
    let is_short = |option: &str| {
        let is_word = |c: char| c.is_alphanumeric() || c == '-' || is_emoji(c);
        let mut words = option.split_whitespace();
        words.clone().next().is_some()
            && words.clone().count() <= MOST_CHOICE_WORDS
            && words.all(|word| word.chars().all(is_word))
    };
    let mut options = bare.split(['/', '／', '|', ',']);
    bare.contains(['/', '／', '|']) && options.all(is_short)
}

fn is_closing(c: char) -> bool {
    matches!(c, ')' | ']' | '）')
}

/// What stands around a choice, or around each thing to choose.
fn is_around(c: char) -> bool {
    is_closing(c)
        || matches!(c, '(' | '[' | '（' | '"' | '\'' | '“' | '”' | '’' | '‘' | '*' | '_' | '`')
}

/// What may stand behind a question mark without taking the question back. A backtick may not: what
/// it closes is code.
fn is_ornament(c: char) -> bool {
    if MARKS.contains(&c) || matches!(c, '`' | '!' | '！' | '。') {
        return false;
    }
    c.is_whitespace()
        || matches!(c, '"' | '\'' | '”' | '’' | '»' | '«' | '›' | '“' | '」' | '』')
        || matches!(c, '*' | '_' | '~' | '|' | '<' | '>')
        || is_closing(c)
        || is_emoji(c)
}

/// Emoji and what joins and colours them; no letter of any script is among these.
fn is_emoji(c: char) -> bool {
    matches!(u32::from(c), 0x200d | 0x2190..=0x2bff | 0xfe00..=0xfe0f | 0x1f000..=0x1faff)
}

/// "Shall I go on? I'll wait.": the last sentence only says that the agent waits for the answer.
fn waits(last: &str, before: Option<&str>) -> bool {
    let bare =
        last.trim_end_matches(|c: char| is_ornament(c) || matches!(c, '.' | '!' | '。' | '…'));
    let cut =
        bare.char_indices().rfind(|(_, c)| MARKS.contains(c) || matches!(c, '.' | '!' | '。'));
    let (question, sentence) = match cut {
        Some((at, c)) => bare.split_at(at + c.len_utf8()),
        None => match before {
            Some(before) => (before, bare),
            None => return false,
        },
    };
    let sentence = sentence.trim_start_matches(|c: char| is_ornament(c) || c.is_whitespace());
    let lower = sentence.to_lowercase();
    lower.len() <= MOST_WAITING
        && WAITING.iter().any(|words| lower.starts_with(words))
        && ends_in_question(question)
}

/// A line of a list: `- a`, `* a`, `1. a`, `2) a`, `a) b`, `(b) c`.
fn is_option(line: &str) -> bool {
    let rest = line.strip_prefix('(').unwrap_or(line);
    if rest.starts_with(['-', '*', '•', '–', '+']) {
        return rest.chars().nth(1).is_some_and(char::is_whitespace);
    }
    let label = rest.find(['.', ')', ':']).map(|at| &rest[..at]);
    label.is_some_and(|label| {
        !label.is_empty() && label.len() <= 2 && label.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &str, asks: bool) {
        assert_eq!(asks_user(answer), asks, "{answer:?}");
    }

    #[test]
    fn an_answer_that_ends_in_a_question_asks() {
        for answer in [
            "Shall I go on?",
            "I found two ways.\n\nWhich one do you want?  \n",
            "どちらにしますか？",
            "続けてよろしいでしょうか。",
            "要继续吗？",
            "要继续吗。",
            "هل أتابع؟",
            "Να συνεχίσω\u{37e}",
            "**Shall I delete the table?**",
            "_Really delete it?_ 🤔",
            "Is that right? 🙂\u{fe0f}",
            "You said \"is it safe?\"",
            "Was that what you meant (the second one?)",
            "Delete everything?!",
            "Which database❓",
            "Run `git push`?",
        ] {
            check(answer, true);
        }
    }

    #[test]
    fn a_short_choice_may_follow_the_question() {
        for answer in [
            "Should I go on? (y/n)",
            "Should I go on?(y/n)",
            "Proceed? [y/N]",
            "Proceed? [Y/n]:",
            "Proceed? [Y/n] > ",
            "Should I continue? (yes/no)",
            "Should I continue? (yes/no).",
            "**Should I continue?** **(y/n)**",
            "Should I continue? _(y/n)_ 🙂",
            "Should I continue? `(y/n)`",
            "Run `git push`? [y/n]",
            "Should I continue? ([y]es/[n]o)",
            "Should I continue? [Y]es/[N]o",
            "Should I continue? \"yes/no\"",
            "Should I continue? y/n",
            "Should I continue?\n\n(y/n)",
            "Should I continue? (y/n)\nI'll wait.",
            "Which one? (SQLite or PostgreSQL)",
            "What now? (keep it, drop it, or ask legal)",
            "Good? (👍/👎)",
            "続けますか？（はい／いいえ）",
            "続けてよろしいでしょうか。(はい/いいえ)",
            "Do you want me to proceed (y/n)?",
        ] {
            check(answer, true);
        }
        for answer in [
            "Why did it fail? (The port was taken.)",
            "Why did it fail? (src/main.rs)",
            "Why did it fail? (the port or the host was wrong, as the log says, and I fixed both of them)",
            "Is it safe? (yes/no) Yes.",
            "Is it safe? (yes/no) I went on with yes",
            "The flag takes a choice (y/n)",
            "The pattern is `a.*b? (x|y)`",
            "The pattern is `a.*b?` (x/y)",
            "Why? It was broken. (y/n)",
            "(y/n)",
            "Done.\n(y/n)",
            "Is it? (/)",
            "Is it? (a)(b",
            "Is it? )(",
        ] {
            check(answer, false);
        }
    }

    #[test]
    fn options_and_code_may_follow_the_question() {
        check("Which one?\n\n1. SQLite\n2. PostgreSQL\n", true);
        check("Which one?\n- keep it\n- drop it", true);
        check("Which one?\na) keep it\nb) drop it", true);
        check("Open questions:\n- Which port?\n- Which host?", true);
        check("Shall I apply this?\n```diff\n- a\n+ b\n```\n", true);
    }

    #[test]
    fn a_short_sentence_that_says_that_it_waits_may_follow_the_question() {
        check("Shall I go on? I'll wait.", true);
        check("Shall I go on? Let me know!", true);
        check("Which one do you want?\n\nPlease tell me before I continue.", true);
        check("Which one do you want?\nLet me know 🙂", true);
    }

    #[test]
    fn what_only_looks_like_a_question_asks_nobody() {
        for answer in [
            "",
            "   \n",
            "All done.",
            "Why did it fail? Because the port was taken. I fixed it.",
            "Why did it fail? Because the port was taken.\n- fixed the port\n- ran the tests",
            "```sh\ncurl 'http://x/?a=b?'\n```\nDone.",
            "Done:\n```\nis it?\n```",
            "Done, and this never closes:\n```\nis it?",
            "The pattern is `a.*b?`",
            "Let me know if you have questions.",
            "I am done. Let me know.",
            "Is this the end? Not yet: I will go on with the second part now and report later.",
            "- one\n- two",
            "?! no",
        ] {
            check(answer, false);
        }
    }

    #[test]
    fn hostile_and_huge_answers_are_answered() {
        for text in crate::text::naughty::NAUGHTY {
            asks_user(text);
            check(&format!("{}\nreally?", text.replace("```", "")), true);
        }
        check(&"?".repeat(1_000_000), true);
        check(&format!("go on?{}", "(".repeat(1_000_000)), false);
        check(&"(y/n)".repeat(1_000_000), false);
        check(&"```\n".repeat(1_000_001), false);
        check(&format!("{}?", "é".repeat(1_000_000)), true);
    }
}
