//! The question that a person is asked, and what their keys mean. Pure.

use punchlist_formats::view::questions;
use punchlist_model::QuestionId;
use punchlist_model::call::{Answer, Asked, Offer};
use serde_json::Value;

use super::step::BY_HAND;

const ENTER_RUNS: &str = "(Enter runs it, Esc goes back)";
const ENTER_REFUSES: &str = "(Enter refuses, Esc goes back)";

/// Questions that wait, the oldest first, and what was typed so far.
#[derive(Default)]
pub(super) struct Prompt {
    waiting: Vec<Asked>,
    /// The one that stands on the screen.
    drawn: Option<QuestionId>,
    typing: Option<Typing>,
}

/// Something is typed.
struct Typing {
    what: What,
    text: String,
}

/// What is typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// Another command.
    Command,
    /// Why it is refused.
    Reason,
}

/// What a key came to.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Pressed {
    /// An answer to a question.
    Answer(QuestionId, Answer),
    /// Something else, or nothing.
    Nothing,
}

impl Prompt {
    /// Another question.
    pub(super) fn ask(&mut self, asked: Asked) {
        self.waiting.push(asked);
    }

    /// A question that waits no longer. Says what it was.
    pub(super) fn settle(&mut self, id: QuestionId) -> Option<Asked> {
        let at = self.waiting.iter().position(|it| it.id == id)?;
        if at == 0 {
            self.typing = None;
        }
        Some(self.waiting.remove(at))
    }

    /// Whether nothing is asked.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The ids of all that wait.
    pub(super) fn ids(&self) -> Vec<QuestionId> {
        self.waiting.iter().map(|it| it.id).collect()
    }

    /// The question that is asked now, how many wait, and the line that is typed.
    pub(super) fn shown(&self) -> Option<(&Asked, usize, Option<Vec<String>>)> {
        let asked = self.waiting.first()?;
        let typed = self.typing.as_ref().map(|it| match it.what {
            What::Command => vec![format!("run instead: {}_", it.text), ENTER_RUNS.to_owned()],
            What::Reason => vec![format!("why not: {}_", it.text), ENTER_REFUSES.to_owned()],
        });
        Some((asked, self.waiting.len(), typed))
    }

    /// What is asked now stands on the screen, so keys may answer it.
    pub(super) fn was_drawn(&mut self) {
        self.drawn = self.waiting.first().map(|it| it.id);
    }

    /// The keys that mean something now.
    pub(super) fn keys(asked: &Asked) -> Vec<String> {
        if asked.tool == BY_HAND {
            return vec!["y it is done".to_owned(), "n not yet".to_owned()];
        }
        questions::keys(asked)
    }

    /// A key was pressed.
    pub(super) fn key(&mut self, key: &[u8]) -> Pressed {
        let Some(asked) = self.waiting.first() else { return Pressed::Nothing };
        // Nobody answers what they have not seen: the key was meant for the question before.
        if self.drawn != Some(asked.id) {
            return Pressed::Nothing;
        }
        if self.typing.is_some() {
            return self.typed(key);
        }
        let is_by_hand = asked.tool == BY_HAND;
        let answer = match key {
            b"y" | b"Y" => Some(Answer::Once),
            b"a" | b"A" => questions::always(asked).map(|it| it.0),
            b"n" | b"N" => Some(Answer::Refuse(is_by_hand.then(|| "not done yet".to_owned()))),
            b"r" | b"R" if !is_by_hand => {
                self.typing = Some(Typing { what: What::Reason, text: String::new() });
                None
            }
            b"e" | b"E" if asked.offers.contains(&Offer::Modify) => {
                let text = asked.command.clone().unwrap_or_default();
                self.typing = Some(Typing { what: What::Command, text });
                None
            }
            _ => None,
        };
        answer.map_or(Pressed::Nothing, |answer| Pressed::Answer(asked.id, answer))
    }

