//! Whether an answer ends by asking the user.
//!
//! Only its end counts: a question in the middle that the answer goes on from, or one inside code,
//! asks nobody. What may stand behind the question is what people put there: closing quotes and
//! brackets, emphasis, an emoji, the options to choose from, a block of code that it is about, or a
//! short sentence that says that the agent waits.

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
/// How much of the end is looked at, in bytes.
const MOST_END: usize = 8 * 1024;

/// Whether the answer ends by asking the user.
pub fn asks_user(answer: &str) -> bool {
    let prose = without_code(answer);
    let lines: Vec<&str> = end(&prose).lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    let Some((last, before)) = lines.split_last() else { return false };
    if ends_in_question(last) || waits(last, before.last().copied()) {
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

/// Whether a line ends in a question, whatever ornament stands behind it.
fn ends_in_question(line: &str) -> bool {
    let bare = line.trim_end_matches(is_ornament);
    // "Really?!" asks as well.
    let bare = bare.trim_end_matches(['!', '！']);
    bare.ends_with(MARKS) || ENDS.iter().any(|end| bare.ends_with(end))
}

/// What may stand behind a question mark without taking the question back. A backtick may not: what
/// it closes is code.
fn is_ornament(c: char) -> bool {
    if MARKS.contains(&c) || matches!(c, '`' | '!' | '！' | '。') {
        return false;
    }
    c.is_whitespace()
        || matches!(c, '"' | '\'' | '”' | '’' | '»' | '«' | '›' | '“' | '」' | '』' | ')' | ']' | '）')
        || matches!(c, '*' | '_' | '~' | '|' | '<' | '>')
        // Emoji and what joins and colours them; no letter of any script is among these.
        || matches!(u32::from(c), 0x200d | 0x2190..=0x2bff | 0xfe00..=0xfe0f | 0x1f000..=0x1faff)
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
        check(&"```\n".repeat(1_000_001), false);
        check(&format!("{}?", "é".repeat(1_000_000)), true);
    }
}
