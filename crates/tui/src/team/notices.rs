//! Tells a person who looks elsewhere that a member asks something or that its turn has ended.

use pollster::block_on;
use punchlist_agent::team::{MemberConfig, Report};
use punchlist_agent::workers::WorkerEnd;
use punchlist_engine::notices::{Notice, NoticeKind};
use punchlist_formats::hook::asks_user;
use punchlist_formats::text::last_sentence;
use punchlist_model::{ConversationId, Timestamp};
use punchlist_streams::event::AgentType;

use super::model::Model;
use crate::keys::Key;
use crate::notify::Notify;

/// Tells a person what happens in a team.
pub(super) struct TeamNotices {
    notify: Notify,
    project: String,
    /// What other processes that see the members' sessions call their programs.
    programs: Vec<&'static str>,
}

impl TeamNotices {
    pub(super) fn new<'a>(
        notify: Notify,
        project: String,
        members: impl Iterator<Item = &'a MemberConfig>,
    ) -> Self {
        let programs = members.map(|it| program(it.agent_type())).collect();
        Self { notify, project, programs }
    }

    /// A key may say whether the window has the focus.
    pub(super) fn key(&mut self, key: &Key) {
        self.notify.key(key);
    }

    /// Tells what a person wants to know of a report. The model has heard it.
    pub(super) fn report(&mut self, model: &Model, report: &Report) {
        if let Some(notice) = self.notice(model, report) {
            self.notify.give(&notice, model.now);
        }
    }

    fn notice(&mut self, model: &Model, report: &Report) -> Option<Notice> {
        match report {
            Report::Asked { member, asked } => {
                Some(Notice::question(asked, &model.names(&[*member]), &self.project))
            }
            Report::Ended { member, end, answer, session } => {
                // With a message that waited, its next turn has begun already.
                let is_over = model.members.get(*member).is_some_and(|it| it.turn.is_none());
                let (kind, text) = told(end, answer).filter(|_| is_over)?;
                let session = session.as_deref().unwrap_or_default();
                let notice = self.ended(*member, kind, session, text, model.now);
                Some(Notice { agent: model.names(&[*member]), ..notice })
            }
            Report::Event { .. } | Report::Settled { .. } => None,
        }
    }

    /// The end of a turn, as every process that sees the session identifies it.
    fn ended(
        &mut self,
        member: usize,
        kind: NoticeKind,
        session: &str,
        text: String,
        now: Timestamp,
    ) -> Notice {
        let program = self.programs.get(member).copied().unwrap_or_default();
        let own: Option<ConversationId> = session.parse().ok();
        if let Some(id) = own.filter(|_| program == OWN)
            && let Some(turn) = self.last_turn(id)
        {
            return Notice::turn(id, turn, kind, &self.project, text);
        }
        Notice::observed(kind, program, session, &self.project, text, now)
    }

    /// The number of the last turn of a session of our own.
    fn last_turn(&mut self, id: ConversationId) -> Option<u32> {
        let store = self.notify.store()?;
        block_on(store.turns(id)).ok()?.last().map(|it| it.number)
    }
}

const OWN: &str = "punchlist";

fn program(agent: AgentType) -> &'static str {
    match agent {
        AgentType::ClaudeCode => "claude",
        AgentType::OpenaiCodex => "codex",
        AgentType::GoogleGemini => "gemini",
        AgentType::Acp => "acp",
        AgentType::Punchlist => OWN,
    }
}

