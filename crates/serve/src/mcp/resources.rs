//! Plans as resources.
//!
//! `punchlist://plan/current` is the caller's plan, `punchlist://plan/ID` any plan of the project.
//! Both are Markdown, or JSON with `.json` appended. Plans of other projects are not found.

use std::collections::BTreeSet;

use punchlist_formats::text::{one_line, truncate};
use punchlist_formats::view::{json, markdown};
use punchlist_model::session::Store;
use punchlist_model::store::{Error, Filter, Summary};
use punchlist_model::{Plan, PlanId};
use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceResult, RequestMetaObject, Resource, ResourceContents, ResourceTemplate,
};

use super::Server;
use punchlist_engine::tool_service;

const ROOT: &str = "punchlist://plan/";
const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";

/// How many plans are listed per page.
const PAGE: usize = 100;

/// A parsed URI of a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub(super) which: Which,
    json: bool,
}

/// Which plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    Current,
    Plan(PlanId),
}

impl Address {
    /// Parses a URI; `None` if it is not one of ours.
    pub(super) fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(ROOT)?;
        let (name, json) = match rest.strip_suffix(".json") {
            Some(name) => (name, true),
            None => (rest, false),
        };
        let which = match name {
            "current" => Which::Current,
            // Only the canonical form, so that an id has only one URI.
            _ => Which::Plan(name.parse::<PlanId>().ok().filter(|id| id.to_string() == name)?),
        };
        Some(Self { which, json })
    }
}

impl Server {
    pub(super) async fn resources(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let from = match page.and_then(|page| page.cursor) {
            None => 0,
            Some(cursor) => cursor
                .parse::<usize>()
                .map_err(|_| ErrorData::invalid_params("unknown cursor", None))?,
        };
        let mut resources = Vec::new();
        if from == 0 {
            let current = Resource::new(format!("{ROOT}current"), "current")
                .with_title("Current plan")
                .with_description("The plan of this session")
                .with_mime_type(MARKDOWN);
            resources.push(current);
        }
        let plans = self.with_store(|server| async move {
            let Some(store) = server.inner.around.store_to_read()? else { return Ok(Vec::new()) };
            let project = Some(server.inner.options.project.clone());
            store.plans(Filter { project, ..Filter::default() }).await
        });
        let plans = plans.await.map_err(unusable)?;
        resources.extend(plans.iter().skip(from).take(PAGE).map(resource));
        let mut result = ListResourcesResult::with_all_items(resources);
        let to = from.saturating_add(PAGE);
        result.next_cursor = (to < plans.len()).then(|| to.to_string());
        Ok(result)
    }

    pub(super) fn templates(&self) -> ListResourceTemplatesResult {
        let template = |uri: &str, title: &str, mime| {
            ResourceTemplate::new(format!("{ROOT}{uri}"), "plan")
                .with_title(title)
                .with_description("A plan of this project by its id, or `current`")
                .with_mime_type(mime)
        };
        ListResourceTemplatesResult::with_all_items(vec![
            template("{id}", "Plan", MARKDOWN),
            template("{id}.json", "Plan as JSON", JSON),
        ])
    }

    pub(super) async fn resource(
        &self,
        uri: String,
        meta: &RequestMetaObject,
    ) -> Result<ReadResourceResult, ErrorData> {
        let missing = || {
            let uri: String = uri.chars().take(200).collect();
            ErrorData::resource_not_found(format!("there is no resource {uri:?}"), None)
        };
        let address = Address::parse(&uri).ok_or_else(missing)?;
        let plan = self.plan(address.which, meta).await.map_err(unusable)?;
        let (text, mime) = match (plan, address) {
            (Some(plan), Address { json: true, .. }) => {
                (json::render(&json::list(&plan, None, &BTreeSet::new())), JSON)
            }
            (Some(plan), Address { json: false, .. }) => (shown(&plan), MARKDOWN),
            (None, Address { which: Which::Current, json: true }) => ("null".to_owned(), JSON),
            (None, Address { which: Which::Current, json: false }) => {
                ("Nothing is planned yet.\n".to_owned(), MARKDOWN)
            }
            (None, Address { which: Which::Plan(_), .. }) => return Err(missing()),
        };
        let contents = ResourceContents::text(text, uri).with_mime_type(mime);
        Ok(ReadResourceResult::new(vec![contents]))
    }

