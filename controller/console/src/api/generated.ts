
export interface Advice {
  decided_by: Goal | null;
  feasible: boolean;
  infeasible: Infeasibility | null;
  limit_bytes: number | null;
  limit_ms: number | null;
  limit_packets: number | null;
  predicted: Prediction | null;
  present: Present | null;
  reasons: string[];
  regime: Regime;
  rejected?: RejectedRule[] | null;
  rule: string | null;
  rules?: Rule[] | null;
}

export interface AdviceApplied {
  advice: Advice | null;
  before: Limit | null;
  limit: Limit;
  node: number;
  port: number;
}

export interface AdviceState {
  advice: Advice | null;
  can_apply: boolean;
  limit: Limit | null;
  node: number;
  port: number;
  targets: Targets;
  why_not: string | null;
}

export interface AllTargets {
  default: Targets;
  links: LinkTargets[];
}

export interface ApplyRequest {
  bytes?: number | null;
  node?: number | null;
  port?: number | null;
}

export interface Assumption {
  holds: boolean | null;
  text: string;
}

export interface Change {
  before: Limit | null;
  error: string | null;
  expected: Prediction | null;
  limit: Limit | null;
  measured_after: Observed | null;
  measured_before: Observed | null;
  node: number;
  origin: Origin;
  outcome: Outcome;
  port: number;
  reason: string;
  unix_ms: number;
}

export interface Changes {
  changes: Change[];
}

export interface ClassCounts {
  lbp: number;
  other: number;
  rbp: number;
  short: number;
  wl: number;
}

export interface Collector {
  address: string;
  age_s: number | null;
  capture_dir: string;
  connected: boolean;
  connections: number;
  instance: string;
  interval_ms: number;
  problem: string | null;
  status: CollectorCounters;
  updates: number;
  updates_lost: number;
  version: string;
}

export interface CollectorCounters {
  capture_rows: number;
  capture_rows_lost: number;
  datagrams_malformed: number;
  datagrams_received: number;
  flows: number;
  flows_evicted: number;
  join_candidates: number;
  join_matched: number;
  kernel_drops: number;
  probe_lost: number;
  probe_samples: number;
  reports_duplicate: number;
  reports_late: number;
  reports_lost: number;
  reports_received: number;
}

export interface CollectorEvent {
  address: string;
  connected: boolean;
  problem: string | null;
}

export type CongestionControl = 'reno' | 'cubic' | 'bbr' | 'scalable' | 'unknown';

export interface Curve {
  limit_bytes: number | null;
  node: number;
  points: CurvePoint[];
  port: number;
}

export interface CurvePoint {
  buffer_bytes: number;
  predicted: Prediction;
}

export interface Distribution {
  arrivals: number;
  count: number[];
  from_ns: number;
  high_bytes: number[];
  limit_bytes: number;
  low_bytes: number[];
  max_bytes: number;
  node: number;
  p50_bytes: number | null;
  p99_bytes: number | null;
  port: number;
  to_ns: number;
}

export interface ErrorBody {
  error: Problem;
}

export interface Estimate {
  evidence: Evidence;
  high: number;
  low: number;
  samples: number;
  value: number;
}

export interface Estimates {
  alpha: Estimate;
  c_e_share: Estimate;
  condition_fraction: Estimate | null;
  d_max: Estimate | null;
  d_mean: Estimate | null;
  delta: Estimate | null;
  delta_high: number | null;
  delta_low: number | null;
  jain: number | null;
  mean_loss_burst: Estimate | null;
  median_loss_burst: Estimate | null;
  n_b: Estimate;
  q: Estimate | null;
  regime: RegimeEstimate;
  rho: Estimate;
  rho_other: Estimate;
  s: Estimate | null;
  saturable: Saturable;
  t_e_ms: Estimate | null;
  t_mean_ms: Estimate | null;
  window_p01_pkts: number | null;
}

export type Event = { data: Update; event: 'update' } | { data: Change; event: 'change' } | { data: Phase; event: 'phase' } | { data: CollectorEvent; event: 'collector' };

export type Evidence = 'probed' | 'passive' | 'mixed' | 'assumed';

