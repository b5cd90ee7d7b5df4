//! Erases the texts of an item or a plan, and the outputs that are kept in files.

use std::path::Path;

use punchlist_model::session::Store;
use punchlist_model::store::Applied;
use punchlist_model::{Broken, Ctx, ItemRef, Number, Refusal, Slice};

use crate::fail::Fail;
use crate::outputs;

/// What to erase: an item of a plan, or the whole plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Erasure<'a> {
    plan: &'a Slice,
    item: Option<(ItemRef, Number)>,
}

impl<'a> Erasure<'a> {
    /// Finds the item, if one is named.
    pub fn find(plan: &'a Slice, item: Option<ItemRef>) -> Result<Self, Fail> {
        let found = |item: ItemRef| {
            let what = item.to_string();
            let number = plan.find(&item).map_err(Refusal::one)?;
            let number = number.ok_or_else(|| Refusal::one(Broken::NotFound { what }))?;
            Ok::<_, Refusal>((item, number))
        };
        Ok(Self { plan, item: item.map(found).transpose()? })
    }

    /// The question that a person must confirm.
    pub fn question(&self) -> String {
        let Some((_, number)) = &self.item else {
            let plan = self.plan;
            let name = plan.name.as_deref().unwrap_or(&plan.title);
            let name = if name.is_empty() { String::new() } else { format!(" {name:?}") };
            return format!("Erase every text of plan {}{name} for ever?", plan.id.short());
        };
        let title = self.plan.get(*number).map(|it| it.title.chars().take(80).collect());
        let title: String = title.unwrap_or_default();
        format!("Erase every text of item {number} {title:?} for ever?")
    }

    /// Erases the outputs in `directory`, then the texts. The outputs come first because the store
    /// still knows where they are.
    pub async fn apply(
        self,
        store: &dyn Store,
        directory: &Path,
        ctx: Ctx,
    ) -> Result<Applied, Fail> {
        let (item, number) = self.item.unzip();
        outputs::erase(&outputs::of(store, directory, self.plan.id, number).await?)?;
        Ok(store.forget(self.plan.id, item, ctx).await?)
    }
}
