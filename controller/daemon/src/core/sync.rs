// SPDX-License-Identifier: Apache-2.0
//! Locks that survive a panic of another holder.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whatever happened to another holder: the data are plain values.
pub(crate) fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}
