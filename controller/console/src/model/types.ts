// SPDX-License-Identifier: Apache-2.0
// Types of the page's state. `api` turns the controller's JSON into them, with times in seconds
// since the link's first interval.

export type { Assumption, FlowClass, Interval, LinkId, Regime } from '../api/generated';
export type { AdviceState, CurvePoint, Limit, Marking, Prediction, Rule, Targets } from '../api/advice';
export type { Estimate, Flow, LinkEstimate } from '../api/estimate';
export type { Brief, Link } from '../api/link';
export type { Distribution, DistributionBin, FlowWindowColumns, Packets, SeriesColumns, WindowColumns } from '../api/over-time';
export type { MeasuredLimit, Verdict } from '../api/verdict';
export type { AuditEntry, FinishedRun, Phase, PhaseLink, Status } from '../api/status';
