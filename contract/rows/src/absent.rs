// SPDX-License-Identifier: Apache-2.0
//! Which values of a row are absent: its report does not have them, or says that they are
//! not available. An empty queue and one that was not measured are not the same.

/// A set of values, one bit each: a row would grow by half if each of its values said for
/// itself whether it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Absent(u8);

impl Absent {
    /// Nothing is absent.
    pub const NOTHING: Self = Self(0);
    /// The port by which the packet came in.
    pub const INGRESS_PORT: Self = Self(1);
    /// The port by which it left.
    pub const EGRESS_PORT: Self = Self(2);
    /// The queue of that port.
    pub const QUEUE: Self = Self(4);
    /// The queue met on arrival.
    pub const OCCUPANCY: Self = Self(8);
    /// The time of arrival; the row has that of departure in its place.
    pub const INGRESS_TIME: Self = Self(16);
    /// The time of departure, of a packet that was not dropped; the row has that of arrival
    /// in its place.
    pub const EGRESS_TIME: Self = Self(32);
    /// All that the packet's own headers tell, its flow with it.
    pub const PACKET: Self = Self(64);

    /// Whether any of `values` is absent.
    #[inline(always)]
    #[must_use]
    pub fn has(self, values: Self) -> bool {
        self.0 & values.0 != 0
    }

    /// With `values`, where `absent`.
    #[inline(always)]
    #[must_use]
    pub fn with(self, values: Self, absent: bool) -> Self {
        // No branch: this is worked out for every packet.
        Self(self.0 | (values.0 * u8::from(absent)))
    }

    /// Without `values`.
    #[inline(always)]
    #[must_use]
    pub fn without(self, values: Self) -> Self {
        Self(self.0 & !values.0)
    }

    /// A value, unless it is absent.
    #[inline(always)]
    #[must_use]
    pub fn unless<T>(self, value: Self, there: T) -> Option<T> {
        (!self.has(value)).then_some(there)
    }

    /// A value, or its default, which is then noted as absent.
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
