//! What is on the screen, and what the person is doing.

use std::sync::Arc;

use punchlist_agent::provider::{ModelCall, ModelCallId};
use punchlist_engine::custom_commands::CustomCommand;
use punchlist_formats::view::Options;
use punchlist_formats::view::run::Run;
use punchlist_model::call::Message;
use punchlist_model::store::turns::Used;
use punchlist_model::{Actor, ConversationId, Plan, RunId, Timestamp};
use tokio::sync::oneshot;

use crate::commands::{CustomShell, Registry};
use crate::dialog::Dialog;
use crate::input::{Input, Mentions};
use crate::prompt::{Prompt, Typing};
use crate::terminal::frame::Size;
use crate::theme::Theme;

/// What does not change while the UI runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The sandbox in a word or two, such as `sandbox on`.
    pub(crate) sandbox: String,
    /// How to configure a model, if there is none.
    pub(crate) no_model: Vec<String>,
}

/// What the session works with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agent {
    /// The model, if there is one.
    pub(crate) model: Option<String>,
    /// Which loop works on requests.
    pub(crate) mode: String,
    /// The size of the model's context, in tokens.
    pub(crate) context_tokens: u64,
    /// The tools of the plan are not shown as calls: the plan itself is.
    pub(crate) plan_tools: Vec<String>,
}

/// Whether what is on the screen belongs to the session that is open now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SessionIs {
    /// A new conversation.
    New,
    /// Another session.
    Other,
    /// The same session, opened again.
    Same,
}

/// A turn that runs.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// When it began.
    pub(crate) since: Timestamp,
    /// What the model does.
    pub(crate) phase: Phase,
    /// Whether the person has asked for its end.
    pub(crate) is_ending: bool,
}

/// What the model does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// It was called and has said nothing yet, or it thinks: the last line of that.
    Thinking(String),
    /// Its text arrives.
    Writing,
    /// Its calls run.
    Calling,
    /// The session waits for this.
    Waiting(String),
    /// It summarises the conversation, because the person asked for it.
    Compacting,
}

/// A call that runs.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) id: ModelCallId,
    pub(crate) call: ModelCall,
    pub(crate) since: Timestamp,
    /// The last line that it printed.
    pub(crate) line: String,
}

/// The answer that arrives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streaming {
    /// Text that is not in the scrollback yet.
    pub(crate) live: String,
    /// Whether text of this answer is in the scrollback already.
    pub(crate) is_begun: bool,
    /// Whether the text is meant for the person.
    pub(crate) is_shown: bool,
    /// All text of this answer, to recognise the end of the turn's answer.
    pub(crate) whole: String,
    /// The last line of the runtime, which may be the turn's answer too.
    pub(crate) told: String,
}

/// A plan file that runs inside the UI.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActiveRun {
    /// The file, as the person named it.
    pub(crate) file: String,
    pub(crate) id: Option<RunId>,
    /// How it stands, once it has begun.
    pub(crate) stands: Option<Run>,
    /// How often the person has asked for its end.
    pub(crate) stops: u8,
}

/// The model of the UI.
pub(crate) struct Model {
    pub(crate) facts: Facts,
    pub(crate) agent: Agent,
    pub(crate) size: Size,
    pub(crate) now: Timestamp,
    pub(crate) theme: Theme,
    /// The session, once it has begun.
    pub(crate) session: Option<ConversationId>,
    pub(crate) turn: Option<Turn>,
    /// The plan of the turn, else the project's.
    pub(crate) plan: Option<Plan>,
    /// Whether the plan is that of a turn of this session.
    pub(crate) is_own_plan: bool,
    pub(crate) answer: Streaming,
    pub(crate) calls: Vec<Running>,
    /// The plan file that runs inside the UI.
    pub(crate) run: Option<ActiveRun>,
    /// What the session has used, and the tokens of the last request.
    pub(crate) used: Used,
    pub(crate) context_used: u64,
    pub(crate) prompt: Prompt,
    /// What waits for the end of the turn; steering messages first.
    pub(crate) queue: Vec<Message>,
    pub(crate) is_paused: bool,
    pub(crate) input: Input,
    /// Whether the person is in the middle of a text.
    pub(crate) typing: Typing,
    /// Ctrl-C was pressed at this time; the next one leaves.
    pub(crate) leaving: Option<Timestamp>,
    /// A line that is shown in place of the status for a while.
    pub(crate) notice: Option<(String, Timestamp)>,
    /// The dialog that fills the screen, if one is open.
    pub(crate) dialog: Option<Dialog>,
    /// What follows if the person confirms it in the dialog.
    pub(crate) pending: Option<Pending>,
    /// The slash commands.
    pub(crate) registry: Registry,
    /// What `@` can name.
    pub(crate) mentions: Mentions,
    /// The arguments of `/resume` and `/model`, once they were read.
    pub(crate) sessions: Option<Vec<(String, String)>>,
    pub(crate) models: Option<Vec<(String, String)>>,
    /// The person at the terminal.
    pub(crate) person: Actor,
    /// Whether the last line of the scrollback is blank.
    pub(crate) is_after_blank: bool,
    /// Whether the window has the focus.
    pub(crate) has_focus: bool,
    view: Options,
}

