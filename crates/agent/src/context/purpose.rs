//! What the model is told about the purpose of a call.

use crate::turn::{Ask, Offered, Purpose, Strategy};

const CLASSIFY: &str = "\
## Now: classify the task
Say whether the task of the last request is simple. Do not work on it.
A simple task is done directly, without a list: a simple factual question, a single tool call or \
two, casual conversation.
Any other task is planned as a TODO list with `{tool}` and worked off item by item: research or \
analysis of several steps, tool calls across different areas, a request that asks for several \
things.
Answer with JSON alone: {\"isSimple\": true or false, \"reasoning\": \"one sentence\"}";

const PLAN: &str = "\
## Now: plan
Plan the task, or what is left of it. Look at the list first and read what you need to know, but do \
not begin the work. Break the work into steps that can each be finished and checked, in the order \
in which they are to be done. Take up what a validation found missing. Skip items that became \
irrelevant, with a reason.
After planning, call {tool} to update the list and to add the steps to it. Then say in one \
sentence what the plan is.";

const ITEM: &str = "\
## Now: work on one item
Work on the item in progress, which is shown in full below the list, and on nothing else. Several \
tool calls in one answer are fine, but their number is limited. When the item is done, answer \
without a tool call and say what came of it: that completes the item, not the task. If the item \
became irrelevant or cannot be done, skip it with `{tool}` and give the reason. Put other work that \
you find on the list.";

const VALIDATE: &str = "\
## Now: validate
Nothing is open on the list. Say whether the user's request is fulfilled, all of it. Judge by what \
was done and by what the results show, not by claims. An item that was skipped is no reason by \
itself; a missing result is. Do not work on the task.
Answer with JSON alone: {\"isComplete\": true or false, \"reasoning\": \"why\", \"suggestions\": \
[\"what is left to do, one step each\"]}";

const DIRECT: &str = "\
## Now: do the task
The task is simple: do it directly, without a list. Then answer the user.";

const PLAN_ONLY: &str = "\
## Now: plan only
Put the steps of the task on the list with `{tool}` and begin no work: the user wants to read the \
plan first. Then say in a few sentences what the plan is.";

const LIMIT: &str = "\
## Now: answer
You have no more tool calls. Answer the user now, from what is there: what was done, what came of \
it, and what was not done and why. Do not present open items as done.";

const COMPLETE: &str = "\
## Now: answer
The task is complete. Write the final answer to the user's request from what was done.";

/// The section on the purpose of a call; `None` if the model is free to lead.
pub(super) fn section(ask: &Ask, strategy: Strategy, plan_tool: &str) -> Option<String> {
    let text = match (ask.purpose, strategy, ask.tools) {
        (Purpose::Classify, ..) => CLASSIFY,
        (Purpose::Work, _, Offered::Planning) => PLAN_ONLY,
        (Purpose::Plan, ..) => PLAN,
        (Purpose::Item(_), ..) => ITEM,
        (Purpose::Validate, ..) => VALIDATE,
        (Purpose::FinalAnswer, Strategy::Steps, _) => COMPLETE,
        (Purpose::FinalAnswer, Strategy::Supervisor, _)
        | (Purpose::Direct | Purpose::Work, _, Offered::Nothing) => LIMIT,
        (Purpose::Direct, ..) => DIRECT,
        (Purpose::Work, ..) => return None,
    };
    Some(text.replace("{tool}", plan_tool))
}
