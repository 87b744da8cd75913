// SPDX-License-Identifier: Apache-2.0

use super::*;

#[test]
fn short_timeouts_do_not_spin_and_endless_ones_do_not_overflow() {
    let now = Instant::now();
    assert_eq!(after(now, Duration::from_nanos(1)), now + SHORTEST);
    assert!(after(now, Duration::MAX) > now);
    assert!(after(now, Duration::from_nanos(i64::MAX as u64)) > now);
}
