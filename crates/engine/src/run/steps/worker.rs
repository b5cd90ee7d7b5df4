//! Items that an agent does: runs the agent's program headless on the item and reads its output as
//! it comes.
//!
//! `bridge` knows how to call each program and how to read its output. The agent is told the item
//! and nothing of the plan. The environment does not name the plan either, because a Punchlist that
//! is installed for the agent would write to it. The agent's own list is stored under the item.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_bridge::spawn::{self, Job, News, WorkerStream};
use punchlist_formats::hook::Agent as Which;
use punchlist_formats::text::{mask, one_line};
use punchlist_model::session::SessionKey;
use punchlist_model::{Ctx, Item, Number};
use punchlist_sched::access::Access;
use punchlist_sched::call::{Checked, Ended, Kind, Output};
use punchlist_sched::output::{Line, Stream};
use punchlist_sched::tool::{Preview, Tool, Work};
use serde_json::{Value, json};

use super::{AGENT, Place, failed, item};
use crate::outputs;
use crate::run::runner::reports::Report;
use crate::workers::program::{self, Heard};
use crate::workers::sub_lists::Entry;
use crate::workers::worker_session::{self, Destination};

/// The arguments of an item's call.
pub(crate) fn arguments(item: &Item, agent: &str) -> Value {
    json!({
        "item": item.number.0,
        "agent": agent,
        "title": item.title,
        "context": item.context,
        "criteria": item.completion_criteria,
    })
}

fn text_of<'a>(arguments: &'a Value, key: &str) -> &'a str {
    arguments.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The item and the agent from a call's arguments.
fn job(arguments: &Value) -> Option<Job<'_>> {
    let agent = Which::named(text_of(arguments, "agent"))?;
    Some(Job {
        agent,
        program: agent.as_str(),
        model: None,
        arguments: &[],
        instructions: "",
        title: text_of(arguments, "title"),
        context: text_of(arguments, "context"),
        criteria: text_of(arguments, "criteria"),
    })
}

/// The tool that lets an agent do an item.
struct Agent {
    place: Arc<Place>,
    schema: Value,
}

/// The tool, ready to be called.
pub(crate) fn tool(place: &Arc<Place>) -> Arc<dyn Tool> {
    let text = json!({"type": "string"});
    let schema = json!({
        "type": "object",
        "properties": {
            "item": {"type": "integer", "minimum": 1},
            "agent": text, "title": text, "context": text, "criteria": text,
        },
        "required": ["item", "agent", "title"],
        "additionalProperties": false,
    });
    Arc::new(Agent { place: Arc::clone(place), schema })
}

impl Tool for Agent {
    fn name(&self) -> &str {
        AGENT
    }

    fn description(&self) -> &str {
        "Has an agent's program do an item."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, arguments: &Value) -> Result<Checked, String> {
        let item_job = item(arguments).and_then(|it| self.place.jobs.get(&it));
        let item_job = item_job.ok_or("this run has no such item")?;
        let agent = text_of(arguments, "agent");
        if Which::named(agent).is_none() {
            let names = Which::ALL.map(Which::as_str).join(", ");
            return Err(format!("there is no agent {agent:?}; there are: {names}"));
        }
        let subject = self.place.judge.agent(item_job, agent);
        Ok(Checked { access: Access::none(), kind: Kind::OTHER, subject })
    }

    fn preview(&self, arguments: &Value) -> Preview {
        let what = format!("be done by {}", text_of(arguments, "agent"));
        let command = job(arguments).map(|it| spawn::prompt(&it));
        let item_job = item(arguments).and_then(|it| self.place.jobs.get(&it));
        // The plan decides who does an item, so the arguments cannot be changed.
        Preview {
            what,
            command,
            why: item_job.and_then(super::Job::why),
            is_fixed: true,
            ..Preview::default()
        }
    }

    fn run(&self, arguments: Value, work: Work) -> BoxFuture<'static, Ended> {
        let place = Arc::clone(&self.place);
        Box::pin(async move { place.within_lease(place.run_item(&arguments, &work)).await })
    }
}

impl Place {
    async fn run_item(&self, arguments: &Value, work: &Work) -> Ended {
        let item_job = item(arguments).and_then(|it| Some((it, self.jobs.get(&it)?)));
        let (Some((number, item_job)), Some(job)) = (item_job, job(arguments)) else {
            return failed(
                "this run has no such item, or there is no such agent",
                Output::default(),
            );
        };
        if let Some(ended) = self.check_interrupted(number, item_job, work).await {
            return ended;
        }
        item_job.ended(self.run_agent(number, &job, work).await)
    }

    async fn run_agent(&self, number: Number, job: &Job<'_>, work: &Work) -> Ended {
        let agent = job.agent.as_str();
        let command = program::command(job, &self.directory, &self.environment);
        let command = command.env("PUNCHLIST_ITEM", number.to_string());
        let stream = WorkerStream::new(job.agent, &self.directory.to_string_lossy());
        let mut heard = |heard| match heard {
            Heard::News(news) => self.report(number, news, work),
            Heard::Session(session) => self.reports.send(Report::Session(number, session)),
            Heard::Used(_) => {}
        };
        let ran = match program::run(command, stream, work, None, &mut heard).await {
            Ok(ran) => ran,
            Err(why) => {
                let what =
                    format!("{agent} did not start: {why}; install it, or name another agent");
                return failed(&what, Output::default());
            }
        };
        let program::Ran { exit, ended, stderr, doing, .. } = ran;
        if let Some(id) = ended.session.clone() {
            let key = SessionKey { agent: agent.to_owned(), id };
            self.take_over(number, key).await;
        }
        let output = |text: String| Output::text(text);
        if work.is_stopping() {
            let said = outputs::joined(doing, output(ended.answer));
            return failed(&format!("{agent} was stopped"), said);
        }
        if let Err(why) = exit {
            return failed(&format!("{agent}: {why}"), output(ended.answer));
        }
        if let Some(why) = ended.failure {
            let said = if stderr.trim().is_empty() { ended.answer } else { stderr };
            let why = one_line(&why);
            let what = format!("{agent}: {why}; `{agent}`, started here by hand, tells more");
            return failed(&what, output(said));
        }
        let said = Some(mask(&ended.answer).into_owned()).filter(|it| !it.is_empty());
        self.verified(number, output(ended.answer), said, work).await
    }

    /// Passes on what the worker reported.
    fn report(&self, number: Number, news: News, work: &Work) {
        match news {
            News::Doing(text) => work.say(Line { stream: Stream::Out, text }),
            News::List(list) => {
                let entry =
                    |it: punchlist_model::ListEntry| Entry { title: it.title, status: it.status };
                self.reports.send(Report::List(number, list.into_iter().map(entry).collect()));
            }
        }
    }

    /// Takes over the worker's own list, as entries under its item.
    async fn take_over(&self, number: Number, key: SessionKey) {
        let now = self.around.now();
        let Ok(ids) = self.around.ids(now) else { return };
        let ctx = Ctx { now, ids, ..self.ctx.clone() };
        let to = Destination { plan: self.plan, title: &self.title, item: number };
        match worker_session::taken_over(&*self.store, key, to, &ctx).await {
            Ok(list) if list.is_empty() => {}
            Ok(list) => self.reports.send(Report::List(number, list)),
            // The item's result does not depend on the worker's own list.
            Err(why) => {
                let note =
                    format!("the list of item {number}'s worker was left where it is: {why}");
                self.reports.send(Report::Note(note));
            }
        }
    }
}
