//! The lists that the terminal UI offers, as rows.

use punchlist_agent::session::listing;
use punchlist_engine::policy::given::Given;
use punchlist_engine::policy::rules::{Rules, Whose};
use punchlist_formats::text::{Glyphs, Line, Style, isolated, one_line};
use punchlist_formats::view::{Options, duration, plans, questions};
use punchlist_model::call::Question;
use punchlist_model::store::Summary;
use punchlist_model::store::turns::Conversation;
use punchlist_model::{End, PlanId};

use super::RowId;
use super::list::{ListDialog, ListRow};
use super::pager::text_lines;
use crate::theme::Theme;

impl ListDialog {
    /// The plans of a project, to choose one. `current` is the plan in use.
    pub(crate) fn plans(all: &[Summary], current: Option<PlanId>, options: &Options) -> Self {
        let row = |it: &Summary| {
            let state = match it.end {
                _ if it.archived => "archived",
                End::Open => "open",
                End::Drained => "finished",
                End::Stopped => "stopped",
            };
            let counts = format!("{}/{}", it.progress.completed, it.progress.total);
            let age = duration::ago(it.updated_at, options.now);
            let name = it.name.as_deref().filter(|_| !it.title.is_empty());
            let name = name.map(|it| format!("{it}: ")).unwrap_or_default();
            ListRow {
                note: format!("{counts}  {state}  {age}"),
                is_current: Some(it.id) == current,
                preview: fields(&[
                    ("id", &it.id.to_string()),
                    ("name", it.name.as_deref().unwrap_or_default()),
                    ("project", &it.project),
                    ("agent", it.attachment.as_ref().map_or("", |it| it.agent.as_str())),
                    ("progress", &format!("{counts} ({}%)", it.progress.percent)),
                    ("changed", &age),
                ]),
                ..ListRow::new(RowId::Plan(it.id), format!("{name}{}", plans::called(it)))
            }
        };
        let mut rows: Vec<ListRow> = all.iter().map(row).collect();
        rows.push(ListRow::new(RowId::New, "New plan"));
        rows.push(ListRow::new(RowId::PlanFile, "Run a plan file"));
        Self::new("Plans", "There is no plan yet.", rows, options.glyphs)
    }

    /// The stored sessions. `is_running` says whether a process runs a session.
    pub(crate) fn sessions(
        all: &[Conversation],
        is_running: impl Fn(&Conversation) -> bool,
        options: &Options,
    ) -> Self {
        let row = |it: &Conversation| {
            let runs = is_running(it);
            let state = listing::state(it, runs, options.now);
            let age = duration::ago(it.changed_at, options.now);
            let tokens = it.used.input.saturating_add(it.used.output);
            ListRow {
                note: format!("{state}  {age}"),
                can_delete: !runs,
                preview: fields(&[
                    ("id", &it.id.to_string()),
                    ("state", &state),
                    ("directory", &it.directory),
                    ("turns", &it.turns.to_string()),
                    ("tokens", &tokens.to_string()),
                    ("changed", &age),
                    ("about", &it.title),
                ]),
                ..ListRow::new(RowId::Session(it.id), it.title.clone())
            }
        };
        let rows = all.iter().map(row).collect();
        Self::new("Sessions", "There is no session here yet.", rows, options.glyphs)
    }

    /// The models: their names, and what each lacks, if anything.
    pub(crate) fn models(
        all: &[(String, Option<String>)],
        current: Option<&str>,
        glyphs: Glyphs,
    ) -> Self {
        let row = |(name, lacks): &(String, Option<String>)| ListRow {
            note: lacks.clone().unwrap_or_default(),
            preview: lacks.as_deref().map(text_lines).unwrap_or_default(),
            is_current: Some(name.as_str()) == current,
            ..ListRow::new(RowId::Model(name.clone()), name.clone())
        };
        let empty = "No model is configured. `punchlist models` says how to configure one.";
        Self::new("Models", empty, all.iter().map(row).collect(), glyphs)
    }

