//! Whether an agent's answer ends with a question to the user.
//!
//! Only the end of the answer counts. A question in the middle, or inside code, does not count.
//! These count: a question mark, a request that only the user can answer ("please confirm …", "let
//! me know which …"), and a question that ends with a colon above its options. After the question
//! may follow: closing quotes and brackets, emphasis, an emoji, the options to choose from (in
//! brackets or below), a block of code, or a short sentence that says that the agent waits or what
//! else it could do. An offer of further help ("Anything else?") is not a question.

use std::borrow::Cow;

/// Question marks of all scripts.
const MARKS: [char; 12] = ['?', '？', '؟', '⸮', '՞', '\u{37e}', '፧', '⁇', '⁈', '⁉', '❓', '❔'];

/// Ends of polite questions that are written with a full stop.
const ENDS: [&str; 4] = ["ますか。", "ですか。", "でしょうか。", "吗。"];

/// Beginnings of sentences that may follow a question: they say that the agent waits for the
/// answer, or what else it could do. Here and below, apostrophes are straight and letters are lower
/// case.
const TRAILS: [&str; 19] = [
    "i'll wait",
    "i will wait",
    "i'm waiting",
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
    "i can also",
    "i could also",
    "or i can",
    "otherwise i",
    "alternatively",
];

/// Beginnings of sentences that ask the user without a question mark.
const REQUESTS: [&str; 10] = [
    "please confirm",
    "please choose",
    "please pick",
    "please select",
    "please decide",
    "please specify",
    "please clarify",
    "please advise",
    "please answer",
    "please provide",
];
/// Beginnings of sentences that ask if they continue with one of [`ASKED`].
const WANTS: [&str; 2] = ["let me know", "tell me"];
const ASKED: [&str; 15] = [
    "which",
    "whether",
    "if i should",
    "how you",
    "how i should",
    "how to",
    "what you",
    "what i should",
    "what to",
    "when you",
    "when i should",
    "where you",
    "where i should",
    "who you",
    "who should",
];
/// Beginnings of sentences that ask if they continue with one of [`WORDS`].
const NEEDS: [&str; 6] = [
    "i need your",
    "i'll wait for your",
    "i'm waiting for your",
    "i am waiting for your",
    "waiting for your",
    "awaiting your",
];
const WORDS: [&str; 10] = [
    "answer",
    "approval",
    "choice",
    "confirmation",
    "consent",
    "decision",
    "go-ahead",
    "input",
    "permission",
    "reply",
];

/// First words of a question above options, and words that it must contain: "What I did:" is no
/// question.
const QUESTIONS: [&str; 7] = ["which", "what", "how", "where", "when", "who", "whom"];
const INVERTED: [&str; 7] =
    ["do you", "would you", "should i", "should we", "shall i", "shall we", "can i"];

/// Beginnings of an offer of further help, what it offers, and how it may continue. "Anything else
/// that I should know?" is not an offer.
const OFFERS: [&str; 14] = [
    "",
    "is there",
    "was there",
    "do you need",
    "do you want",
    "need",
    "want",
    "would you like",
    "can i help with",
    "can i help you with",
    "may i help with",
    "may i help you with",
    "can i do",
    "should i do",
];
const MORE: [&str; 5] =
    ["anything else", "anything more", "something else", "any other questions", "any questions"];
const OFFERED: [&str; 10] = [
    "i can",
    "i could",
    "i may",
    "that i can",
    "you need",
    "you want",
    "you'd like",
    "you would like",
    "that you",
    "for you",
];
/// Offers of help in other words.
const OTHER_OFFERS: [&str; 6] = [
    "what else can i",
    "what else would you like",
    "how else can i",
    "what's next",
    "does that help",
    "does this help",
];

/// Longest sentence after a question, and longest request, in bytes.
const MOST_TRAILING: usize = 120;
const MOST_REQUEST: usize = 400;
/// Answers that may follow a question without brackets.
const PLAIN_CHOICES: [&str; 4] = ["y/n", "n/y", "yes/no", "no/yes"];
/// Longest choice in brackets, in characters, and most words per option.
const MOST_CHOICE: usize = 60;
const MOST_CHOICE_WORDS: usize = 3;
/// How much of the end of the answer is read, in bytes.
const MOST_END: usize = 8 * 1024;

/// Whether the answer ends with a question to the user.
pub fn asks_user(answer: &str) -> bool {
    let prose = without_code(answer);
    let lines: Vec<&str> = end(&prose).lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    lines.split_last().is_some_and(|(last, before)| asks(last, before))
}

