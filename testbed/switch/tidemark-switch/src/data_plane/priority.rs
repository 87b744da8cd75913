// SPDX-License-Identifier: Apache-2.0
//! Precision and priority of the data-plane thread.

/// Timers without slack, and precedence over busy neighbours where allowed.
pub(super) fn prepare_thread() {
    // SAFETY: no pointers; failure leaves the defaults, which still work.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1u64);
        let tid = libc::syscall(libc::SYS_gettid);
        libc::setpriority(libc::PRIO_PROCESS, tid as libc::id_t, -15);
    }
}
