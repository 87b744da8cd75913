// SPDX-License-Identifier: Apache-2.0
//! The telemetry of one link, for its closed loop.

use super::feed::Feed;
use tidemark_control::Telemetry;
use tidemark_estimators::{Estimate, LinkEstimate, LinkId};

pub(super) struct LinkTelemetry<'a> {
    feed: &'a Feed,
    link: LinkId,
}

impl<'a> LinkTelemetry<'a> {
    pub(super) fn new(feed: &'a Feed, link: LinkId) -> Self {
        Self { feed, link }
    }
}

impl Telemetry for LinkTelemetry<'_> {
    fn first_ns(&self) -> Option<u64> {
        Some(self.feed.span(self.link)?.0)
    }

    fn complete_ns(&self) -> u64 {
        self.feed.complete_ns(self.link)
    }

    fn reported_limit_bytes(&self) -> u64 {
        self.feed
            .series
            .get(&self.link)
            .map_or(0, |s| s.limit_bytes)
    }

    fn estimate(&self, from_ns: u64, to_ns: u64) -> LinkEstimate {
        self.feed.estimate(self.link, from_ns, to_ns)
    }

    fn estimate_and_recent_n_b(
        &self,
        from_ns: u64,
        to_ns: u64,
        recent_ns: u64,
    ) -> (LinkEstimate, Estimate) {
        let estimator = &self.feed.estimator;
        estimator.estimate_and_recent_n_b(self.link, from_ns, to_ns, recent_ns)
    }

    fn n_b(&self, from_ns: u64, to_ns: u64) -> Estimate {
        self.feed.estimator.n_b(self.link, from_ns, to_ns)
    }
}
