// SPDX-License-Identifier: Apache-2.0
//! Every operation of the interface, once. A new operation is one entry here and
//! its handler in the daemon's router.

use crate::*;

macro_rules! operations {
    ($(
        #[doc = $summary:literal]
        $name:ident: $method:ident $path:literal ($in:ty, $query:ty, $body:ty) -> $answer:ty
        $({ $($item:item)* })?
    )*) => {
        $(
            #[doc = $summary]
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl Operation for $name {
                type Path = $in;
                type Query = $query;
                type Body = $body;
                type Answer = $answer;
                const METHOD: Method = Method::$method;
                const PATH: &'static str = $path;
                const SUMMARY: &'static str = $summary.trim_ascii();
                $($($item)*)?
            }
        )*

        /// Calls the visitor with every operation, in the order of the document.
        pub fn visit(visitor: &mut impl Visitor) {
            $(visitor.visit::<$name>();)*
        }
    };
}

operations! {
    /// Status of the controller, its collectors and its switches
    GetStatus: Get "/status" (Nothing, Nothing, Nothing) -> Status
    /// Every link: limit, last second, estimate, advice
    GetLinks: Get "/links" (Nothing, LinksQuery, Nothing) -> Links
    /// One link with every rule of its advice
    GetLink: Get "/links/{node}/{port}" (LinkPath, Nothing, Nothing) -> Link
    /// Occupancy, delay, loss, utilisation over time, as columns
    GetSeries: Get "/links/{node}/{port}/series" (LinkPath, SeriesQuery, Nothing) -> Series
    /// Occupancy met by every arrival at the last limit, as bins; the last 60 s by default
    GetDistribution: Get "/links/{node}/{port}/distribution" (LinkPath, SpanQuery, Nothing) -> Distribution
    /// Single packets from the collector's memory, as columns
    GetPackets: Get "/links/{node}/{port}/packets" (LinkPath, PacketsQuery, Nothing) -> Packets
    /// Congestion windows of chosen flows, and of all in sum, over time; the last 30 s by default
    GetWindows: Get "/links/{node}/{port}/windows" (LinkPath, WindowsQuery, Nothing) -> Windows
    /// Estimates over time, as columns; all that are kept by default
    GetEstimates: Get "/links/{node}/{port}/estimates" (LinkPath, SeriesQuery, Nothing) -> EstimateHistory
    /// Flows in the window, with class, rate, congestion window and RTT
    GetFlows: Get "/flows" (Nothing, FlowsQuery, Nothing) -> Flows
    /// The verdict on a link's buffer, with its curve, or its picture
    GetVerdict: Get "/verdict" (Nothing, VerdictQuery, Nothing) -> VerdictState {
        const MEDIA: &'static [&'static str] = &[
            "application/json", "image/svg+xml", "image/png", "application/pdf", "text/plain",
        ];
    }
    /// The advice, and whether it could be applied now
    GetAdvice: Get "/advice" (Nothing, LinkQuery, Nothing) -> AdviceState
    /// Targets in force
    GetTargets: Get "/targets" (Nothing, Nothing, Nothing) -> AllTargets
    /// The newest phases with their estimates
    GetPhases: Get "/phases" (Nothing, PhasesQuery, Nothing) -> Phases
    /// One phase
    GetPhase: Get "/phases/{name}" (PhasePath, Nothing, Nothing) -> Phase
    /// The last limit changes, with reason and outcome
    GetChanges: Get "/changes" (Nothing, Nothing, Nothing) -> Changes
    /// Inspection of a switch: program, mirror sessions, ports, hardware drops (BFRT)
    GetInspection: Get "/switches/{node}/inspection" (NodePath, Nothing, Nothing) -> Inspection
    /// Findings of `doctor`: collectors, switches, links, audit log
    GetFindings: Get "/findings" (Nothing, Nothing, Nothing) -> Findings
    /// Server-sent events: update, change, phase, collector
    GetEvents: Get "/events" (Nothing, EventsQuery, Nothing) -> Event {
        const MEDIA: &'static [&'static str] = &["text/event-stream"];
    }
    /// Set a limit; the answer is read back from the switch
    SetLimit: Post "/links/{node}/{port}/limit" (LinkPath, Nothing, LimitRequest) -> LimitSet
    /// Turn the reports of a port on or off
    SetReports: Post "/links/{node}/{port}/reports" (PortPath, Nothing, ReportsRequest) -> ReportsSet
    /// Apply the current advice; needs mode confirm or auto
    ApplyAdvice: Post "/advice/apply" (Nothing, Nothing, ApplyRequest) -> AdviceApplied
    /// Set how far the controller may go in applying advice
    SetMode: Post "/mode" (Nothing, Nothing, ModeRequest) -> ModeSet
    /// Set targets
    SetTargets: Post "/targets" (Nothing, Nothing, TargetsRequest) -> TargetsSet
    /// Start or end a phase
    SetPhase: Post "/phases" (Nothing, Nothing, PhaseRequest) -> Phase {
        const STATUS: &'static [u16] = &[200, 201];
    }
}
