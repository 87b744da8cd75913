// SPDX-License-Identifier: Apache-2.0
//! Precision and precedence of the data-plane thread.
//!
//! Precedence needs a right that is given up before threads are started; a thread
//! inherits it from the one that starts it.

use std::sync::atomic::{AtomicI32, Ordering};

/// Of the data-plane thread, as `nice` counts.
const NICE: i32 = -15;

/// Niceness that the program was started with.
static BEFORE: AtomicI32 = AtomicI32::new(0);

fn set(nice: i32) {
    // SAFETY: no pointers; failure leaves what was, which still works.
    unsafe {
        let tid = libc::syscall(libc::SYS_gettid);
        libc::setpriority(libc::PRIO_PROCESS, tid as libc::id_t, nice);
    }
}

/// Gives this thread precedence over busy neighbours where that is allowed, and
/// the threads that it starts.
pub(crate) fn take_precedence() {
    // SAFETY: no pointers.
    let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    BEFORE.store(before, Ordering::Relaxed);
    if before > NICE {
        set(NICE);
    }
}

/// Gives it up again for this thread.
pub(crate) fn give_way() {
    set(BEFORE.load(Ordering::Relaxed));
}

/// Timers without slack.
pub(super) fn prepare_thread() {
    // SAFETY: no pointers; failure leaves the default, which still works.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64) };
}
