//! The question that a person is asked, and the meaning of keys. Pure.

mod typing;

use punchlist_engine::policy::rules;
use punchlist_engine::run::BY_HAND;
use punchlist_formats::text::{Line, Style, width};
use punchlist_formats::view::Options;
use punchlist_formats::view::questions::{self, Below};
use punchlist_model::QuestionId;
use punchlist_model::call::{Answer, Asked, Offer, Permit, Reach};
use serde_json::Value;

use crate::keys::Key;
use crate::line_editor::LineEditor;
use crate::text::diff::unified;

#[cfg(test)]
pub(crate) use typing::PAUSE_MS;
pub(crate) use typing::Typing;

/// The open questions, oldest first, and the stage of the first one.
pub(crate) struct Prompt {
    waiting: Vec<Asked>,
    /// The question that is on the screen.
    drawn: Option<QuestionId>,
    stage: Stage,
    /// The configuration file to which rules are added, and the project that they are for.
    file: String,
    project: String,
    /// Whether the front end can show a whole question.
    can_view: bool,
}

/// What a person is doing about a question.
enum Stage {
    /// The question is shown.
    Asked,
    /// The person chooses what "always" means: this set of rules is shown.
    Always(usize),
    /// The person types another command.
    Command(LineEditor),
    /// The person has typed this command, and is asked whether it is meant.
    Edited(String),
    /// The person types the reason of a refusal.
    Reason(LineEditor),
}

/// The meaning of a key.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Pressed {
    /// An answer to a question.
    Answer(QuestionId, Answer),
    /// The whole question is to be shown: see [`Prompt::whole`].
    View,
    /// No answer.
    Nothing,
}

impl Prompt {
    /// A prompt without a question. Rules go into this file, for this project.
    pub(crate) fn new(file: String, project: String) -> Self {
        let (waiting, stage) = (Vec::new(), Stage::Asked);
        Self { waiting, drawn: None, stage, file, project, can_view: false }
    }

    /// The same for a front end that shows a whole question when [`Pressed::View`] asks for it.
    pub(crate) fn with_view(self) -> Self {
        Self { can_view: true, ..self }
    }

    /// Adds a question.
    pub(crate) fn ask(&mut self, asked: Asked) {
        self.waiting.push(asked);
    }

