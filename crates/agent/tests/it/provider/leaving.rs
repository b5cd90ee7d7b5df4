//! Dropping a call closes its connection.

use std::time::Duration;

use punchlist_agent::provider::Provider;
use punchlist_testkit::model::{Message, Script};
use tokio::time::timeout;

use super::{asking, each};

const SOON: Duration = Duration::from_millis(500);

#[test]
fn in_the_middle_of_an_answer() {
    each(
        || Script::new().turn(Message::new().says("half").hangs()),
        |case| async move {
            let request = asking("hello");
            let mut parts = 0;
            let mut count = |_| parts += 1;
            let call = timeout(SOON, case.provider.call(&request, &mut count));
            assert!(call.await.is_err(), "{}", case.kind);
            assert!(parts > 0, "{}", case.kind);
            assert!(case.is_abandoned().await, "{}", case.kind);
        },
    );
}

#[test]
fn before_the_answer() {
    each(
        || Script::new().stays_silent(),
        |case| async move {
            let request = asking("hello");
            let mut ignore = |_| {};
            let call = timeout(SOON, case.provider.call(&request, &mut ignore));
            assert!(call.await.is_err(), "{}", case.kind);
            assert!(case.is_abandoned().await, "{}", case.kind);
        },
    );
}