/// Whether the last line asks, given the lines before it.
fn asks(last: &str, before: &[&str]) -> bool {
    if is_question(last) {
        return true;
    }
    // A sentence such as "I'll wait." after the question is skipped.
    let (head, sentence) = last_sentence(last);
    if trails(&plain(sentence)) {
        return match (head, before.split_last()) {
            ("", None) => false,
            ("", Some((above, before))) => asks(above, before),
            (head, _) => asks(head, before),
        };
    }
    // The choice is on a line of its own.
    if before_choice(last).is_some_and(str::is_empty) {
        return before.last().is_some_and(|line| is_question(line));
    }
    // The options are below the question.
    let question = before.iter().rfind(|line| !is_option(line));
    is_option(last) && question.is_some_and(|line| is_question(line) || is_question_above(line))
}

/// The text without fenced code blocks. A block that is never closed extends to the end.
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

/// Whether a line ends with a question or a request, ignoring ornaments and choices after it.
fn is_question(line: &str) -> bool {
    let question = if ends_in_mark(line) { Some(line) } else { before_choice(line) };
    let sentence = plain(last_sentence(question.unwrap_or(line)).1);
    if question.is_some_and(ends_in_mark) {
        return !offers_more(&sentence);
    }
    is_request(&sentence)
}

fn ends_in_mark(line: &str) -> bool {
    let bare = line.trim_end_matches(is_ornament);
    // "Really?!" is a question too.
    let bare = bare.trim_end_matches(['!', '！']);
    bare.ends_with(MARKS) || ENDS.iter().any(|end| bare.ends_with(end)) || asks_in_greek(bare)
}

/// Greek keyboards write the question mark as a semicolon. After a Greek word it is always a
/// question mark.
fn asks_in_greek(bare: &str) -> bool {
    let before = bare.strip_suffix(';').map(|it| it.trim_end_matches(is_ornament));
    let last = before.and_then(|it| it.chars().next_back());
    last.is_some_and(|it| matches!(it, '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}'))
}

/// The text before a choice such as `(y/n)`, `[Y/n]`, `**(yes or no)**` or `y/n` at the end of a
/// line; `None` if there is no choice.
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
    // If a backtick is still open, the choice is inside code.
    let is_code = before.matches('`').count() % 2 == 1;
    (!is_code).then(|| before.trim_end_matches(is_ornament))
}

/// The brackets at the end of a text: where they open, and their content.
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

/// Whether a text is a few short options: `y/n`, `keep it or drop it`.
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

/// Characters around a choice, or around each option.
fn is_around(c: char) -> bool {
    is_closing(c)
        || matches!(c, '(' | '[' | '（' | '"' | '\'' | '“' | '”' | '’' | '‘' | '*' | '_' | '`')
}

/// Characters that may follow a question mark. A backtick may not: it closes code.
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

/// Emoji with their joiners and modifiers. The ranges contain no letter of any script.
fn is_emoji(c: char) -> bool {
    matches!(u32::from(c), 0x200d | 0x2190..=0x2bff | 0xfe00..=0xfe0f | 0x1f000..=0x1faff)
}

/// Splits a line before its last sentence. The sentence has no marks or ornaments at its end; the
/// part before keeps its own.
fn last_sentence(line: &str) -> (&str, &str) {
    let is_end = |c: char| MARKS.contains(&c) || matches!(c, '.' | '!' | '！' | '。' | '…');
    let bare = line.trim_end_matches(|c: char| is_ornament(c) || is_end(c) || c == ':');
    // A full stop inside a word or number ends no sentence. Marks of other scripts need no space
    // after them.
    let mut after = None;
    for (at, c) in bare.char_indices().rev() {
        if is_end(c) && (!c.is_ascii() || after.is_some_and(is_ornament)) {
            let (head, sentence) = bare.split_at(at + c.len_utf8());
            return (head, sentence.trim_start_matches(is_ornament));
        }
        after = Some(c);
    }
    ("", bare.trim_start_matches(is_ornament))
}

/// A sentence in the form of the lists above. A sentence that is too long for them is cut.
fn plain(sentence: &str) -> String {
    let sentence = sentence.get(..MOST_REQUEST + 1).unwrap_or(sentence);
    sentence.to_lowercase().replace('’', "'")
}

/// What follows one of these beginnings, if the beginning ends at a word boundary.
fn after<'a>(text: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    beginnings.iter().find_map(|beginning| {
        let rest = text.strip_prefix(beginning)?;
        let is_whole = beginning.is_empty() || !rest.starts_with(char::is_alphanumeric);
        is_whole.then(|| rest.trim_start())
    })
}

/// Whether a short sentence may follow a question: "Shall I go on? I'll wait." It says that the
/// agent waits or what else it could do, or offers help.
fn trails(sentence: &str) -> bool {
    let is_one = TRAILS.iter().any(|words| sentence.starts_with(words)) || offers_more(sentence);
    sentence.len() <= MOST_TRAILING && is_one
}