    /// Whether a question is open.
    pub(crate) fn is_open(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether the question itself is shown, and not a step of its answer.
    pub(crate) fn is_at_first_step(&self) -> bool {
        matches!(self.stage, Stage::Asked)
    }

    /// Whether the current question shows a diff.
    pub(crate) fn has_diff(&self) -> bool {
        self.waiting.first().is_some_and(|it| it.diff.is_some())
    }

    /// The open questions, oldest first.
    pub(crate) fn ids(&self) -> Vec<QuestionId> {
        self.waiting.iter().map(|it| it.id).collect()
    }

    /// Removes a question that is no longer open, and returns it.
    pub(crate) fn settle(&mut self, id: QuestionId) -> Option<Asked> {
        let at = self.waiting.iter().position(|it| it.id == id)?;
        if at == 0 {
            self.stage = Stage::Asked;
        }
        Some(self.waiting.remove(at))
    }

    /// The current question, the number of open questions, and the lines below.
    pub(crate) fn shown(&self, options: &Options) -> Option<(&Asked, usize, Below)> {
        let asked = self.waiting.first()?;
        let mut below = match &self.stage {
            Stage::Asked => Below { short_keys: short_keys(asked), ..Below::keys(keys(asked)) },
            Stage::Always(at) => self.rules(asked, *at),
            Stage::Command(line) => typed("run instead: ", line, "Enter goes on", options),
            Stage::Edited(text) => edited(text),
            Stage::Reason(line) => typed("why not: ", line, "Enter refuses", options),
        };
        below.diff = diff(asked, options);
        below.view = self.can_view.then(|| VIEW.to_owned());
        Some((asked, self.waiting.len(), below))
    }

    /// The same while keys go elsewhere: keys that would not answer are not shown. Their rows stay free.
    pub(crate) fn shown_without_keys(&self, options: &Options) -> Option<(&Asked, usize, Below)> {
        let (asked, count, mut below) = self.shown(options)?;
        for key in below.keys.iter_mut().chain(&mut below.short_keys) {
            *key = "\u{a0}".repeat(width(key));
        }
        Some((asked, count, below))
    }

    /// The sentence of the current question, and all that is asked, however long it is.
    pub(crate) fn whole(&self, options: &Options) -> Option<(String, Vec<Line>)> {
        let asked = self.waiting.first()?;
        let lines = questions::unabridged(asked, &diff(asked, options), options);
        Some((questions::sentence(asked), lines))
    }

    /// The rules that "always" would add, as text, and where.
    fn rules(&self, asked: &Asked, at: usize) -> Below {
        let sets = questions::sets(asked);
        let set: &[Permit] = sets.get(at).copied().unwrap_or_default();
        let mut text = vec![format!("this would be added to {}:", self.file)];
        let rules = rules::written(set, Some(&self.project));
        text.extend(rules.iter().map(|it| format!("  {it}")));
        let mut keys = vec!["p add it for this project".to_owned()];
        if !set.iter().any(Permit::is_local) {
            keys.push("g add it without project, for all".to_owned());
        }
        if let Some(next) = sets.get((at + 1) % sets.len().max(1)).filter(|_| sets.len() > 1) {
            keys.push(format!("Tab rather {}", questions::allowed(next)));
        }
        keys.push("Esc goes back".to_owned());
        Below { text, ..Below::keys(keys) }
    }

    /// Records that the current question is on the screen, so that keys may answer it.
    pub(crate) fn was_drawn(&mut self) {
        self.drawn = self.waiting.first().map(|it| it.id);
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: &Key) -> Pressed {
        let Some(asked) = self.waiting.first() else { return Pressed::Nothing };
        // The question is not on the screen yet: the key was meant for the one before.
        if self.drawn != Some(asked.id) {
            return Pressed::Nothing;
        }
        let id = asked.id;
        if self.can_view && self.is_at_first_step() && *key == Key::Char('v') {
            return Pressed::View;
        }
        let answer = match std::mem::replace(&mut self.stage, Stage::Asked) {
            Stage::Asked => self.asked(key),
            Stage::Always(at) => self.always(at, key),
            Stage::Command(line) => {
                self.command(line, key);
                None
            }
            Stage::Edited(text) => self.edited(text, key),
            Stage::Reason(line) => self.reason(line, key),
        };
        answer.map_or(Pressed::Nothing, |answer| Pressed::Answer(id, answer))
    }

    fn asked(&mut self, key: &Key) -> Option<Answer> {
        // A paste is not an answer.
        let Key::Char(letter) = key else { return None };
        let asked = self.waiting.first()?;
        let is_by_hand = asked.tool == BY_HAND;
        match letter.to_ascii_lowercase() {
            'y' => Some(Answer::Once),
            's' => questions::sets(asked).first().map(|it| Answer::Session(it.to_vec())),
            'a' => match questions::sets(asked).is_empty() {
                false => {
                    self.stage = Stage::Always(0);
                    None
                }
                // The form that earlier versions stored.
                true => questions::always(asked).map(|it| it.0),
            },
            'e' if asked.offers.contains(&Offer::Modify) => {
                let text = asked.command.clone().unwrap_or_default();
                self.stage = Stage::Command(LineEditor::new(&text));
                None
            }
            'n' => Some(Answer::Refuse(is_by_hand.then(|| "not done yet".to_owned()))),
            'r' if !is_by_hand => {
                self.stage = Stage::Reason(LineEditor::default());
                None
            }
            'q' => Some(Answer::RefuseAndStop(is_by_hand.then(|| "not done yet".to_owned()))),
            _ => None,
        }
    }

    fn always(&mut self, at: usize, key: &Key) -> Option<Answer> {
        let sets = questions::sets(self.waiting.first()?);
        let rules = sets.get(at)?.to_vec();
        if *key == Key::Escape {
            return None;
        }
        let next = if *key == Key::Tab { (at + 1) % sets.len().max(1) } else { at };
        if let Key::Char(letter) = key {
            match letter.to_ascii_lowercase() {
                'p' => return Some(Answer::Always { rules, reach: Reach::Project }),
                'g' if !rules.iter().any(Permit::is_local) => {
                    return Some(Answer::Always { rules, reach: Reach::Everywhere });
                }
                _ => {}
            }
        }
        self.stage = Stage::Always(next);
        None
    }

    fn command(&mut self, mut line: LineEditor, key: &Key) {
        let text = line.text().trim().to_owned();
        if *key == Key::Escape {
            return;
        }
        if *key == Key::Enter && !text.is_empty() {
            // Somebody who wrote a message by mistake sees first what would run.
            self.drawn = None;
            self.stage = Stage::Edited(text);
            return;
        }
        line.key(key);
        self.stage = Stage::Command(line);
    }

    fn edited(&mut self, text: String, key: &Key) -> Option<Answer> {
        if *key == Key::Char('y') {
            let mut arguments = self.waiting.first()?.arguments.clone();
            if let Some(fields) = arguments.as_object_mut() {
                fields.insert("command".to_owned(), Value::from(text));
            }
            return Some(Answer::Modify(arguments));
        }
        if *key == Key::Char('e') {
            self.stage = Stage::Command(LineEditor::new(&text));
        } else if *key != Key::Escape {
            self.stage = Stage::Edited(text);
        }
        None
    }

    fn reason(&mut self, mut line: LineEditor, key: &Key) -> Option<Answer> {
        let text = line.text().trim().to_owned();
        if *key == Key::Escape {
            return None;
        }
        if *key == Key::Enter {
            return Some(Answer::Refuse((!text.is_empty()).then_some(text)));
        }
        line.key(key);
        self.stage = Stage::Reason(line);
        None
    }
}

/// The keys that have a meaning now.
fn keys(asked: &Asked) -> Vec<String> {
    if asked.tool == BY_HAND {
        return ["y it is done", "n not yet", "q stop"].map(str::to_owned).to_vec();
    }
    questions::keys(asked)
}

/// The same in fewer words.
fn short_keys(asked: &Asked) -> Vec<String> {
    if asked.tool == BY_HAND { Vec::new() } else { questions::short_keys(asked) }
}

/// The key that shows a whole question.
const VIEW: &str = "v view all";

/// The command that would run, and the keys.
fn edited(text: &str) -> Below {
    let lines = text.lines().map(|it| format!("  {it}"));
    let text = ["this would run instead:".to_owned()].into_iter().chain(lines).collect();
    let keys = ["y run it", "e edit again", "Esc goes back"].map(str::to_owned).to_vec();
    Below { text, ..Below::keys(keys) }
}

/// A line that is being typed, as far as it fits, and the keys that end it.
fn typed(label: &str, line: &LineEditor, enter: &str, options: &Options) -> Below {
    let mut drawn = Line::new();
    drawn.fill(3).push(label, Style::Bold);
    let room = usize::from(options.width).saturating_sub(1 + 3 + width(label));
    drawn.append(line.shown(room.max(8), options.glyphs));
    Below { drawn: vec![drawn], ..Below::keys(vec![enter.to_owned(), "Esc goes back".to_owned()]) }
}

/// The diff of a change, side by side where the screen is wide enough.
fn diff(asked: &Asked, options: &Options) -> Vec<Line> {
    const INDENT: u16 = 3;
    let Some(diff) = &asked.diff else { return Vec::new() };
    let columns = options.width.saturating_sub(1);
    let indent = if columns > 4 * INDENT { INDENT } else { 0 };
    let lines = unified(diff, columns - indent, options.glyphs).into_iter();
    lines.map(|it| it.indented(usize::from(indent))).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use punchlist_model::{IdSource, Number, Timestamp};
    use serde_json::json;

    use super::*;
    use crate::keys::Decoder;

    pub(crate) fn asked(n: u32, tool: &str) -> Asked {
        let at = Timestamp::UNIX_EPOCH;
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
            printed: Vec::new(),
            touches: Vec::new(),
            why: "no rule allows it".to_owned(),
            arguments: json!({"item": n, "command": "./publish.sh --prod"}),
            offers: vec![Offer::Once, Offer::Always(rules(&["./publish.sh"])), Offer::Modify],
            at,
        }
    }

