// SPDX-License-Identifier: Apache-2.0
//! Macros that declare metrics.

/// Declares a struct of metrics. A field is
///
/// ```text
/// /// Help text.
/// counter|gauge FIELD: TYPE [= "name"] [=> "label" in VALUES],
/// ```
///
/// The name defaults to the field's. `TYPE` is a type that is
/// [`Measured`](crate::metrics::Measured); with a label, an array as long as
/// `VALUES`. Attributes of the struct are kept.
///
/// A struct declared as `struct NAME: Sum` is for counting in several places: `+=`
/// adds the counters of another such struct, field by field.
#[macro_export]
macro_rules! metrics {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident: Sum {
            $(
                $(#[doc = $help:literal])+
                counter $field:ident: $type:ty
                    $(= $metric:literal)?
                    $(=> $label:literal in $values:expr)?
            ),* $(,)?
        }
    ) => {
        $crate::metrics! {
            $(#[$attribute])*
            $visibility struct $name {
                $(
                    $(#[doc = $help])+
                    counter $field: $type
                        $(= $metric)?
                        $(=> $label in $values)?
                ),*
            }
        }

        impl ::core::ops::AddAssign<&Self> for $name {
            fn add_assign(&mut self, other: &Self) {
                $($crate::metrics::Sum::add(&mut self.$field, &other.$field);)*
            }
        }
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[doc = $help:literal])+
                $kind:ident $field:ident: $type:ty
                    $(= $metric:literal)?
                    $(=> $label:literal in $values:expr)?
            ),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $name {
            $(
                $(#[doc = $help])+
                pub $field: $type,
            )*
        }

        impl $crate::metrics::Metrics for $name {
            const DOCS: &'static [$crate::metrics::MetricDoc] = &[$(
                $crate::metrics::MetricDoc::$kind(
                    $crate::metric_name!($field $($metric)?),
                    concat!($($help),+),
                )
                $(.labels(&[$label]))?
            ),*];

            fn visit(
                &self,
                each: &mut dyn FnMut(&'static $crate::metrics::MetricDoc, $crate::metrics::Sample),
            ) {
                let mut docs = <Self as $crate::metrics::Metrics>::DOCS.iter();
                $(
                    if let Some(doc) = docs.next() {
                        let labels: &[&'static str] = &[];
                        $(let labels: &[&'static str] = { let _ = labels; &$values };)?
                        $crate::metrics::Measured::samples(&self.$field, labels, &mut |sample| {
                            each(doc, sample)
                        });
                    }
                )*
            }
        }
    };
}

/// Makes a table of metrics whose values are computed: pairs of a
/// [`MetricDoc`](crate::metrics::MetricDoc) and an expression for the value. A row is
///
/// ```text
/// counter|gauge NAME "Help text": VALUE;
/// ```
#[macro_export]
macro_rules! metric_table {
    ($($kind:ident $name:ident $help:literal: $value:expr;)*) => {
        &[$(($crate::metrics::MetricDoc::$kind(stringify!($name), $help), $value)),*]
    };
}

/// Returns the metric's name: the given name, or the field's.
#[doc(hidden)]
#[macro_export]
macro_rules! metric_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $metric:literal) => {
        $metric
    };
}

/// Turns a doc comment into a help text, without the leading space and the full
/// stop.
pub(crate) const fn sentence(text: &'static str) -> &'static str {
    let text = text.trim_ascii();
    match text.as_bytes() {
        [.., b'.'] => text.split_at(text.len() - 1).0,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::metrics::{Kind, MetricDoc, Metrics, Number, Sample};

    const REASONS: [&str; 2] = ["short", "long"];

    metrics! {
        /// A struct with every form of field.
        #[derive(Debug, Default, Clone)]
        struct Everything {
            /// Help in
            /// two lines.
            counter shared: Arc<AtomicU64>,
            /// With another name, and without a full stop
            gauge ratio: f64 = "matched_ratio",
            /// By reason.
            counter refused: [u64; 2] => "reason" in REASONS,
            /// Only sometimes there.
            gauge sometimes: Option<bool>,
        }
    }

    metrics! {
        /// Counters that each of several threads has.
        #[derive(Debug, Default, Clone, PartialEq, Eq)]
        struct OfThread: Sum {
            /// All of them.
            counter all: u64,
            /// By reason.
            counter refused: [u64; 2] => "reason" in REASONS,
        }
    }

    #[test]
    fn counters_of_several_add_up() {
        let mut sum = OfThread {
            all: 5,
            refused: [1, 2],
        };
        sum += &OfThread {
            all: 7,
            refused: [10, 20],
        };
        let wanted = OfThread {
            all: 12,
            refused: [11, 22],
        };
        assert_eq!(sum, wanted);
        assert_eq!(OfThread::DOCS[1].labels, ["reason"]);
    }

    #[test]
    fn a_field_is_its_own_document() {
        assert_eq!(
            Everything::DOCS,
            [
                MetricDoc::counter("shared", "Help in two lines"),
                MetricDoc::gauge(
                    "matched_ratio",
                    "With another name, and without a full stop"
                ),
                MetricDoc::counter("refused", "By reason").labels(&["reason"]),
                MetricDoc::gauge("sometimes", "Only sometimes there"),
            ]
        );
        assert_eq!(Everything::DOCS[0].kind, Kind::Counter);
        assert_eq!(Everything::DOCS[0].full_name("x"), "x_shared_total");
        assert_eq!(Everything::DOCS[1].full_name("x"), "x_matched_ratio");
        assert_eq!(Everything::table(), Everything::DOCS);
    }

    #[test]
    fn values_are_read_when_visited() {
        let e = Everything::default();
        e.shared.fetch_add(3, Ordering::Relaxed);
        let all = |e: &Everything| {
            let mut all = Vec::new();
            e.visit(&mut |doc, sample| all.push((doc.name, sample)));
            all
        };
        let whole = |v| Sample::Value(Number::Whole(v));
        let reason = |l, v| Sample::Labelled(l, Number::Whole(v));
        let mut wanted = vec![
            ("shared", whole(3)),
            ("matched_ratio", Sample::Value(Number::Real(0.0))),
            ("refused", reason("short", 0)),
            ("refused", reason("long", 0)),
        ];
        assert_eq!(all(&e), wanted);
        let e = Everything {
            refused: [0, 7],
            sometimes: Some(true),
            ..e
        };
        wanted[3] = ("refused", reason("long", 7));
        wanted.push(("sometimes", whole(1)));
        assert_eq!(all(&e), wanted);
    }
}
