//! Parses Codex: the output of `codex exec --json`, rollout files, and messages of its app server.
//!
//! The three forms share nothing, and a stream has only one of them: its first clear line decides.
//! This file distinguishes them; each form has a file of its own. Rollouts of older versions have
//! the same items without a wrapper.

mod bare;
mod exec;
mod items;
mod plan;
mod rollout;
mod script;
mod server;

use bare::Bare;
use exec::Exec;
use rollout::Rollout;
use server::Server;

use crate::json::Object;
use crate::parse::Agent;
use crate::parse::emit::Emit;
use crate::parse::ours;

/// The state between lines.
#[derive(Default, Debug)]
pub(super) struct Codex {
    form: Form,
}

#[derive(Default, Debug)]
enum Form {
    /// No line has shown the form yet.
    #[default]
    Unknown,
    Exec(Exec),
    Rollout(Box<Rollout>),
    Bare(Box<Bare>),
    Server(Server),
}

/// The form of one line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Exec,
    Rollout,
    Bare,
    Server,
}

impl Shape {
    fn of(line: &Object<'_>) -> Option<Self> {
        if bare::is_bare(line) {
            return Some(Self::Bare);
        }
        let (mut kind, mut is_rollout, mut is_message) = (None, false, false);
        for (key, value) in line.fields() {
            match key {
                "type" => kind = value.str(),
                "payload" => is_rollout = value.is_object(),
                "method" => is_message = value.str().is_some(),
                "msg" => is_message = value.is_object(),
                "result" => is_message = true,
                _ => {}
            }
        }
        if kind.is_some() && is_rollout {
            return Some(Self::Rollout);
        }
        if is_message {
            return Some(Self::Server);
        }
        let kind = kind?.literal();
        let begins = ["\"thread.", "\"turn.", "\"item."].iter().any(|it| kind.starts_with(it));
        (begins || kind == "\"error\"").then_some(Self::Exec)
    }
}

impl Agent for Codex {
    fn line(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        let shape = Shape::of(line);
        if let (Form::Unknown, Some(shape)) = (&self.form, shape) {
            self.form = match shape {
                Shape::Exec => Form::Exec(Exec::default()),
                Shape::Rollout => Form::Rollout(Box::default()),
                Shape::Bare => Form::Bare(Box::default()),
                Shape::Server => Form::Server(Server::default()),
            };
        }
        match (&mut self.form, shape) {
            (Form::Exec(exec), Some(Shape::Exec)) => exec.line(line, emit),
            (Form::Rollout(rollout), Some(Shape::Rollout)) => rollout.line(line, emit),
            (Form::Bare(bare), Some(Shape::Bare)) => bare.line(line, emit),
            (Form::Server(server), Some(Shape::Server)) => server.line(line, emit),
            (
                Form::Unknown | Form::Exec(_) | Form::Rollout(_) | Form::Bare(_) | Form::Server(_),
                _,
            ) => {
                let name = line.text("type").or_else(|| line.text("method"));
                emit.unknown(&name.map_or_else(Default::default, |it| it.cow()));
            }
        }
    }

    fn end(&mut self, emit: &mut Emit<'_>) {
        match &mut self.form {
            Form::Rollout(rollout) => rollout.give_up(emit),
            Form::Bare(bare) => bare.end(emit),
            // Lists in these two forms are always confirmed.
            Form::Unknown | Form::Exec(_) | Form::Server(_) => {}
        }
    }

    fn needles(&self) -> &'static [&'static str] {
        // The lists, and the lines that say whose they are.
        const EXEC: &[&str] = &["\"todo_list\"", "\"thread.started\"", ours::NEEDLE, ours::SERVER];
        const ROLLOUT: &[&str] = &["update_plan", "\"session_meta\"", ours::NEEDLE, ours::SERVER];
        const SERVER: &[&str] =
            &["\"turn/plan/updated\"", "\"thread/started\"", ours::NEEDLE, ours::SERVER];
        match &self.form {
            Form::Unknown => &[],
            Form::Exec(_) => EXEC,
            Form::Rollout(_) | Form::Bare(_) => ROLLOUT,
            Form::Server(_) => SERVER,
        }
    }

    fn is_waiting(&self) -> bool {
        match &self.form {
            Form::Unknown => true,
            Form::Rollout(rollout) => rollout.is_waiting(),
            Form::Bare(bare) => bare.is_waiting(),
            Form::Exec(_) | Form::Server(_) => false,
        }
    }
}