export interface Flow {
  active_fraction: number;
  base_rtt_ms: number | null;
  beta: number | null;
  class: FlowClass;
  confidence: number;
  congestion_control: CongestionControl;
  cwnd: number | null;
  drops: number;
  evidence: Evidence;
  flow: number;
  key: FlowKey | null;
  p_lbp: number;
  packets: number;
  rate_bps: number;
  reductions_local: number;
  reductions_remote: number;
  srtt_ms: number | null;
  why: string;
}

export type FlowClass = 'LBP' | 'RBP' | 'WL' | 'SHORT' | 'OTHER';

export interface FlowKey {
  dst: string;
  dst_port: number;
  protocol: number;
  src: string;
  src_port: number;
}

export interface Flows {
  flows: LinkFlow[];
}

export interface FormulaPrediction {
  delay_mean_ms: number;
  loss_rate: number;
  utilisation: number;
}

export type Goal = 'utilisation' | 'loss' | 'delay';

export interface Health {
  api_version: string | null;
  connected: boolean;
  primary: boolean;
  problem: string | null;
  program_loaded: boolean;
}

export interface Infeasibility {
  given_up: Goal[];
  nearest: Nearest;
}

export interface Input {
  name: string;
  unit: string;
  value: number;
}

export interface Interval {
  high: number;
  low: number;
  value: number;
}

export type Limit = { action: 'drop_tail'; limit_bytes: number } | { action: 'mark_ce'; limit_bytes: number } | { action: 'unlimited' };

export type LimitAction = 'drop_tail' | 'mark_ce' | 'unlimited';

export interface LimitRequest {
  action?: LimitAction | null;
  bytes?: number | null;
  reason?: string | null;
}

export interface LimitSet {
  before: Limit | null;
  limit: Limit;
  node: number;
  port: number;
}

export interface Link {
  advice: Advice | null;
  age_s: number | null;
  capacity_bps: number;
  capture_start_ns: number | null;
  collector: string;
  depth_unit_bytes: number;
  estimate: LinkEstimate | null;
  limit: Limit | null;
  name: string;
  node: number;
  node_name: string;
  now_ns: number;
  port: number;
  queue_overhead_bytes: number;
  recent: Recent | null;
  reported_limit_bytes: number | null;
  stale: boolean;
  steadiness: Steadiness;
  targets: Targets;
  watching: Watching | null;
  wire_overhead_bytes: number;
}

export interface LinkEstimate {
  arrivals: number;
  capacity_bps: number;
  caveats: string[];
  ce_marked: number;
  classes: ClassCounts;
  delay_ms: Quantiles;
  drops: number;
  estimates: Estimates;
  flows: Flow[];
  from_ns: number;
  limit_bytes: number | null;
  loss_events: number;
  loss_rate: number;
  node: number;
  node_name: string;
  occupancy?: Occupancy | null;
  occupancy_bytes: Quantiles;
  overshoot_drops: number;
  port: number;
  port_name: string;
  queue_drain_bps: number;
  reports_lost: number;
  segment_bytes: number;
  to_ns: number;
  utilisation: Utilisation;
}

export interface LinkFlow {
  active_fraction: number;
  base_rtt_ms: number | null;
  beta: number | null;
  class: FlowClass;
  confidence: number;
  congestion_control: CongestionControl;
  cwnd: number | null;
  drops: number;
  evidence: Evidence;
  flow: number;
  key: FlowKey | null;
  node: number;
  p_lbp: number;
  packets: number;
  port: number;
  rate_bps: number;
  reductions_local: number;
  reductions_remote: number;
  srtt_ms: number | null;
  why: string;
}

export interface LinkId {
  node: number;
  port: number;
}

export interface LinkTargets {
  node: number;
  port: number;
  targets: Targets;
}

export interface Links {
  links: Link[];
}

export type Mode = 'recommend' | 'confirm' | 'auto';

export interface ModeRequest {
  mode: Mode;
}

export interface ModeSet {
  mode: Mode;
}

export interface Nearest {
  delay_ms: number;
  loss_rate: number;
  utilisation: number;
}

export interface Observed {
  delay_max_ms: number;
  delay_mean_ms: number;
  delay_p50_ms: number;
  delay_p99_ms: number;
  drops: number;
  loss_rate: number;
  utilisation: number;
}

export interface Occupancy {
  arrivals: number;
  bytes: number[];
  met_empty: number;
}

