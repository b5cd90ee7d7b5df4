//! Plan files as people write them, and how they are read.

mod hostile;
mod import;
mod read;

use std::fmt::Write as _;

use super::{PlanFile, draw};

/// The parsed file and its problems, as text.
fn described(text: &str) -> String {
    let file = super::read(text);
    let mut out = format!("title: {}\n", file.title.as_deref().unwrap_or("none"));
    out.push_str(&outline(&file));
    for problem in &file.problems {
        let _ = write!(out, "\n{}", draw("plan.md", text, problem));
    }
    out
}

fn outline(file: &PlanFile) -> String {
    let mut out = String::new();
    for (index, item) in file.items.iter().enumerate() {
        let deep = "  ".repeat(file.path(index).len() - 1);
        let _ = write!(out, "{deep}[{}] {} (line {})", item.tick.sign(), item.title, item.line);
        if !item.section.is_empty() {
            let _ = write!(out, " in {}", item.section);
        }
        out.push('\n');
        let mut say = |key: &str, value: &str| {
            let value = value.replace('\n', "⏎");
            let _ = writeln!(out, "{deep}    {key} {value}");
        };
        let fields = &item.fields;
        let texts = [
            ("run", &fields.run),
            ("verify", &fields.verify),
            ("agent", &fields.agent),
            ("criteria", &fields.criteria),
        ];
        for (key, value) in texts {
            if let Some(value) = value {
                say(key, value);
            }
        }
        if !fields.covers.is_empty() {
            say("covers", &fields.covers.join(" | "));
        }
        if !fields.after.is_empty() {
            let titles: Vec<_> = fields.after.iter().map(|it| file.path(*it).join("/")).collect();
            say("after", &titles.join(" | "));
        }
        if fields.approve {
            say("approve", "yes");
        }
        if let Some(retry) = fields.retry {
            say("retry", &format!("{} wait {:?}", retry.times, retry.wait));
        }
        if let Some(timeout) = fields.timeout {
            say("timeout", &timeout.to_string());
        }
        if !item.context.is_empty() {
            say("context", &item.context);
        }
    }
    out
}
