// SPDX-License-Identifier: Apache-2.0

use super::*;
use std::time::Duration;

const A: Key = (1, EntryId(1));
const B: Key = (1, EntryId(2));

#[test]
fn timers_come_in_their_order_and_once() {
    let begin = Instant::now();
    let at = |ms| begin + Duration::from_millis(ms);
    let mut timers = IdleTimers::default();
    timers.set(A, at(20));
    timers.set(B, at(10));
    assert_eq!(timers.next(), Some(at(10)));
    assert!(timers.due(at(9)).is_empty());
    assert_eq!(timers.due(at(20)), [B, A]);
    assert!(timers.due(at(99)).is_empty());
    assert_eq!(timers.next(), None);
}

#[test]
fn an_entry_has_one_timer() {
    let begin = Instant::now();
    let at = |ms| begin + Duration::from_millis(ms);
    let mut timers = IdleTimers::default();
    timers.set(A, at(10));
    timers.set(A, at(30));
    assert!(timers.due(at(29)).is_empty());
    timers.start(A);
    assert_eq!(timers.next(), None, "written again, its time begins again");
    timers.set(A, at(40));
    timers.stop(A);
    timers.stop(B);
    assert!(timers.due(at(99)).is_empty());
}