export type Origin = 'operator' | 'confirmed' | 'auto' | 'rollback' | 'restore';

export type Outcome = 'set' | 'refused' | 'failed' | 'dry_run' | 'kept' | 'worse' | 'unclear';

export interface Packets {
  cwnd: number[];
  dropped: boolean[];
  egress_ns: number[];
  flow_id: number[];
  from_ns: number;
  ingress_ns: number[];
  ip_bytes: number[];
  node: number;
  occupancy_bytes: number[];
  port: number;
  to_ns: number;
  truncated: boolean;
}

export interface Phase {
  ended_unix_ms: number | null;
  join: PhaseJoin;
  links: PhaseLink[];
  name: string;
  probe: PhaseProbe;
  reports: PhaseReports;
  started_unix_ms: number;
  state: PhaseState;
}

export type PhaseAction = 'start' | 'end';

export interface PhaseJoin {
  candidates: number;
  matched: number;
  matched_fraction: number | null;
}

export interface PhaseLink {
  advice?: Advice | null;
  capture_start_ns: number;
  end_ns: number | null;
  end_s: number | null;
  estimate?: LinkEstimate | null;
  incomplete: string | null;
  intervals: number;
  joined: number;
  limit_bytes?: number | null;
  node: number;
  port: number;
  reports_lost: number;
  start_ns: number;
  start_s: number;
  unjoined: number;
}

export interface PhaseProbe {
  lost: number;
  samples: number;
}

export interface PhaseReports {
  duplicate: number;
  kernel_drops: number;
  late: number;
  lost: number;
  malformed: number;
  received: number;
}

export interface PhaseRequest {
  action: PhaseAction;
  name: string;
}

export type PhaseState = 'running' | 'closing' | 'complete';

export interface Phases {
  phases: Phase[];
}

export interface Prediction {
  delay_mean_ms: Interval;
  delay_ms: Interval;
  formula?: FormulaPrediction | null;
  loss_rate: Interval;
  utilisation: Interval;
}

export interface Present {
  limit_bytes: number;
  measured: Observed | null;
  predicted: Prediction | null;
}

export interface Problem {
  field: string | null;
  message: string;
}

export interface Quantiles {
  max: number | null;
  mean: number | null;
  p50: number | null;
  p99: number | null;
}

export interface Recent {
  arrivals: number;
  ce_marked: number;
  delay_ms: RecentDelay;
  drops: number;
  loss_rate: number;
  occupancy_bytes: RecentOccupancy;
  packets: number;
  reports_lost: number;
  start_ns: number;
  utilisation: number | null;
}

export interface RecentDelay {
  max: number;
  p50: number;
  p99: number;
}

export interface RecentOccupancy {
  max: number;
  p50: number;
  p99: number;
}

export type Regime = 'transparent' | 'elastic' | 'overload' | 'unknown';

export interface RegimeEstimate {
  evidence: Evidence;
  value: Regime;
  why: string;
}

export interface RejectedRule {
  id: string;
  name: string;
  reasons: string[];
}

export interface ReportsRequest {
  on: boolean;
}

export interface ReportsSet {
  node: number;
  on: boolean;
  port: number;
}

export interface Rule {
  applies: boolean;
  assumptions: Assumption[];
  buffer_bytes: number | null;
  buffer_ms: number | null;
  buffer_packets: number | null;
  formula: string;
  goals: Goal[];
  id: string;
  inputs: Input[];
  missing: string | null;
  name: string;
  source: string;
}

export interface Rules {
  node: number;
  port: number;
  rules: Rule[];
}

export interface Saturable {
  bounded_share: number;
  value: boolean | null;
}

export interface Series {
  arrivals: number[];
  ce_marked: number[];
  delay_max_ms: number[];
  delay_p50_ms: number[];
  delay_p99_ms: number[];
  drops: number[];
  limit_bytes: (number | null)[];
  node: number;
  occupancy_max_bytes: number[];
  occupancy_p50_bytes: number[];
  occupancy_p99_bytes: number[];
  packets: number[];
  port: number;
  reports_lost: number[];
  step_ns: number;
  time_ns: number[];
  utilisation: (number | null)[];
}

