//! Parses Gemini CLI: the output of `--output-format stream-json`, and chat files.
//!
//! A stream has one of the two forms: its first clear line decides. Each form has a file of its
//! own.

mod chat;
mod chronicle;
mod print;
mod todos;

use chat::Chat;
use print::Print;

use crate::json::Object;
use crate::parse::Agent;
use crate::parse::emit::Emit;
use crate::parse::ours;

/// The state between lines.
#[derive(Default, Debug)]
pub(super) struct Gemini {
    form: Form,
}

#[derive(Default, Debug)]
enum Form {
    /// No line has shown the form yet.
    #[default]
    Unknown,
    Print(Box<Print>),
    Chat(Box<Chat>),
}

/// The form of one line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Print,
    Chat,
}

impl Shape {
    fn of(line: &Object<'_>) -> Option<Self> {
        let (mut kind, mut has_id) = (None, false);
        for (key, value) in line.fields() {
            match key {
                "projectHash" | "$set" | "$rewindTo" => return Some(Self::Chat),
                "type" => kind = value.str(),
                "id" => has_id = value.str().is_some(),
                _ => {}
            }
        }
        match kind?.literal() {
            "\"user\"" | "\"gemini\"" | "\"info\"" | "\"warning\"" | "\"error\"" if has_id => {
                Some(Self::Chat)
            }
            "\"init\"" | "\"message\"" | "\"tool_use\"" | "\"tool_result\"" | "\"error\""
            | "\"result\"" => Some(Self::Print),
            _ => None,
        }
    }
}

impl Agent for Gemini {
    fn line(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        let shape = Shape::of(line);
        if let (Form::Unknown, Some(shape)) = (&self.form, shape) {
            self.form = match shape {
                Shape::Print => Form::Print(Box::default()),
                Shape::Chat => Form::Chat(Box::default()),
            };
        }
        match (&mut self.form, shape) {
            (Form::Print(print), Some(Shape::Print)) => print.line(line, emit),
            (Form::Chat(chat), Some(Shape::Chat)) => chat.line(line, emit),
            (Form::Unknown | Form::Print(_) | Form::Chat(_), _) => {
                let name = line.text("type").map_or_else(Default::default, |it| it.cow());
                emit.unknown(&name);
            }
        }
    }

    fn end(&mut self, emit: &mut Emit<'_>) {
        match &mut self.form {
            Form::Print(print) => print.breaks_off(emit),
            Form::Chat(chat) => chat.end(emit),
            Form::Unknown => {}
        }
    }

    fn needles(&self) -> &'static [&'static str] {
        const PRINT: &[&str] =
            &["\"init\"", "\"write_todos\"", "\"tracker_", ours::NEEDLE, ours::SERVER];
        match &self.form {
            Form::Print(_) => PRINT,
            Form::Unknown | Form::Chat(_) => &[],
        }
    }

    fn is_waiting(&self) -> bool {
        match &self.form {
            Form::Print(print) => print.is_waiting(),
            // The chat may be rewound to any message.
            Form::Unknown | Form::Chat(_) => true,
        }
    }
}
