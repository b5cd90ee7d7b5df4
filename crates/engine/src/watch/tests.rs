//! A front end other than the binary: it looks, follows the store, and reads rows and lines.

use std::cell::RefCell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use punchlist_model::store::memory::Memory;
use punchlist_model::store::{Change, NewPlan, PlanStore};
use punchlist_model::{
    Actor, Ctx, Holder, IdSource, Limits, Mode, NewItem, Op, Process, Timestamp,
};

use super::*;

/// A fixed clock.
struct Fixed;

impl Around for Fixed {
    fn now(&self) -> Timestamp {
        at()
    }

    fn ids(&self, at: Timestamp) -> Result<IdSource, crate::Error> {
        Ok(IdSource::fixed(at, 7))
    }

    fn has_ended(&self, _: &Process) -> bool {
        false
    }
}

#[derive(Default)]
struct Page {
    lines: String,
    changes: Vec<Following>,
}

impl Viewer for Page {
    fn lines(&mut self, lines: Vec<u8>) -> Result<(), Fail> {
        self.lines.push_str(&String::from_utf8(lines).unwrap());
        Ok(())
    }

    fn progress(&mut self, _: u64, _: u64) {}

    fn follow(&mut self, changes: Following) {
        self.changes.push(changes);
    }

    fn hear(&mut self, _: News) {}
}

fn at() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// The in-memory store is always ready.
fn wait<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the store in memory answers at once"),
    }
}

fn add(store: &Memory, plan: PlanId, title: &str) {
    let ctx = Ctx {
        now: at(),
        ids: IdSource::fixed(at(), title.as_bytes()[0]),
        actor: Actor::person("ann"),
        holder: Holder { name: "ann".to_owned(), process: None },
        attempt: None,
        base: None,
        mode: Mode::Enforced,
        limits: Limits::default(),
        gone: Vec::new(),
        anyway: false,
    };
    let op = Op::Add(Box::new(NewItem::titled(title)));
    wait(store.change(plan, Change::new(vec![op], ctx))).unwrap();
}

fn options() -> Options {
    Options {
        homes: Homes::default(),
        files: Vec::new(),
        is_piped: false,
        since_ms: 60_000,
        json: KindSet::ALL,
        host: "here".to_owned(),
    }
}

#[test]
fn a_store_that_appears_later_is_opened_shown_and_followed() {
    let store = Arc::new(Memory::default());
    let plan = PlanId(IdSource::fixed(at(), 1).nth(0));
    wait(store.create(NewPlan::new(plan, "/p", at()))).unwrap();
    add(&store, plan, "wash");
    let there: RefCell<Option<Arc<dyn Store>>> = RefCell::new(None);
    let facts: ReadFacts = |_, _| Box::pin(async { SessionFacts::default() });
    let source = StoreSource { file: None, open: Box::new(|| Ok(there.borrow().clone())), facts };
    let mut page = Page::default();
    let mut watcher = Watcher::new(options(), Arc::new(Fixed), Some(source), None, || {});

    assert!(wait(watcher.look(&mut page)).unwrap().is_empty());
    assert!(page.changes.is_empty());

    *there.borrow_mut() = Some(store.clone());
    assert_eq!(wait(watcher.look(&mut page)).unwrap().len(), 1);
    assert_eq!(page.changes.len(), 1);
    assert!(page.lines.contains("wash"), "{}", page.lines);

    page.lines.clear();
    add(&store, plan, "dry it");
    wait(watcher.plan_changed(plan, &mut page)).unwrap();
    assert!(page.lines.contains("dry it"), "{}", page.lines);

    watcher.store_lost("it was deleted");
    assert_eq!(watcher.notes(), ["plans are no longer followed: it was deleted"]);
    assert_eq!(wait(watcher.look(&mut page)).unwrap().len(), 1);
    assert_eq!(page.changes.len(), 2);
    assert!(watcher.notes().is_empty());
}

#[test]
fn what_is_piped_in_is_printed_and_must_be_of_a_known_agent() {
    let options = Options { is_piped: true, ..options() };
    let mut page = Page::default();
    let mut watcher = Watcher::new(options.clone(), Arc::new(Fixed), None, None, || {});
    let stream = b"{\"type\":\"thread.started\",\"thread_id\":\"t1\"}\n";
    watcher.pipe(Some(stream), &mut page).unwrap();
    watcher.pipe(None, &mut page).unwrap();
    assert!(page.lines.contains("session.started"), "{}", page.lines);

    let mut watcher = Watcher::new(options, Arc::new(Fixed), None, None, || {});
    watcher.pipe(Some(b"hello\n"), &mut page).unwrap();
    assert!(watcher.pipe(None, &mut page).is_err());
}