/// What a model begins with.
pub(crate) struct Beginning {
    pub(crate) facts: Facts,
    pub(crate) agent: Agent,
    pub(crate) size: Size,
    pub(crate) theme: Theme,
    pub(crate) view: Options,
    pub(crate) prompt: Prompt,
    pub(crate) history: Vec<String>,
    pub(crate) person: Actor,
}

impl Model {
    pub(crate) fn new(beginning: Beginning) -> Self {
        let Beginning { facts, agent, size, theme, view, prompt, history, person } = beginning;
        let mut input = Input::new(history);
        input.set_glyphs(view.glyphs);
        input.set_width(size.columns);
        let mut model = Self {
            facts,
            agent,
            size,
            now: view.now,
            theme,
            session: None,
            turn: None,
            plan: None,
            is_own_plan: false,
            answer: Streaming::default(),
            calls: Vec::new(),
            run: None,
            used: Used::default(),
            context_used: 0,
            prompt,
            queue: Vec::new(),
            is_paused: false,
            input,
            typing: Typing::default(),
            leaving: None,
            notice: None,
            dialog: None,
            pending: None,
            registry: Registry::builtin(),
            mentions: Mentions::default(),
            sessions: None,
            models: None,
            person,
            is_after_blank: true,
            has_focus: true,
            view,
        };
        model.set_hint();
        model
    }

    /// What the empty input says: without a model, how to choose one.
    pub(crate) fn set_hint(&mut self) {
        self.input.set_hint(match self.agent.model {
            Some(_) => "Type a message; / commands, ? keys",
            None => "No model: /model chooses one; / commands, ? keys",
        });
    }

    /// The options of views, `width` columns wide.
    pub(crate) fn view(&self, width: u16) -> Options {
        Options { width, now: self.now, ..self.view.clone() }
    }

    /// The width of finished lines. The last column stays free: some terminals wrap after it.
    pub(crate) fn width(&self) -> u16 {
        self.size.columns.saturating_sub(1).max(1)
    }

    /// Shows a line in place of the status for a while.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notice = Some((text.into(), self.now));
    }

    /// Whether a question waits that gets no keys yet.
    pub(crate) fn holds_question_back(&self) -> bool {
        self.typing.holds_back(&self.prompt, &self.input, self.now)
    }

    /// How to answer the question that gets no keys yet.
    pub(crate) fn typing_hint(&self) -> Option<&'static str> {
        self.typing.hint(&self.prompt, &self.input, self.now)
    }

    /// The plan, if it is to be shown: a finished one only while the turn runs.
    pub(crate) fn shown_plan(&self) -> Option<&Plan> {
        let plan = self.plan.as_ref()?;
        let items = plan.listed();
        let is_worth_it = if self.is_own_plan && self.turn.is_some() {
            !items.is_empty()
        } else {
            items.iter().any(|it| it.is_open())
        };
        is_worth_it.then_some(plan)
    }

    /// Whether the tool changes the plan.
    pub(crate) fn is_plan_tool(&self, call: &ModelCall) -> bool {
        self.agent.plan_tools.contains(&call.tool)
    }

    /// Whether something on the screen changes with time.
    pub(crate) fn is_moving(&self) -> bool {
        self.turn.is_some() || self.run.is_some() || self.notice.is_some() || self.leaving.is_some()
    }
}

/// What a person is asked to confirm.
#[derive(Debug)]
pub(crate) enum Pending {
    /// Run the shell commands of a custom command.
    Shell(CustomShell),
    /// Allow a command of the project, and run it with this text behind it.
    Allow(Arc<CustomCommand>, String),
    /// A run of a plan file asks before it begins.
    Run(oneshot::Sender<bool>),
}