/// What is told of the end of a turn, if anything.
fn told(end: &WorkerEnd, answer: &str) -> Option<(NoticeKind, String)> {
    let said = last_sentence(answer);
    match end {
        WorkerEnd::Well if asks_user(answer) => Some((NoticeKind::Question, said.to_owned())),
        WorkerEnd::Well if said.is_empty() => {
            Some((NoticeKind::Done, "its turn has ended".to_owned()))
        }
        WorkerEnd::Well => Some((NoticeKind::Done, said.to_owned())),
        // The person did it.
        WorkerEnd::Cancelled => None,
        WorkerEnd::Failed(_) | WorkerEnd::TimedOut(_) | WorkerEnd::UsageLimit { .. } => {
            Some((NoticeKind::Failed, end.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use punchlist_agent::team::TeamMessage;
    use punchlist_engine::notices::{Channel, EventKey, Focus, Settings};
    use punchlist_formats::view::Options;
    use punchlist_model::store::memory::Memory;
    use punchlist_model::{IdSource, MessageId};
    use serde_json::json;

    use super::super::model::{Intent, Msg};
    use super::super::update::update;
    use super::*;
    use crate::input::Entered;
    use crate::notify::TerminalFacts;
    use crate::prompt::tests::prompt;
    use crate::terminal::frame::Size;
    use crate::theme::Theme;

    /// A team of Max (Claude Code) and Kim (Codex), and its notices.
    fn team() -> (Model, TeamNotices) {
        let configs = MemberConfig::read_all(&json!({"members": [
            {"name": "max", "displayName": "Max", "agentType": "claude"},
            {"name": "kim", "agentType": "codex"},
        ]}))
        .unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let size = Size { columns: 80, rows: 24 };
        let model = Model::new(configs.iter(), Theme::plain(), Options::plain(now), size, prompt());
        let terminal = TerminalFacts {
            is_there: false,
            best: Channel::Osc9,
            is_tmux: false,
            focus: Focus::Lost,
        };
        let open = Box::new(|| Ok(Arc::new(Memory::default()) as _));
        let notify = Notify::new(Settings::default(), terminal, open);
        (model, TeamNotices::new(notify, "/home/me/shop".to_owned(), configs.iter()))
    }

    fn ends(member: usize, end: WorkerEnd, answer: &str) -> Report {
        let (answer, session) = (answer.to_owned(), Some("s-1".to_owned()));
        Report::Ended { member, end, answer, session }
    }

    #[test]
    fn the_end_of_a_turn_is_the_event_that_a_watcher_and_the_hooks_see() {
        let (model, mut notices) = team();
        let ended = ends(0, WorkerEnd::Well, "I did it. All pass.");
        let notice = notices.notice(&model, &ended).unwrap();
        let of = "turn/claude/s-1".to_owned();
        assert_eq!(notice.key, EventKey::Observed { of, at: Timestamp::UNIX_EPOCH });
        assert_eq!((notice.kind, notice.text.as_str()), (NoticeKind::Done, "All pass."));
        assert_eq!(notice.title(), "Max in shop is done");
        let asks = ends(1, WorkerEnd::Well, "Shall I go on?");
        assert_eq!(notices.notice(&model, &asks).unwrap().title(), "kim in shop asks you");
        let failed = ends(1, WorkerEnd::TimedOut(5), "");
        assert_eq!(notices.notice(&model, &failed).unwrap().title(), "kim in shop failed");
        assert_eq!(notices.notice(&model, &ends(1, WorkerEnd::Cancelled, "")), None);
    }

    #[test]
    fn nothing_is_told_of_a_turn_after_which_a_message_waits() {
        let (mut model, mut notices) = team();
        for text in ["@max one", "@max two"] {
            update(&mut model, Msg::Enter(Entered::typed(text)));
        }
        let id = MessageId(IdSource::fixed(Timestamp::UNIX_EPOCH, 1).nth(0));
        let message = TeamMessage { id, member: 0, text: "two".to_owned() };
        update(&mut model, Msg::Queued(vec![message]));
        for expected in [false, true] {
            let ended = ends(0, WorkerEnd::Well, "Done.");
            for intent in update(&mut model, Msg::Report(ended.clone())) {
                if let Intent::TakeOut(why, message) = intent {
                    update(&mut model, Msg::TakenOut(why, message, true));
                }
            }
            assert_eq!(notices.notice(&model, &ended).is_some(), expected);
        }
    }
}
