// SPDX-License-Identifier: Apache-2.0
//! The picture of a verdict: utilisation, loss and delay over the limit, with the measured
//! points, the targets, the papers' sizes, the limit in force and the advised interval.
//! One description ([`Figure`]) is drawn as SVG ([`svg()`]) and as text ([`text()`]).

mod axis;
mod figure;
mod svg;
mod text;

pub use axis::{Axis, Point, Scale};
pub use figure::{About, Figure, Panel};
pub use svg::{Layout, Theme, svg};
pub use text::text;

#[cfg(test)]
mod tests;
