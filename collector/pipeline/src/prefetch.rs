// SPDX-License-Identifier: Apache-2.0
//! Prefetching: requests memory before it is needed.
//!
//! With thousands of flows, consecutive packets belong to different flows, and the state of all
//! flows does not fit the core's own caches. Prefetches are hints: no result depends on them. The
//! plain form of all code that prefetches is the same code without the hint, and
//! `pipeline/fast_path_tests.rs` checks that datagrams pushed together (prefetched) give the same
//! result as reports pushed one by one (not prefetched).
//!
//! Justified by the benchmark row "decode, flow, join, intervals; 1000 flows"
//! of `make bench-collector`. Change a distance only with a measurement.

/// Number of flows from which flow tables are prefetched. Smaller tables stay in the core's own
/// caches, and prefetching would only cost. It is small in tests, so that they cover the hints as
/// well.
pub(crate) const MANY_FLOWS: usize = if cfg!(test) { 4 } else { 2048 };

/// How many items ahead memory is prefetched.
pub(crate) mod distance {
    /// Datagrams that are decoded, and whose flows are fetched, before the first is processed.
    pub(crate) const DATAGRAMS: usize = 8;
    /// Like `DATAGRAMS`, if there are many flows.
    pub(crate) const DATAGRAMS_OF_MANY_FLOWS: usize = 16;
    /// Datagrams whose flows' segment lists are fetched.
    pub(crate) const SEGMENT_LISTS: usize = 6;
    /// Samples whose flows are fetched.
    pub(crate) const SAMPLE_FLOWS: usize = 14;
    /// Samples whose flows' oldest segments are fetched.
    pub(crate) const SAMPLE_SEGMENTS: usize = 8;
    /// Samples whose packets' join slots are fetched.
    pub(crate) const SAMPLE_JOIN_SLOTS: usize = 4;
    /// Samples that are themselves fetched.
    pub(crate) const SAMPLES: usize = 28;
    /// Samples whose flows' places in the index are fetched.
    pub(crate) const SAMPLE_INDEX: usize = 20;
    /// Samples whose flows' places among an interval's totals are fetched.
    pub(crate) const SAMPLE_PLACES: usize = 6;
    /// Samples whose totals are fetched.
    pub(crate) const SAMPLE_TOTALS: usize = 3;
    /// Queued packets whose rows are fetched before they are handed on.
    pub(crate) const QUEUED_ROWS: u64 = 20;
    /// Queued packets whose flows' places among an interval's totals are fetched.
    pub(crate) const ROW_PLACES: u64 = 14;
    /// Queued packets whose totals are fetched.
    pub(crate) const ROW_TOTALS: u64 = 7;
    /// Flows of a closed interval whose totals are fetched before their records are made.
    pub(crate) const DRAINED_FLOWS: usize = 8;
}

/// Prefetches the cache line of an address.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn line(address: *const u8) {
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

/// Prefetches the first cache line of a value.
#[inline(always)]
pub(crate) fn start<T>(value: &T) {
    line(std::ptr::from_ref(value).cast());
}

/// Prefetches the last value of a list and the place after it.
#[inline(always)]
pub(crate) fn end<T>(last: Option<&T>) {
    if let Some(last) = last {
        start(last);
        line(std::ptr::from_ref(last).wrapping_add(1).cast());
    }
}

/// Prefetches the cache lines of the first `bytes` bytes of a value.
#[inline(always)]
pub(crate) fn lines<T>(value: &T, bytes: usize) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for offset in (0..bytes.min(size_of::<T>())).step_by(64) {
        line(start.wrapping_add(offset));
    }
}
