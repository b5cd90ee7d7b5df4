//! Exporting plans to a file, with their journals.

use punchlist_model::session::Store;
use punchlist_model::store::Filter;
use punchlist_model::{Plan, Revision};

use crate::fail::Fail;

/// Exports one plan.
pub async fn one(store: &dyn Store, plan: &Plan) -> Result<String, Fail> {
    let mut journal = store.journal(plan.id, Revision(0), u32::MAX).await?;
    // Somebody may have changed the plan between the two reads.
    journal.retain(|entry| entry.revision <= plan.revision);
    super::write(plan, journal)
}

/// Exports all plans. Returns a note for each plan that cannot be read and is left out.
pub async fn all(store: &dyn Store) -> Result<(String, Vec<String>), Fail> {
    let (mut file, mut notes) = (String::new(), Vec::new());
    for summary in store.plans(Filter::default()).await? {
        let text = match store.whole(summary.id).await {
            Ok(plan) => one(store, &plan).await,
            Err(error) => Err(error.into()),
        };
        match text {
            Ok(text) => file.push_str(&text),
            Err(why) => {
                let id = summary.id.short();
                notes.push(format!("plan {id} cannot be read and is left out: {}", why.message));
            }
        }
    }
    Ok((file, notes))
}