    pub(crate) fn prompt() -> Prompt {
        Prompt::new("/home/me/config.toml".to_owned(), "/home/me/shop".to_owned())
    }

    fn press(prompt: &mut Prompt, keys: &str) -> Pressed {
        let keys = Decoder::default().push(keys.as_bytes());
        keys.iter().map(|it| prompt.key(it)).last().unwrap_or(Pressed::Nothing)
    }

    fn rules(words: &[&str]) -> Vec<Permit> {
        let command = Some(words.iter().map(|it| (*it).to_owned()).collect());
        vec![Permit { tool: Some("shell".to_owned()), command, ..Permit::default() }]
    }

    #[test]
    fn keys_answer_the_oldest_question() {
        let mut prompt = prompt();
        assert_eq!(press(&mut prompt, "y"), Pressed::Nothing, "nobody asked");
        let (first, second) = (asked(1, "shell"), asked(2, "shell"));
        prompt.ask(first.clone());
        prompt.ask(second.clone());
        assert_eq!(press(&mut prompt, "y"), Pressed::Nothing, "nobody has seen it");
        prompt.was_drawn();
        assert_eq!(press(&mut prompt, "y"), Pressed::Answer(first.id, Answer::Once));
        let session = Answer::Session(rules(&["./publish.sh"]));
        assert_eq!(press(&mut prompt, "s"), Pressed::Answer(first.id, session));
        assert_eq!(press(&mut prompt, "q"), Pressed::Answer(first.id, Answer::RefuseAndStop(None)));
        assert_eq!(prompt.settle(first.id), Some(first));
        assert_eq!(press(&mut prompt, "y"), Pressed::Nothing, "a key too many allows nothing");
        prompt.was_drawn();
        assert_eq!(press(&mut prompt, "n"), Pressed::Answer(second.id, Answer::Refuse(None)));
        assert_eq!(press(&mut prompt, "x?"), Pressed::Nothing);
    }

