// SPDX-License-Identifier: Apache-2.0
//! Timer precision and scheduling priority of the data-plane thread.
//!
//! Raising the priority needs a privilege that is dropped before threads are started; a
//! thread inherits the priority from the thread that starts it.

use std::sync::atomic::{AtomicI32, Ordering};

/// Niceness of the data-plane thread.
const NICE: i32 = -15;

/// Niceness with which the program was started.
static BEFORE: AtomicI32 = AtomicI32::new(0);

fn set(nice: i32) {
    // SAFETY: no pointers; a failure changes nothing, and everything still works.
    unsafe {
        let tid = libc::syscall(libc::SYS_gettid);
        libc::setpriority(libc::PRIO_PROCESS, tid as libc::id_t, nice);
    }
}

/// Raises the priority of this thread, and of threads that it starts, over busy neighbours,
/// if permitted.
pub(crate) fn take_precedence() {
    // SAFETY: no pointers.
    let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    BEFORE.store(before, Ordering::Relaxed);
    if before > NICE {
        set(NICE);
    }
}

/// Restores the original priority of this thread.
pub(crate) fn give_way() {
    set(BEFORE.load(Ordering::Relaxed));
}

/// Sets the thread's timers to have no slack.
pub(super) fn prepare_thread() {
    // SAFETY: no pointers; a failure keeps the default, which still works.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64) };
}
