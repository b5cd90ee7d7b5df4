//! `punchlist run --dry-run`: shows what would run and in which order. Changes nothing.

use punchlist_engine::run::{Person, Source, preview};

use super::{Ask, caller, permissions};
use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::print::{self, Reply};

/// Shows what would run.
pub(super) fn run(app: &App, ask: &Ask, source: Source) -> Result<Reply, Fail> {
    let store = app.store_to_read()?;
    let caller = caller(app, Person { is_there: false, is_agent: false })?;
    let permissions = permissions(app, source.directory())?;
    let preview = block_on(preview(source, &ask.options, store.as_deref(), &caller, &permissions))?;
    print::notes(&preview.notes, app.globals.json);
    if app.globals.json {
        return Ok(Reply::json(&preview.json()));
    }
    let screen = app.screen();
    Ok(Reply::text(screen.drawn(&preview.lines(ask.jobs, &app.view(screen)))))
}