    #[test]
    fn the_diff_of_an_edit_has_line_numbers_and_marked_words() {
        let mut prompt = prompt();
        let diff = "@@ -7,2 +7,2 @@\n fn main() {\n-    let a = 1;\n+    let a = 2;\n";
        prompt.ask(Asked { diff: Some(diff.to_owned()), command: None, ..asked(1, "edit") });
        for (columns, expected) in [
            (40, vec!["   7   fn main() {", "   8 -     let a = 1;", "   8 +     let a = 2;"]),
            (124, vec!["   8 -     let a = 1;", "│ 8 +     let a = 2;"]),
        ] {
            let options = Options { width: columns, ..Options::plain(Timestamp::UNIX_EPOCH) };
            let (asked, count, below) = prompt.shown(&options).unwrap();
            let lines = questions::asking(asked, count, &below, 20, &options);
            let text: Vec<String> = lines.iter().map(Line::to_plain).collect();
            for expected in expected {
                assert!(text.iter().any(|it| it.contains(expected)), "{columns}: {text:#?}");
            }
            assert!(lines.iter().all(|it| it.width() < usize::from(columns)), "{text:#?}");
            let mut spans = lines.iter().flat_map(Line::spans);
            assert!(spans.any(|it| it.style == Style::AddedWord && it.text == "2"));
        }
    }

    #[test]
    fn a_reason_and_another_command_are_typed() {
        let mut prompt = prompt();
        let one = asked(1, "shell");
        prompt.ask(one.clone());
        prompt.was_drawn();
        let refused = Answer::Refuse(Some("not on a Friday".to_owned()));
        assert_eq!(press(&mut prompt, "rnot on a Fridaz\x7fy\r"), Pressed::Answer(one.id, refused));
        assert_eq!(press(&mut prompt, "r\x1b"), Pressed::Nothing, "escape goes back");
        assert_eq!(press(&mut prompt, "e\x15./publish.sh --dr\ny"), Pressed::Nothing, "not drawn");
        prompt.was_drawn();
        let options = Options::plain(Timestamp::UNIX_EPOCH);
        let (_, _, below) = prompt.shown(&options).unwrap();
        assert_eq!(below.text, ["this would run instead:", "  ./publish.sh --dr"]);
        assert_eq!(press(&mut prompt, "ey\n"), Pressed::Nothing);
        prompt.was_drawn();
        let modified = json!({"item": 1, "command": "./publish.sh --dry"});
        assert_eq!(press(&mut prompt, "y"), Pressed::Answer(one.id, Answer::Modify(modified)));
    }

