//! Lists of plans: which plans, and how many there are.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::turns::TextSearch;
use crate::id::PlanId;
use crate::slice::Slice;

/// Which plans to return.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Only plans of this project.
    pub project: Option<String>,
    /// Only plans with this name.
    pub name: Option<String>,
    /// Only plans whose id begins or ends with this, in lower case.
    pub id: Option<String>,
    /// Only plans whose title or name contains this text, in any case.
    pub text: Option<String>,
    /// Only archived plans, or only those that are not archived.
    pub archived: Option<bool>,
    /// Only plans that come after a plan that was changed at this time and has this id. So the next
    /// page of a list is found without reading the pages before it.
    pub after: Option<(Timestamp, PlanId)>,
    /// At most so many.
    pub most: Option<u32>,
}

impl Filter {
    /// Whether a plan matches. How many plans match already does not count.
    pub fn fits(&self, plan: &Slice) -> bool {
        self.project.as_ref().is_none_or(|it| *it == plan.project)
            && self.name.as_ref().is_none_or(|it| Some(it) == plan.name.as_ref())
            && self.archived.is_none_or(|it| it == plan.rules.archived)
            && self.after.is_none_or(|(at, id)| {
                plan.updated_at < at || (plan.updated_at == at && plan.id > id)
            })
            && self.id.as_deref().is_none_or(|it| has_id(plan.id, it))
            && self.text.as_deref().is_none_or(|it| has_text(plan, it))
    }

    /// At most so many.
    pub fn limit(&self) -> usize {
        self.most.map_or(usize::MAX, |it| usize::try_from(it).unwrap_or(usize::MAX))
    }

    /// The id, if it is a whole one: then at most one plan matches.
    pub fn whole_id(&self) -> Option<PlanId> {
        self.id.as_deref()?.parse().ok()
    }
}

/// Whether an id begins or ends like this.
fn has_id(id: PlanId, part: &str) -> bool {
    let simple = id.0.simple().to_string();
    simple.starts_with(part) || simple.ends_with(part) || id.to_string().starts_with(part)
}

fn has_text(plan: &Slice, text: &str) -> bool {
    let text = TextSearch::new(text);
    text.is_in_title(&plan.title) || plan.name.as_deref().is_some_and(|it| text.is_in_title(it))
}

/// What the plans of a project add up to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProjectSums {
    /// The project.
    pub project: String,
    /// How many plans it has.
    pub plans: u32,
    /// How many of them have open items and are not archived.
    pub unfinished: u32,
    /// How many of them are archived.
    pub archived: u32,
    /// How many items are open in all.
    pub open: u32,
    /// When one of them was last changed.
    pub updated_at: Timestamp,
}

impl ProjectSums {
    /// The sums of one plan.
    pub fn of(plan: &Slice) -> Self {
        let is_archived = plan.rules.archived;
        Self {
            project: plan.project.clone(),
            plans: 1,
            unfinished: u32::from(plan.open > 0 && !is_archived),
            archived: u32::from(is_archived),
            open: plan.open,
            updated_at: plan.updated_at,
        }
    }

    /// The projects by name, each once.
    pub fn merged(all: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut projects: BTreeMap<String, Self> = BTreeMap::new();
        for it in all {
            match projects.get_mut(&it.project) {
                Some(sums) => sums.add(&it),
                None => drop(projects.insert(it.project.clone(), it)),
            }
        }
        projects.into_values().collect()
    }

    /// Adds the sums of other plans.
    pub fn add(&mut self, other: &Self) {
        self.plans = self.plans.saturating_add(other.plans);
        self.unfinished = self.unfinished.saturating_add(other.unfinished);
        self.archived = self.archived.saturating_add(other.archived);
        self.open = self.open.saturating_add(other.open);
        self.updated_at = self.updated_at.max(other.updated_at);
    }
}
