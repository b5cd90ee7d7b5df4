//! Reads in parallel with writes of the same process.

use std::fs::File;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use punchlist_model::store::{Filter, PlanStore};
use punchlist_store::{Options, Sqlite, Threaded, Waiting, set_waiting};

use super::place;
use crate::support::{new_plan, plan_id, wait};

/// The channel that is notified when a write waits.
static NOTIFY: Mutex<Option<SyncSender<()>>> = Mutex::new(None);

/// Notifies when a write of this process waits for a lock.
fn notify_of_waits() -> Receiver<()> {
    let (tell, told) = sync_channel(1);
    *NOTIFY.lock().unwrap_or_else(PoisonError::into_inner) = Some(tell);
    let tell = |_: &str| {
        if let Some(tell) = &*NOTIFY.lock().unwrap_or_else(PoisonError::into_inner) {
            tell.try_send(()).unwrap_or_default();
        }
    };
    let give_up_after = Duration::from_secs(120);
    let (tell_after, tell) = (Duration::ZERO, Some(tell as fn(&str)));
    set_waiting(Waiting { tell_after, tell, give_up_after, ..Waiting::default() });
    told
}

/// Holds the write lock, as another process would.
fn hold_lock(options: &Options) -> File {
    let mut name = options.path.as_os_str().to_owned();
    name.push("-bell");
    let bell = File::options().read(true).write(true).open(name).unwrap();
    bell.lock().unwrap();
    bell
}

fn plans(store: &dyn PlanStore) -> usize {
    wait(store.plans(Filter::default())).unwrap().len()
}

#[test]
fn a_read_answers_while_a_write_waits_for_a_lock_that_is_held_elsewhere() {
    let waits = notify_of_waits();
    let (_directory, options) = place();
    let store = Threaded::open(&options).unwrap();
    wait(store.create(new_plan(1))).unwrap();
    let held = hold_lock(&options);
    let mut write = store.create(new_plan(2));
    let mut poll = || write.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll().is_pending());
    waits.recv().unwrap();
    assert_eq!(plans(&store), 1);
    assert!(wait(store.whole(plan_id(1))).is_ok());
    assert!(poll().is_pending(), "the write still waits");
    held.unlock().unwrap();
    wait(write).unwrap();
    assert_eq!(plans(&store), 2, "a read sees what was acknowledged");
}

#[test]
fn callers_in_several_threads_read_while_one_of_them_waits_to_write() {
    let waits = notify_of_waits();
    let (_directory, options) = place();
    let store = Sqlite::open(&options).unwrap();
    store.stay();
    wait(store.create(new_plan(1))).unwrap();
    let held = hold_lock(&options);
    thread::scope(|scope| {
        let write = scope.spawn(|| wait(store.create(new_plan(2))));
        waits.recv().unwrap();
        assert_eq!(plans(&store), 1);
        assert!(!store.is_read_only());
        assert!(!write.is_finished(), "the write still waits");
        held.unlock().unwrap();
    });
    assert_eq!(plans(&store), 2, "a read sees what was acknowledged");
}
