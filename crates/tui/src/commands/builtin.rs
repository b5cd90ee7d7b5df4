//! The built-in commands and their results.

use serde_json::json;

use super::outcome::{
    Deed, Dialog, History, Message, Outcome, Prompt, QueueChange, ShellQuestion, ToolRequest,
};
use super::{Action, Command, When};
use crate::theme::Theme;

/// The argument of a command that takes a plan file.
pub(super) const PLAN_FILE: &str = "PLAN.md [--fresh]";

type Run = fn(&str) -> Result<Outcome, String>;

/// All built-in commands, in the order of the help.
pub(super) fn all() -> Vec<Command> {
    [messages(), dialogs(), others()].concat()
}

fn messages() -> Vec<Command> {
    let message = |name, text, run: Run| command(name, text, When::AnyTime, Action::Run(run));
    vec![
        Command {
            arguments: "[COMMAND]".to_owned(),
            aliases: &["h"],
            ..command("help", "show the commands", When::AnyTime, Action::Help)
        },
        Command {
            aliases: &["todos"],
            ..message("todo", "show the to-do list", |_| Ok(Outcome::Message(Message::Todo)))
        },
        Command {
            sub_commands: queue(),
            ..message("queue", "show the queued messages", |_| change(QueueChange::Show))
        },
        message("tools", "show the model's tools", |_| Ok(Outcome::Message(Message::Tools))),
        message("mcp", "show the MCP servers", |_| Ok(Outcome::Message(Message::Mcp))),
        message("doctor", "find out what does not work", |_| Ok(Outcome::Message(Message::Doctor))),
        Command {
            sub_commands: vec![
                command("list", "show the commands from files", When::AnyTime, Action::List),
                message("reload", "read the command files again", |_| {
                    Ok(Outcome::Message(Message::Reload))
                }),
            ],
            ..command("commands", "commands from files", When::AnyTime, Action::Children)
        },
    ]
}

fn queue() -> Vec<Command> {
    let sub = |name, text, arguments: &str, run: Run| Command {
        arguments: arguments.to_owned(),
        ..command(name, text, When::AnyTime, Action::Run(run))
    };
    vec![
        sub("go", "take a paused queue up again", "", |_| change(QueueChange::Go)),
        sub("edit", "take a message back into the input", "NUMBER", |it| {
            change(QueueChange::Edit(number(it)?))
        }),
        sub("remove", "remove a message", "NUMBER", |it| change(QueueChange::Remove(number(it)?))),
        sub("move", "move a message to another place", "NUMBER PLACE", |it| {
            let (one, to) = it.split_once(char::is_whitespace).unwrap_or((it, ""));
            change(QueueChange::Move { number: number(one)?, to: number(to)? })
        }),
        sub("send", "send a message now, if the agent is idle", "NUMBER", |it| {
            change(QueueChange::Send(number(it)?))
        }),
    ]
}

fn dialogs() -> Vec<Command> {
    let dialog = |name, text, run: Run| command(name, text, When::AnyTime, Action::Run(run));
    vec![
        Command {
            sub_commands: vec![Command {
                arguments: "TITLE".to_owned(),
                ..dialog("new", "make a new plan", |it| {
                    Ok(Outcome::Dialog(Dialog::NewPlan(it.to_owned())))
                })
            }],
            ..dialog("plan", "open the plan", |_| Ok(Outcome::Dialog(Dialog::Plan)))
        },
        Command {
            arguments: "[NAME]".to_owned(),
            ..dialog("model", "choose the model", |it| {
                Ok(Outcome::Dialog(Dialog::Model(optional(it))))
            })
        },
        Command {
            aliases: &["permissions"],
            ..dialog("approvals", "open questions and rules", |_| {
                Ok(Outcome::Dialog(Dialog::Approvals))
            })
        },
        dialog("sessions", "choose a session", |_| Ok(Outcome::Dialog(Dialog::Sessions))),
        dialog("watch", "watch all agents", |_| Ok(Outcome::Dialog(Dialog::Watch))),
        Command {
            arguments: "[NAME]".to_owned(),
            values: &Theme::NAMES,
            ..dialog("theme", "choose the colours", |it| {
                Ok(Outcome::Dialog(Dialog::Theme(optional(it))))
            })
        },
        dialog("team", "talk to several agents", |_| Ok(Outcome::Dialog(Dialog::Team))),
    ]
}

fn others() -> Vec<Command> {
    let idle = |name, text, arguments: &str, run: Run| Command {
        arguments: arguments.to_owned(),
        ..command(name, text, When::WhenIdle, Action::Run(run))
    };
    vec![
        idle("resume", "go on with an earlier session", "[SESSION]", |it| {
            Ok(Outcome::LoadHistory(History::Session(optional(it))))
        }),
        Command {
            aliases: &["new"],
            ..idle("clear", "begin a new conversation", "", |_| {
                Ok(Outcome::LoadHistory(History::Empty))
            })
        },
        idle("compact", "summarise the conversation", "[WHAT TO KEEP]", |it| {
            Ok(Outcome::Submit(Prompt::Compact(optional(it))))
        }),
        idle("goal", "set the goal and work towards it", "TEXT", |it| {
            Ok(Outcome::Submit(Prompt::Goal(it.to_owned())))
        }),
        Command {
            when: When::AnyTime,
            ..idle("run", "run a plan file", PLAN_FILE, |it| {
                let (path, fresh) = match it.strip_suffix("--fresh") {
                    Some(path) if path.ends_with(char::is_whitespace) => (path.trim_end(), true),
                    Some(_) | None => (it, false),
                };
                if path.split_whitespace().any(|it| it.starts_with("--")) {
                    return Err("its only option is --fresh, at the end".to_owned());
                }
                let input = json!({ "path": path, "fresh": fresh });
                Ok(Outcome::Schedule(ToolRequest { tool: "run", input }))
            })
        },
        Command {
            when: When::AnyTime,
            ..idle("export", "write the session to a file", "[FILE]", |it| {
                let input = optional(it).map_or_else(|| json!({}), |it| json!({ "path": it }));
                Ok(Outcome::Schedule(ToolRequest { tool: "export", input }))
            })
        },
        idle("verify", "run the checks of an item, or all", "[ITEM]", |it| {
            Ok(Outcome::ConfirmShell(ShellQuestion::Checks(optional(it))))
        }),
        idle("forget", "erase the texts of items for ever", "ITEM…", |it| {
            Ok(Outcome::Confirm(Deed::Forget(it.to_owned())))
        }),
        Command {
            when: When::AnyTime,
            aliases: &["exit", "q"],
            ..idle("quit", "leave Punchlist", "", |_| Ok(Outcome::Quit))
        },
    ]
}

fn command(name: &str, description: &str, when: When, action: Action) -> Command {
    Command {
        name: name.to_owned(),
        aliases: &[],
        description: description.to_owned(),
        arguments: String::new(),
        values: &[],
        when,
        action,
        sub_commands: Vec::new(),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the result of a command's function")]
fn change(change: QueueChange) -> Result<Outcome, String> {
    Ok(Outcome::Message(Message::Queue(change)))
}

fn optional(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn number(text: &str) -> Result<usize, String> {
    let number = text.trim().trim_start_matches('#').parse().ok().filter(|it| *it > 0);
    number.ok_or_else(|| format!("`{}` is not a number in the queue", text.trim()))
}