export interface Status {
  collectors: Collector[];
  dry_run: boolean;
  links: LinkId[];
  mode: Mode;
  retention_s: number;
  switches: Switch[];
  targets: Targets;
  uptime_s: number;
  version: string;
  window_s: number;
}

export interface Steadiness {
  high_bytes: number | null;
  latest_bytes: number | null;
  low_bytes: number | null;
  seconds: number;
  since_ns: number | null;
  steady: boolean;
}

export interface Switch {
  address: string;
  device_id: number;
  driver: string;
  health: Health;
  limit_unit_bytes: number;
  limits: Record<string, Limit>;
  node: number;
  provision_problem: string | null;
  provisioned: boolean;
  ready: boolean;
}

export interface Targets {
  delay_ms: number | null;
  loss_rate: number | null;
  priority: Goal[];
  utilisation: number;
}

export interface TargetsRequest {
  delay_ms?: number | null;
  loss_rate?: number | null;
  node?: number | null;
  port?: number | null;
  priority?: Goal[] | null;
  utilisation?: number | null;
}

export interface TargetsSet {
  targets: Targets;
}

export interface Update {
  links: Link[];
  unix_ms: number;
}

export interface Utilisation {
  mean: number | null;
  non_empty: number | null;
  p01: number | null;
  windows: number;
}

export interface Watching {
  before: Limit | null;
  from_ns: number | null;
  limit: Limit;
  to_ns: number | null;
}

export interface Gets {
  '/advice': {
    path: Record<string, never>;
    query: { node?: number; port?: number };
    answer: AdviceState;
  };
  '/changes': {
    path: Record<string, never>;
    query: Record<string, never>;
    answer: Changes;
  };
  '/curve': {
    path: Record<string, never>;
    query: { format?: string; from_bytes?: number; node?: number; points?: number; port?: number; to_bytes?: number };
    answer: Curve;
  };
  '/flows': {
    path: Record<string, never>;
    query: { node?: number; port?: number };
    answer: Flows;
  };
  '/links': {
    path: Record<string, never>;
    query: Record<string, never>;
    answer: Links;
  };
  '/links/{node}/{port}': {
    path: { node: number; port: number };
    query: Record<string, never>;
    answer: Link;
  };
  '/links/{node}/{port}/distribution': {
    path: { node: number; port: number };
    query: { from_ns?: number; last_s?: number; to_ns?: number };
    answer: Distribution;
  };
  '/links/{node}/{port}/packets': {
    path: { node: number; port: number };
    query: { from_ns?: number; last_s?: number; max_packets?: number; to_ns?: number };
    answer: Packets;
  };
  '/links/{node}/{port}/series': {
    path: { node: number; port: number };
    query: { from_ns?: number; last_s?: number; max_points?: number; to_ns?: number };
    answer: Series;
  };
  '/phases': {
    path: Record<string, never>;
    query: Record<string, never>;
    answer: Phases;
  };
  '/phases/{name}': {
    path: { name: string };
    query: Record<string, never>;
    answer: Phase;
  };
  '/rules': {
    path: Record<string, never>;
    query: { node?: number; port?: number };
    answer: Rules;
  };
  '/status': {
    path: Record<string, never>;
    query: Record<string, never>;
    answer: Status;
  };
  '/targets': {
    path: Record<string, never>;
    query: Record<string, never>;
    answer: AllTargets;
  };
}

export interface Posts {
  '/advice/apply': {
    path: Record<string, never>;
    query: Record<string, never>;
    body: ApplyRequest;
    answer: AdviceApplied;
  };
  '/links/{node}/{port}/limit': {
    path: { node: number; port: number };
    query: Record<string, never>;
    body: LimitRequest;
    answer: LimitSet;
  };
  '/links/{node}/{port}/reports': {
    path: { node: number; port: number };
    query: Record<string, never>;
    body: ReportsRequest;
    answer: ReportsSet;
  };
  '/mode': {
    path: Record<string, never>;
    query: Record<string, never>;
    body: ModeRequest;
    answer: ModeSet;
  };
  '/phases': {
    path: Record<string, never>;
    query: Record<string, never>;
    body: PhaseRequest;
    answer: Phase;
  };
  '/targets': {
    path: Record<string, never>;
    query: Record<string, never>;
    body: TargetsRequest;
    answer: TargetsSet;
  };
}