/// "Please confirm that I should go on", "let me know which one you want", "I need your decision".
fn is_request(sentence: &str) -> bool {
    if sentence.len() > MOST_REQUEST {
        return false;
    }
    let polite = after(sentence, &["please", "just", "so"]).unwrap_or(sentence);
    after(sentence, &REQUESTS).is_some()
        || after(polite, &WANTS).is_some_and(|rest| after(rest, &ASKED).is_some())
        || after(sentence, &NEEDS).is_some_and(|rest| after(rest, &WORDS).is_some())
}

/// "Is there anything else I can help you with": an offer of help, not a question.
fn offers_more(sentence: &str) -> bool {
    let offer = OFFERS.iter().find_map(|how| {
        let rest = after(sentence, &[how])?;
        after(rest, &MORE)
    });
    let is_offered = |rest: &str| rest.is_empty() || after(rest, &OFFERED).is_some();
    offer.is_some_and(is_offered) || after(sentence, &OTHER_OFFERS).is_some()
}

/// "Which do you prefer:" above the options.
fn is_question_above(line: &str) -> bool {
    if !line.trim_end_matches(is_ornament).ends_with([':', '：']) {
        return false;
    }
    let sentence = plain(last_sentence(line).1);
    let asked = after(&sentence, &QUESTIONS).is_some_and(|rest| {
        INVERTED.iter().any(|words| format!(" {rest} ").contains(&format!(" {words} ")))
    });
    asked || after(&sentence, &INVERTED).is_some()
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
            "Να συνεχίσω;",
            "Να συνεχίσω; 🙂",
            "Ποιό προτιμάς ;",
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
    fn a_request_that_only_the_user_can_answer_asks_without_a_question_mark() {
        for answer in [
            "Please confirm that I should delete the table.",
            "Please confirm that I should release 1.2.",
            "The table is large. **Please confirm before I delete it.**",
            "Please choose one of the two.",
            "Let me know how you'd like to proceed.",
            "Let me know how you’d like to proceed.",
            "Both work. Please let me know which one you prefer.",
            "Just let me know whether I should go on!",
            "Tell me which option you want: A or B.",
            "Tell me which option you want:\n- A\n- B",
            "Tell me what to do with the old data.",
            "I need your decision on the licence before I go on.",
            "Waiting for your approval to continue.",
            "Please confirm that I should delete the table. I'll wait.",
        ] {
            check(answer, true);
        }
        for answer in [
            "Please note that the table is gone.",
            "Please review the changes.",
            "Let me know.",
            "Let me know how it goes.",
            "Let me know if anything breaks.",
            "Tell me more.",
            "I need your tests to pass, so I went on with them.",
            "Please confirm that I should go on, you said. I went on.",
            "Please confirmation.",
        ] {
            check(answer, false);
        }
    }

    #[test]
    fn a_question_above_its_options_may_end_in_a_colon() {
        check("Which do you prefer:\n1. x\n2. y", true);
        check("I see two ways. How would you like to proceed:\n- x\n- y\n", true);
        check("**What should I do:**\n- x\n- y\n\nI'll wait.", true);
        check("Should I:\na) stop\nb) go on", true);
        check("What I did:\n- x\n- y", false);
        check("How it works:\n1. x\n2. y", false);
        check("Which files changed:\n- x", false);
        check("What you should know:\n- x", false);
        check("Done:\n- x", false);
        check("Which do you prefer:", false);
    }

    #[test]
    fn what_else_it_could_do_may_follow_the_question() {
        check("Should I proceed with B and C? I can also stop here.", true);
        check("Should I proceed? Otherwise I stop here. Let me know.", true);
        check("It failed. I can also stop here.", false);
    }

    #[test]
    fn an_offer_of_further_help_closes_the_answer_and_asks_for_nothing() {
        for answer in [
            "Done! Anything else?",
            "Done!\n\nAnything else? 🙂",
            "All finished. Is there anything else I can help you with?",
            "All finished. Is there anything else you’d like me to do?",
            "Do you need anything else?",
            "Would you like anything else?",
            "Can I help you with anything else?",
            "What else can I do for you?",
            "Does that help?",
            "Any questions?",
            "Let me know if you need anything else.",
            "Let me know what else you need.",
        ] {
            check(answer, false);
        }
        for answer in [
            "Anything else that I should know before I delete it?",
            "Should I delete anything else?",
            "SQLite, or something else?",
            "Shall I delete the table? Anything else?",
            "Shall I delete the table?\n\nLet me know if you need anything else.",
        ] {
            check(answer, true);
        }
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
            "All done;",
            "Η συνάρτηση είναι `α();`",
            "Έγινε· τέλος.",
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
        check(&"I'll wait.\n".repeat(100_000), false);
        check(&"Anything else? ".repeat(500), false);
        check(&format!("Please confirm {}", "é".repeat(1_000_000)), false);
    }
}
