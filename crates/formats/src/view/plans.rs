//! All plans, one line each.

use std::borrow::Cow;
use std::collections::BTreeSet;

use punchlist_model::event::TOMBSTONE;
use punchlist_model::store::{AttachmentKey, Summary};
use punchlist_model::{End, PlanId};
use serde_json::{Value, json};

use super::{Options, duration, list};
use crate::text::width::{pad_left, truncate_with};
use crate::text::{Colour, Line, Style, isolated, one_line, pad, width};

/// The width of a bar.
const BAR: usize = 10;
/// The maximal width of agent and project.
const WORD: usize = 16;
/// The minimal width of titles; another column is left out first.
const TITLE: usize = 24;

/// One line per plan: id, title, progress, state, agent, project (if there are several), age.
///
/// Where there is little room, columns go from the right; ids, titles and counts stay. `live` are
/// the plans of live sessions.
pub fn plans(summaries: &[Summary], live: &BTreeSet<PlanId>, options: &Options) -> Vec<Line> {
    let projects: BTreeSet<&str> = summaries.iter().map(|it| it.project.as_str()).collect();
    let rows: Vec<Row> =
        summaries.iter().map(|it| Row::of(it, projects.len() > 1, live, options)).collect();
    let most = |of: fn(&Row) -> &str| rows.iter().map(|row| width(of(row))).max().unwrap_or(0);
    let widths = Widths {
        count: most(|row| &row.count),
        state: most(|row| row.state),
        agent: most(|row| &row.agent),
        project: most(|row| &row.project),
        age: most(|row| &row.age),
        title: most(|row| &row.title),
    };
    rows.iter().map(|row| row.draw(&widths, options)).collect()
}

struct Row {
    id: String,
    title: String,
    count: String,
    progress: (u32, u32),
    end: End,
    state: &'static str,
    agent: String,
    project: String,
    age: String,
}

struct Widths {
    count: usize,
    state: usize,
    agent: usize,
    project: usize,
    age: usize,
    title: usize,
}

impl Row {
    fn of(
        summary: &Summary,
        with_project: bool,
        live: &BTreeSet<PlanId>,
        options: &Options,
    ) -> Self {
        let title = match (&summary.name, one_line(&summary.title)) {
            (Some(name), title) if title.is_empty() => one_line(name).into_owned(),
            (Some(name), title) => format!("{}: {title}", one_line(name)),
            (None, title) if title.is_empty() => "(no title)".to_owned(),
            (None, title) => title.into_owned(),
        };
        let word = |text: &str| {
            truncate_with(&one_line(text), WORD, options.glyphs.ellipsis()).into_owned()
        };
        // A plan of an agent's session is attached to the conversation with the session's id.
        let agent = |key: &AttachmentKey| {
            let id: String = key.conversation.chars().take(8).collect();
            let name =
                if id.is_empty() { key.agent.clone() } else { format!("{}:{id}", key.agent) };
            let live = if live.contains(&summary.id) { " (live)" } else { "" };
            word(&name) + live
        };
        let folder = summary.project.rsplit(['/', '\\']).find(|it| !it.is_empty());
        Self {
            id: summary.id.short(),
            title,
            count: format!("{}/{}", summary.progress.completed, summary.progress.total),
            progress: (summary.progress.completed, summary.progress.total),
            end: summary.end,
            state: match summary.end {
                _ if summary.archived => "archived",
                End::Open => "open",
                End::Drained => "finished",
                End::Stopped => "stopped",
            },
            agent: summary.attachment.as_ref().map(agent).unwrap_or_default(),
            project: if with_project { word(folder.unwrap_or("/")) } else { String::new() },
            age: duration::ago(summary.updated_at, options.now),
        }
    }

    fn draw(&self, widths: &Widths, options: &Options) -> Line {
        let all = usize::from(options.width);
        let always = 4 + 2 + 2 + widths.count;
        let mut room = all.saturating_sub(always);
        // Columns in order of importance; each is used only if titles keep their minimal width.
        let mut take = |columns: usize| {
            let fits = columns > 0 && room >= TITLE + columns + 2;
            room -= if fits { columns + 2 } else { 0 };
            fits
        };
        let (state, age, agent, project, bar) = (
            take(widths.state),
            take(widths.age),
            take(widths.agent),
            take(widths.project),
            take(BAR),
        );
        let title = room.min(widths.title);

        let mut line = Line::new();
        line.push(&self.id, Style::Bold).push("  ", Style::Plain);
        let start = line.width();
        line.push_text(&self.title, title, options.glyphs, Style::Plain).fill(start + title);
        line.push("  ", Style::Plain).push(&pad_left(&self.count, widths.count), Style::Plain);
        if bar {
            line.push("  ", Style::Plain);
            list::bar(&mut line, self.progress.0, self.progress.1, BAR, options);
        }
        if state {
            let style = match self.end {
                End::Open => Style::Plain,
                End::Drained => Style::In(Colour::Green),
                End::Stopped => Style::In(Colour::Yellow),
            };
            line.push("  ", Style::Plain).push(&pad(self.state, widths.state), style);
        }
        for (wanted, text, columns) in
            [(agent, &self.agent, widths.agent), (project, &self.project, widths.project)]
        {
            if wanted {
                line.push("  ", Style::Plain).push(&pad(&isolated(text), columns), Style::Plain);
            }
        }
        if age {
            line.push("  ", Style::Plain).push(&pad_left(&self.age, widths.age), Style::Dim);
        }
        line
    }
}

/// The name of a plan: its title, its name or its id.
pub fn called(plan: &Summary) -> Cow<'_, str> {
    match (&plan.name, plan.title.as_str()) {
        (Some(name), "") => name.into(),
        (None, "") if plan.attachment.is_none() => "(the project's own)".into(),
        (None, "") => "(no title)".into(),
        (_, title) => title.into(),
    }
}

/// How many plans an overview leaves out, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Folded {
    finished: usize,
    archived: usize,
    deleted: usize,
}

impl Folded {
    /// Removes the plans that an overview leaves out, except those of live sessions.
    pub fn away(summaries: &mut Vec<Summary>, live: &BTreeSet<PlanId>) -> Self {
        let mut folded = Self::default();
        summaries.retain(|plan| {
            let count = match plan.end {
                _ if live.contains(&plan.id) => return true,
                _ if plan.title == TOMBSTONE => &mut folded.deleted,
                _ if plan.archived => &mut folded.archived,
                End::Drained => &mut folded.finished,
                End::Open | End::Stopped => return true,
            };
            *count += 1;
            false
        });
        folded
    }

    /// A line that says how many plans are left out; empty if none are.
    pub fn line(self) -> String {
        let counts = [(self.finished, "finished"), (self.archived, "archived")];
        let words: Vec<String> =
            counts.iter().filter(|it| it.0 > 0).map(|(n, word)| format!("{n} {word}")).collect();
        if words.is_empty() {
            return String::new();
        }
        format!("{} not shown: punchlist plans --finished\n", words.join(", "))
    }

    /// The counts for programs.
    pub fn json(self) -> Value {
        let Self { finished, archived, deleted } = self;
        json!({"finished": finished, "archived": archived, "deleted": deleted})
    }
}