    /// The plan, if it exists and belongs to this project.
    pub(super) async fn plan(
        &self,
        which: Which,
        meta: &RequestMetaObject,
    ) -> Result<Option<Plan>, Error> {
        let meta = meta.clone();
        let plan = self.with_store(move |server| async move {
            let Some(store) = server.inner.around.store_to_read()? else { return Ok(None) };
            let id = match which {
                Which::Plan(id) => id,
                Which::Current => match server.current(&*store, &meta).await? {
                    Some(id) => id,
                    None => return Ok(None),
                },
            };
            match store.whole(id).await {
                Err(Error::NoPlan(_)) => Ok(None),
                plan => plan.map(Some),
            }
        });
        Ok(plan.await?.filter(|it| it.project == self.inner.options.project))
    }

    /// The caller's plan.
    pub(super) async fn current(
        &self,
        store: &dyn Store,
        meta: &RequestMetaObject,
    ) -> Result<Option<PlanId>, Error> {
        let who = self.inner.around.who(Some(store), meta).await?;
        tool_service::current(store, &who.caller).await
    }
}

/// A store's error as a protocol error.
fn unusable(error: Error) -> ErrorData {
    ErrorData::internal_error(one_line(&error.to_string()).into_owned(), None)
}

fn resource(plan: &Summary) -> Resource {
    let clean = |text: &str| {
        // Cut first, so that not ten megabytes are escaped for one line.
        let head: String = text.chars().take(400).collect();
        truncate(&one_line(&head), 100).into_owned()
    };
    let name = plan.name.as_deref().map(clean).filter(|it| !it.is_empty());
    let title = Some(clean(&plan.title)).filter(|it| !it.is_empty());
    let short = plan.id.short();
    let progress = plan.progress;
    let by = plan.attachment.as_ref().map(|it| format!("; of {}", clean(&it.agent)));
    let description = format!(
        "{} of {} done, {}{}",
        progress.completed,
        progress.total,
        plan.end.words(),
        by.unwrap_or_default()
    );
    Resource::new(format!("{ROOT}{}", plan.id), name.clone().unwrap_or_else(|| short.clone()))
        .with_title(title.or(name).unwrap_or_else(|| format!("Plan {short}")))
        .with_description(description)
        .with_mime_type(MARKDOWN)
}

/// The list as text for people.
fn shown(plan: &Plan) -> String {
    let text = markdown::markdown(plan);
    if text.is_empty() { "Nothing is on the list.\n".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_understood_in_one_spelling_only() {
        let id = "eae61624-60b3-8350-8788-25e253aa4fb0";
        let plan = Which::Plan(id.parse().unwrap());
        for (uri, expected) in [
            ("punchlist://plan/current".to_owned(), Some((Which::Current, false))),
            ("punchlist://plan/current.json".to_owned(), Some((Which::Current, true))),
            (format!("punchlist://plan/{id}"), Some((plan, false))),
            (format!("punchlist://plan/{id}.json"), Some((plan, true))),
            (format!("punchlist://plan/{}", id.to_uppercase()), None),
            (format!("punchlist://plan/{}", id.replace('-', "")), None),
            ("punchlist://plan/".to_owned(), None),
            ("punchlist://plan/../x".to_owned(), None),
            ("file:///etc/passwd".to_owned(), None),
            (String::new(), None),
        ] {
            let found = Address::parse(&uri).map(|it| (it.which, it.json));
            assert_eq!(found, expected, "{uri}");
        }
    }
}