    /// The themes.
    pub(crate) fn themes(current: &str, glyphs: Glyphs) -> Self {
        let row = |name: &&str| ListRow {
            is_current: *name == current,
            ..ListRow::new(RowId::Theme((*name).to_owned()), *name)
        };
        Self::new("Themes", "There is no theme.", Theme::NAMES.iter().map(row).collect(), glyphs)
    }

    /// The questions that wait, the policy rules, and what the person has allowed besides. The person's
    /// own rules and consents can be deleted.
    pub(crate) fn approvals(waiting: &[Question], given: &Approvals, options: &Options) -> Self {
        let question = |it: &Question| {
            let narrow = Options { width: 80, ..options.clone() };
            ListRow {
                group: "Waiting for you".to_owned(),
                note: duration::ago(it.asked.at, options.now),
                preview: questions::questions(std::slice::from_ref(it), &narrow),
                ..ListRow::new(RowId::Question(it.asked.id), questions::sentence(&it.asked))
            }
        };
        let mut rows: Vec<ListRow> = waiting.iter().map(question).collect();
        let Approvals { rules, user_file, project_file, consents } = given;
        for (whose, group, placed, file) in [
            (Whose::User, "Your rules", &rules.user, user_file),
            (Whose::Project, "Rules of the project", &rules.project, project_file),
        ] {
            rows.extend(placed.iter().map(|it| {
                let (line, text) = (it.line.to_string(), it.rule.to_toml());
                let mut preview = fields(&[("file", file), ("line", &line)]);
                preview.push(Line::new());
                preview.extend(text_lines(&text));
                ListRow {
                    group: group.to_owned(),
                    note: format!("line {line}"),
                    preview,
                    can_delete: whose == Whose::User,
                    ..ListRow::new(RowId::Rule(whose, Box::new(it.clone())), it.rule.to_string())
                }
            }));
        }
        rows.extend(consents.iter().map(|it| {
            let no = if it.is_allowed { "" } else { "no: " };
            ListRow {
                group: "What you have answered besides".to_owned(),
                note: it.project.clone().unwrap_or_default(),
                preview: fields(&[
                    ("name", &it.name),
                    ("project", it.project.as_deref().unwrap_or_default()),
                    ("answer", if it.is_allowed { "yes" } else { "no" }),
                    ("about", &it.what),
                ]),
                can_delete: true,
                ..ListRow::new(RowId::Consent(it.clone()), format!("{}  {no}{}", it.name, it.what))
            }
        }));
        let empty = "No question waits, and there are no rules.";
        Self::new("Approvals", empty, rows, options.glyphs)
    }

    /// The members of the team: name, display name, and what the member is.
    pub(crate) fn members(all: &[TeamMember], glyphs: Glyphs) -> Self {
        let row = |(name, display, about): &TeamMember| ListRow {
            group: "Members".to_owned(),
            note: about.clone(),
            ..ListRow::new(RowId::Member(name.clone()), format!("@{name}  {display}"))
        };
        let mut rows: Vec<ListRow> = all.iter().map(row).collect();
        if !rows.is_empty() {
            rows.insert(0, ListRow::new(RowId::Team, "Begin a conversation with the team"));
        }
        let empty = "There is no team. `[team]` in the configuration names its members.";
        Self::new("Team", empty, rows, glyphs)
    }
}

/// A member of the team: its name, its display name, and what it is.
pub type TeamMember = (String, String, String);

/// What the person has allowed, and what rules say.
#[derive(Clone, Debug, Default)]
pub struct Approvals {
    /// The rules.
    pub rules: Rules,
    /// The file of the user's rules.
    pub user_file: String,
    /// The file of the project's rules.
    pub project_file: String,
    /// What was allowed or refused besides rules.
    pub consents: Vec<Given>,
}

/// The fields that are not empty, one line each.
fn fields(all: &[(&'static str, &str)]) -> Vec<Line> {
    let line = |(name, value): &(&'static str, &str)| {
        let mut line = Line::of(name, Style::Dim);
        line.fill(10).push(&isolated(&one_line(value)), Style::Plain);
        line
    };
    all.iter().filter(|it| !it.1.is_empty()).map(line).collect()
}
