// SPDX-License-Identifier: Apache-2.0
//! Marks the absent values of a row: its report lacks them, or says that they are not
//! available. An unmeasured queue is not an empty queue.

/// A set of absent values, one bit each. An `Option` for each value would make a row half as
/// large again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Absent(u8);

impl Absent {
    /// Nothing is absent.
    pub const NOTHING: Self = Self(0);
    /// The port at which the packet arrived.
    pub const INGRESS_PORT: Self = Self(1);
    /// The port from which the packet left.
    pub const EGRESS_PORT: Self = Self(2);
    /// The queue of the egress port.
    pub const QUEUE: Self = Self(4);
    /// The queue occupancy on arrival.
    pub const OCCUPANCY: Self = Self(8);
    /// The time of arrival; the row has the time of departure instead.
    pub const INGRESS_TIME: Self = Self(16);
    /// The time of departure of a packet that was not dropped; the row has the time of arrival
    /// instead.
    pub const EGRESS_TIME: Self = Self(32);
    /// All values from the packet's own headers, including its flow.
    pub const PACKET: Self = Self(64);

    /// Returns whether any of `values` is absent.
    #[inline(always)]
    #[must_use]
    pub fn has(self, values: Self) -> bool {
        self.0 & values.0 != 0
    }

    /// Returns the set, with `values` added if `absent`.
    #[inline(always)]
    #[must_use]
    pub fn with(self, values: Self, absent: bool) -> Self {
        // No branch, because this runs for every packet.
        Self(self.0 | (values.0 * u8::from(absent)))
    }

    /// Returns the set without `values`.
    #[inline(always)]
    #[must_use]
    pub fn without(self, values: Self) -> Self {
        Self(self.0 & !values.0)
    }

    /// Returns a value, or `None` if it is absent.
    #[inline(always)]
    #[must_use]
    pub fn unless<T>(self, value: Self, there: T) -> Option<T> {
        (!self.has(value)).then_some(there)
    }

    /// Returns a value, or its default, and then marks it as absent.
    #[inline]
    pub fn or_default<T: Default>(&mut self, value: Self, read: Option<T>) -> T {
        *self = self.with(value, read.is_none());
        read.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_told_from_what_is_zero() {
        let mut absent = Absent::NOTHING;
        assert_eq!(absent.or_default(Absent::QUEUE, Some(0u8)), 0);
        assert_eq!(absent.or_default(Absent::OCCUPANCY, None::<u64>), 0);
        assert_eq!(absent.unless(Absent::QUEUE, 0), Some(0));
        assert_eq!(absent.unless(Absent::OCCUPANCY, 0), None);
        assert!(absent.has(Absent::OCCUPANCY) && !absent.has(Absent::EGRESS_PORT));
        assert_eq!(absent.with(Absent::QUEUE, false), absent);
    }
}
