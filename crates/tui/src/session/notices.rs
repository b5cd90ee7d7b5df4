//! Tells a person who looks elsewhere that a session asks something or that a turn has ended.

use punchlist_agent::session::{Ended, Event, LeaderEvent};
use punchlist_agent::turn::{Abort, Ending};
use punchlist_engine::notices::{Notice, NoticeKind};
use punchlist_formats::text::last_sentence;
use punchlist_model::{ConversationId, Timestamp};

use crate::keys::Key;
use crate::notify::Notify;

/// Who a session's notices are about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum About {
    /// A session of our own agent.
    Own(ConversationId),
    /// A session that an agent's program leads; its id once the program has told it.
    Led {
        /// The agent's name.
        agent: String,
        /// Its id of the session.
        session: Option<String>,
    },
}

/// Tells a person what happens in a session, if they look elsewhere.
pub(crate) struct Notices {
    notify: Notify,
    about: About,
    /// The number of the turn.
    turn: u32,
}

impl Notices {
    /// Tells of this session.
    pub(crate) fn new(notify: Notify, about: About) -> Self {
        Self { notify, about, turn: 0 }
    }

    /// The session that notices are about is this one now.
    pub(crate) fn is_about(&mut self, id: ConversationId) {
        self.about = About::Own(id);
    }

    /// Gives notices about other things.
    pub(crate) fn notify(&mut self) -> &mut Notify {
        &mut self.notify
    }

    /// A key may say whether the window has the focus.
    pub(crate) fn key(&mut self, key: &Key) {
        self.notify.key(key);
    }

    /// Tells what a person wants to know.
    pub(crate) fn event(&mut self, event: &Event, project: &str, now: Timestamp) {
        if let Event::Began { turn, .. } = event {
            self.turn = *turn;
        } else if let Event::Leader(LeaderEvent::Began { session, .. }) = event {
            if let About::Led { session: known, .. } = &mut self.about {
                *known = Some(session.clone());
            }
        } else if let Event::Asked { asked, .. } = event {
            let agent = match &self.about {
                About::Own(_) => "punchlist",
                About::Led { agent, .. } => agent,
            };
            self.notify.give(&Notice::question(asked, agent, project), now);
        } else if let Event::Ended(ended) = event {
            self.ended(ended, project, now);
        }
    }

    fn ended(&mut self, ended: &Ended, project: &str, now: Timestamp) {
        let (kind, text) = match &ended.ending {
            Ending::Asked => (NoticeKind::Question, &ended.answer),
            Ending::Answered | Ending::Planned => (NoticeKind::Done, &ended.answer),
            // The person did it.
            Ending::Aborted(Abort::User) => return,
            Ending::LetGo
            | Ending::Limit
            | Ending::Stuck
            | Ending::PlanningFailed
            | Ending::NotValidated
            | Ending::Unfit
            | Ending::Failed(_)
            | Ending::Aborted(Abort::Budget(_)) => (NoticeKind::Failed, &ended.ending.words()),
        };
        let text = last_sentence(text).to_owned();
        match &self.about {
            About::Own(id) => {
                let notice = Notice::turn(*id, self.turn, kind, project, text);
                if kind == NoticeKind::Done {
                    self.notify.give_end(*id, &notice, now);
                } else {
                    self.notify.give(&notice, now);
                }
            }
            About::Led { agent, session } => {
                let session = session.as_deref().unwrap_or_default();
                let notice = Notice::observed(kind, agent, session, project, text, now);
                self.notify.give(&notice, now);
            }
        }
    }
}
