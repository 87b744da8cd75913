// SPDX-License-Identifier: Apache-2.0
//! Field types of a metrics struct.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::metrics::Sample;

/// Value of a metric; counts stay integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A count.
    Whole(u64),
    /// A measure.
    Real(f64),
}

impl Number {
    /// Returns the value as a float; counts above 2^53 lose their last digits.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Whole(v) => v as f64,
            Self::Real(v) => v,
        }
    }

    /// Returns the value as a count; a measure is truncated, and at least 0.
    pub fn as_u64(self) -> u64 {
        match self {
            Self::Whole(v) => v,
            Self::Real(v) => v as u64,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(v) => v.fmt(f),
            Self::Real(v) => v.fmt(f),
        }
    }
}

impl From<u64> for Number {
    fn from(v: u64) -> Self {
        Self::Whole(v)
    }
}

impl From<f64> for Number {
    fn from(v: f64) -> Self {
        Self::Real(v)
    }
}

/// Type of a counter that several threads count separately.
pub trait Sum {
    /// Adds the count of another counter.
    fn add(&mut self, other: &Self);
}

impl Sum for u64 {
    fn add(&mut self, other: &Self) {
        *self += other;
    }
}

impl<T: Sum, const N: usize> Sum for [T; N] {
    fn add(&mut self, other: &Self) {
        for (sum, v) in self.iter_mut().zip(other) {
            sum.add(v);
        }
    }
}

/// Type of a metric field: one value, or one value for each label value.
pub trait Measured {
    /// Calls `each` with every value. `labels` are the values of the field's label;
    /// empty for a field without a label.
    fn samples(&self, labels: &[&'static str], each: &mut dyn FnMut(Sample));
}

macro_rules! measured {
    ($($type:ty: |$v:ident| $number:expr),* $(,)?) => {$(
        impl Measured for $type {
            fn samples(&self, _: &[&'static str], each: &mut dyn FnMut(Sample)) {
                let $v = self;
                each(Sample::Value($number));
            }
        }
    )*};
}

measured! {
    u64: |v| Number::Whole(*v),
    usize: |v| Number::Whole(*v as u64),
    f64: |v| Number::Real(*v),
    bool: |v| Number::Whole(u64::from(*v)),
    AtomicU64: |v| Number::Whole(v.load(Ordering::Relaxed)),
    AtomicUsize: |v| Number::Whole(v.load(Ordering::Relaxed) as u64),
    AtomicBool: |v| Number::Whole(u64::from(v.load(Ordering::Relaxed))),
}

impl<T: Measured> Measured for Arc<T> {
    fn samples(&self, labels: &[&'static str], each: &mut dyn FnMut(Sample)) {
        (**self).samples(labels, each);
    }
}

/// `None` has no sample.
impl<T: Measured> Measured for Option<T> {
    fn samples(&self, labels: &[&'static str], each: &mut dyn FnMut(Sample)) {
        if let Some(v) = self {
            v.samples(labels, each);
        }
    }
}

/// One value for each label value, in the same order.
impl<T: Measured, const N: usize> Measured for [T; N] {
    fn samples(&self, labels: &[&'static str], each: &mut dyn FnMut(Sample)) {
        for (v, &label) in self.iter().zip(labels) {
            v.samples(&[], &mut |sample| {
                if let Sample::Value(number) = sample {
                    each(Sample::Labelled(label, number));
                }
            });
        }
    }
}
