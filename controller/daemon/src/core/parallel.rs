// SPDX-License-Identifier: Apache-2.0
//! Work on many items by all cores.

use std::panic::resume_unwind;
use std::thread;

/// `f` of each item, in their order. As many threads take part as there are cores, for
/// items that take about equally long.
pub(super) fn map<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let each = items.len().div_ceil(threads).max(1);
    let mut parts = items.chunks(each);
    let own = parts.next().unwrap_or_default();
    let f = &f;
    thread::scope(|scope| {
        let others: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(f).collect::<Vec<R>>()))
            .collect();
        let mut all: Vec<R> = own.iter().map(f).collect();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
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
