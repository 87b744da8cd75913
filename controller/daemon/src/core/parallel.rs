// SPDX-License-Identifier: Apache-2.0
//! Spreads work on many items over all cores.

use std::panic::resume_unwind;
use std::thread::{Builder, available_parallelism, scope};

/// Applies `f` to each item; results are in the order of the items. Uses a thread per core, for
/// items that take about equally long; this thread does the work of one that cannot be started.
pub(super) fn map<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = available_parallelism().map_or(1, usize::from);
    let each = items.len().div_ceil(threads).max(1);
    let of = |part: &[T]| part.iter().map(&f).collect::<Vec<R>>();
    let of = &of;
    let mut parts = items.chunks(each);
    let own = parts.next().unwrap_or_default();
    scope(|scope| {
        let others: Vec<_> = parts
            .map(|part| (part, Builder::new().spawn_scoped(scope, move || of(part))))
            .collect();
        let mut all = of(own);
        for (part, other) in others {
            all.extend(match other {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(_) => of(part),
            });
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for n in 0..70u32 {
            let items: Vec<u32> = (0..n).collect();
            let doubled: Vec<u32> = items.iter().map(|i| 2 * i).collect();
            assert_eq!(map(&items, |i| 2 * i), doubled);
        }
    }
}
