//! The questions of a run: shows them, stores each answer, wherever it was given, and passes it to
//! the scheduler.

use punchlist_model::QuestionId;
use punchlist_model::call::{Answer, AnswerOutcome, Answered, Asked, QuestionFilter, Standing};
use punchlist_sched::call::{CallId, CancelReason};
use punchlist_sched::machine::Target;
use punchlist_sched::policy::Rule;
use punchlist_sched::run::Run;

use super::Runner;
use crate::fail::Fail;
use crate::policy::rules;
use crate::run::front_end::Event;
use crate::run::prepare::late_answer;
use crate::run::steps::{self, BY_HAND, SHELL};

impl Runner<'_> {
    /// Handles a new question of the scheduler.
    pub(super) async fn asked(&mut self, asked: &Asked, run: &Run) -> Result<(), Fail> {
        let Some(item) = self.item(CallId(asked.call)) else { return Ok(()) };
        let (id, now) = (asked.id, self.now());
        if let Some(claimed) = &self.workplace.claimed {
            claimed.slot.give_back();
        }
        self.board.asks(item, now.as_millisecond());
        let what = asked.command.as_deref().unwrap_or(&asked.what);
        self.send(Event::Asked { item, what })?;
        let filter = QuestionFilter { run: Some(self.run), ..QuestionFilter::default() };
        let known = self.store().questions(filter).await?;
        let Some(question) = known.into_iter().find(|it| it.asked.id == id) else { return Ok(()) };
        let late = self.late.take(&*self.surroundings.store, &question.asked, now).await?;
        self.waiting.push(question.asked.clone());
        // `--yes` is the person's latest answer.
        if self.options.yes && asked.tool != BY_HAND {
            return self.answer_here(id, Answer::Once, run).await;
        }
        if let Some(mut answered) = late {
            answered.answer = late_answer::alone(answered.answer);
            return self.store_answer(id, answered, run).await;
        }
        if !self.is_attended {
            // Somebody has answered, but a different question.
            let why = "there is nobody to ask, and the stored answer is to another question";
            let reason = CancelReason::Declined(why.to_owned());
            run.cancel(Target::Call(CallId(asked.call)), reason).await.ok();
            return Ok(());
        }
        self.send(Event::Question(&question.asked))?;
        // Somebody may have answered already; only this run passes it to the scheduler.
        self.handle_standing(id, question.standing, run).await
    }

    /// Stores the answer of the person at the front end, like any other answer.
    pub(super) async fn answer_here(
        &mut self,
        id: QuestionId,
        answer: Answer,
        run: &Run,
    ) -> Result<(), Fail> {
        let answered = Answered { answer, by: self.ctx.actor.clone(), at: self.now() };
        self.store_answer(id, answered, run).await
    }

    /// Stores an answer and uses it.
    async fn store_answer(
        &mut self,
        id: QuestionId,
        answered: Answered,
        run: &Run,
    ) -> Result<(), Fail> {
        match self.store().answer(id, answered.clone()).await? {
            AnswerOutcome::Taken(_) => self.use_answer(id, &answered, run).await,
            // Somebody else answered first.
            AnswerOutcome::Late(question) => self.handle_standing(id, question.standing, run).await,
            AnswerOutcome::NotOffered(_) => Ok(()),
        }
    }

    /// Reads answers that were given elsewhere.
    pub(super) async fn read_answers(&mut self, run: &Run) -> Result<(), Fail> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let filter = QuestionFilter { run: Some(self.run), ..QuestionFilter::default() };
        for question in self.store().questions(filter).await? {
            if self.waiting.iter().any(|it| it.id == question.asked.id) {
                self.handle_standing(question.asked.id, question.standing, run).await?;
            }
        }
        Ok(())
    }

    /// Handles the state of a question in the store.
    async fn handle_standing(
        &mut self,
        id: QuestionId,
        standing: Standing,
        run: &Run,
    ) -> Result<(), Fail> {
        match standing {
            Standing::Waiting => Ok(()),
            Standing::Settled => {
                self.settle(id);
                self.send(Event::Withdrawn(id))
            }
            Standing::Answered(answered) => self.use_answer(id, &answered, run).await,
        }
    }

    /// Removes a question that no longer waits, and returns it.
    fn settle(&mut self, id: QuestionId) -> Option<Asked> {
        let at = self.waiting.iter().position(|it| it.id == id)?;
        Some(self.waiting.remove(at))
    }

    /// Uses an answer: passes it to the scheduler.
    async fn use_answer(
        &mut self,
        id: QuestionId,
        answered: &Answered,
        run: &Run,
    ) -> Result<(), Fail> {
        let asked = self.settle(id);
        let item = asked.as_ref().and_then(|it| it.item);
        let tool = asked.as_ref().map_or_else(|| SHELL.to_owned(), |it| it.tool.clone());
        if let Some(asked) = &asked {
            let is_by_other = answered.by != self.ctx.actor;
            self.send(Event::Answered { asked, answered, is_by_other })?;
        }
        let mut answer = answered.answer.clone();
        if let (Answer::Modify(arguments), Some(item)) = (&mut answer, item) {
            // The command may be changed, but not the item.
            steps::keep_item(arguments, item);
            self.send(Event::Changed { item, arguments })?;
        }
        match &self.workplace.claimed {
            None => self.remember(&answer, &self.policy.rules_of(&answer, &tool))?,
            // An answer from elsewhere allows this item and changes no rule of this machine. A worker
            // that is being stopped hands the item back as it is.
            Some(claimed) => {
                if !claimed.slot.take().await {
                    return Ok(());
                }
            }
        }
        // If the run is over, its end reports that.
        run.answer(id, answer, Some(answered.by.clone())).await.ok();
        Ok(())
    }

    /// Stores the rules of an "always" answer in the user's file, for later runs.
    fn remember(&mut self, answer: &Answer, rules: &[Rule]) -> Result<(), Fail> {
        if rules.is_empty() || matches!(answer, Answer::Session(_)) {
            return Ok(());
        }
        let path = &self.surroundings.rules_file;
        match rules::remember(path, rules) {
            Ok(true) => {
                let what = if rules.len() == 1 { "a rule" } else { "rules" };
                let text = format!("from now on allowed by {what} in {}", path.display());
                self.front_end.say(&text, self.now())
            }
            Ok(false) => Ok(()),
            Err(why) => {
                let note = format!("what you allowed only applies to this run: {why}");
                self.notes.push(note);
                Ok(())
            }
        }
    }
}