    /// A key while something is typed.
    fn typed(&mut self, key: &[u8]) -> Pressed {
        let (Some(asked), Some(typing)) = (self.waiting.first(), &mut self.typing) else {
            return Pressed::Nothing;
        };
        match key {
            b"\x1b" => self.typing = None,
            b"\r" | b"\n" => {
                let (id, what, text) = (asked.id, typing.what, typing.text.trim().to_owned());
                let answer = match what {
                    What::Reason => Answer::Refuse((!text.is_empty()).then_some(text)),
                    What::Command if text.is_empty() => return Pressed::Nothing,
                    What::Command => {
                        let mut arguments = asked.arguments.clone();
                        if let Some(fields) = arguments.as_object_mut() {
                            fields.insert("command".to_owned(), Value::from(text));
                        }
                        Answer::Modify(arguments)
                    }
                };
                self.typing = None;
                return Pressed::Answer(id, answer);
            }
            b"\x7f" | b"\x08" => drop(typing.text.pop()),
            // Ctrl-U begins anew.
            b"\x15" => typing.text.clear(),
            key => {
                let text = String::from_utf8_lossy(key);
                typing.text.extend(text.chars().filter(|it| !it.is_control()));
            }
        }
        Pressed::Nothing
    }
}

#[cfg(test)]
mod tests {
    use punchlist_model::{IdSource, Number, Timestamp};
    use serde_json::json;

    use super::*;

    fn asked(n: u32, tool: &str) -> Asked {
        let at = Timestamp::UNIX_EPOCH;
        let words = vec!["./publish.sh".to_owned()];
        Asked {
            id: QuestionId(IdSource::fixed(at, 1).nth(n)),
            call: n,
            item: Some(Number(n)),
            title: format!("Item {n}"),
            place: vec![format!("item {n} of Plan")],
            context: String::new(),
            tool: tool.to_owned(),
            server: None,
            what: "run".to_owned(),
            command: Some("./publish.sh --prod".to_owned()),
            diff: None,
            touches: Vec::new(),
            why: "no rule allows it".to_owned(),
            arguments: json!({"item": n, "command": "./publish.sh --prod"}),
            offers: vec![Offer::Once, Offer::AlwaysPrefix(words), Offer::Modify],
            at,
        }
    }

    fn press(prompt: &mut Prompt, keys: &str) -> Pressed {
        let mut last = Pressed::Nothing;
        for key in keys.chars() {
            last = prompt.key(key.to_string().as_bytes());
        }
        last
    }

    #[test]
    fn keys_answer_the_oldest_question() {
        let mut prompt = Prompt::default();
        assert_eq!(press(&mut prompt, "y"), Pressed::Nothing, "nobody asked");
        let (first, second) = (asked(1, "shell"), asked(2, "shell"));
        prompt.ask(first.clone());
        prompt.ask(second.clone());
        assert_eq!(press(&mut prompt, "y"), Pressed::Nothing, "nobody has seen it");
        prompt.was_drawn();
        assert_eq!(press(&mut prompt, "y"), Pressed::Answer(first.id, Answer::Once));
        let words = vec!["./publish.sh".to_owned()];
        assert_eq!(press(&mut prompt, "a"), Pressed::Answer(first.id, Answer::AlwaysPrefix(words)));
        assert_eq!(prompt.settle(first.id), Some(first));
        assert_eq!(press(&mut prompt, "y"), Pressed::Nothing, "a key too many allows nothing");
        prompt.was_drawn();
        assert_eq!(press(&mut prompt, "n"), Pressed::Answer(second.id, Answer::Refuse(None)));
        assert_eq!(press(&mut prompt, "x?"), Pressed::Nothing);
    }

    #[test]
    fn a_reason_and_another_command_are_typed() {
        let mut prompt = Prompt::default();
        let one = asked(1, "shell");
        prompt.ask(one.clone());
        prompt.was_drawn();
        let refused = Answer::Refuse(Some("not on a Friday".to_owned()));
        assert_eq!(press(&mut prompt, "rnot on a Fridaz\x7fy\r"), Pressed::Answer(one.id, refused));
        assert_eq!(press(&mut prompt, "r\x1b"), Pressed::Nothing, "escape goes back");
        let modified = json!({"item": 1, "command": "./publish.sh --dry"});
        assert_eq!(
            press(&mut prompt, "e\x15./publish.sh --dry\n"),
            Pressed::Answer(one.id, Answer::Modify(modified))
        );
    }

    #[test]
    fn an_item_that_is_done_by_hand_is_done_or_not_yet() {
        let mut prompt = Prompt::default();
        let one = Asked { offers: vec![Offer::Once], ..asked(1, BY_HAND) };
        assert_eq!(Prompt::keys(&one), ["y it is done", "n not yet"]);
        prompt.ask(one.clone());
        prompt.was_drawn();
        assert_eq!(press(&mut prompt, "er"), Pressed::Nothing);
        assert_eq!(press(&mut prompt, "y"), Pressed::Answer(one.id, Answer::Once));
    }
}