    #[test]
    fn a_message_that_is_typed_at_a_question_runs_nothing() {
        for text in ["explain why\n", "explain why\nYou see\n", "edit\n\n\n"] {
            let mut prompt = prompt();
            prompt.ask(asked(1, "shell"));
            prompt.was_drawn();
            for key in Decoder::default().push(text.as_bytes()) {
                assert_eq!(prompt.key(&key), Pressed::Nothing, "{text:?}");
                prompt.was_drawn();
            }
            assert_eq!(press(&mut prompt, "\x1b"), Pressed::Nothing);
            assert!(prompt.is_at_first_step());
        }
    }

    #[test]
    fn always_shows_every_rule_and_where_before_a_second_key_adds_them() {
        let mut prompt = prompt();
        let make = [rules(&["cd", "src"]), rules(&["make", "test"])].concat();
        let tool = vec![Permit { tool: Some("agent".to_owned()), ..Permit::default() }];
        let offers = vec![Offer::Once, Offer::Always(make.clone()), Offer::Always(tool.clone())];
        let one = Asked { offers, ..asked(1, "shell") };
        prompt.ask(one.clone());
        prompt.was_drawn();
        assert_eq!(press(&mut prompt, "a"), Pressed::Nothing, "nothing is added unseen");
        let options = Options::plain(Timestamp::UNIX_EPOCH);
        let (_, _, below) = prompt.shown(&options).unwrap();
        assert_eq!(
            below.text,
            [
                "this would be added to /home/me/config.toml:",
                r#"  { decision = "allow", tool = "shell", command = ["cd", "src"], project = "/home/me/shop" }"#,
                r#"  { decision = "allow", tool = "shell", command = ["make", "test"], project = "/home/me/shop" }"#,
            ]
        );
        assert_eq!(
            below.keys,
            [
                "p add it for this project",
                "g add it without project, for all",
                "Tab rather whatever agent does",
                "Esc goes back"
            ]
        );
        assert_eq!(press(&mut prompt, "y"), Pressed::Nothing);
        let always = |rules, reach| Pressed::Answer(one.id, Answer::Always { rules, reach });
        assert_eq!(press(&mut prompt, "p"), always(make.clone(), Reach::Project));
        assert_eq!(press(&mut prompt, "ag"), always(make, Reach::Everywhere));
        assert_eq!(press(&mut prompt, "a\tp"), always(tool, Reach::Project));
        assert_eq!(press(&mut prompt, "a\u{1b}"), Pressed::Nothing);
        assert_eq!(press(&mut prompt, "y"), Pressed::Answer(one.id, Answer::Once));
    }

    #[test]
    fn a_program_of_the_project_is_not_allowed_everywhere() {
        let mut prompt = prompt();
        prompt.ask(asked(1, "shell"));
        prompt.was_drawn();
        assert_eq!(press(&mut prompt, "ag"), Pressed::Nothing);
        let options = Options::plain(Timestamp::UNIX_EPOCH);
        let (_, _, below) = prompt.shown(&options).unwrap();
        assert_eq!(below.keys, ["p add it for this project", "Esc goes back"]);
    }

    #[test]
    fn pasted_text_answers_nothing() {
        let mut prompt = prompt();
        prompt.ask(asked(1, "shell"));
        prompt.was_drawn();
        assert_eq!(press(&mut prompt, "\u{1b}[200~y\u{1b}[201~"), Pressed::Nothing);
    }

    #[test]
    fn an_item_that_is_done_by_hand_is_done_or_not_yet() {
        let mut prompt = prompt();
        let one = Asked { offers: vec![Offer::Once], ..asked(1, BY_HAND) };
        assert_eq!(keys(&one), ["y it is done", "n not yet", "q stop"]);
        prompt.ask(one.clone());
        prompt.was_drawn();
        assert_eq!(press(&mut prompt, "er"), Pressed::Nothing);
        assert_eq!(press(&mut prompt, "y"), Pressed::Answer(one.id, Answer::Once));
    }
}
