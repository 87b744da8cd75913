// SPDX-License-Identifier: Apache-2.0
//! Asks for memory before it is needed. Hints, without effect on any result:
//! of thousands of flows each packet is of another than the one before, and what
//! is known of them does not fit the core's own caches.

/// Asks for the cache line of an address.
#[inline(always)]
pub fn line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that a program could see, and never
    // faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for the first cache line of a value.
#[inline(always)]
pub fn start<T>(value: &T) {
    line(std::ptr::from_ref(value).cast());
}

/// Asks for the last value of a list and the place behind it.
#[inline(always)]
pub fn end<T>(last: Option<&T>) {
    if let Some(last) = last {
        start(last);
        line(std::ptr::from_ref(last).wrapping_add(1).cast());
    }
}

/// Asks for the cache lines that a value begins with.
#[inline(always)]
pub fn lines<T>(value: &T, bytes: usize) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for offset in (0..bytes.min(size_of::<T>())).step_by(64) {
        line(start.wrapping_add(offset));
    }
}
