// SPDX-License-Identifier: Apache-2.0
// Panels. A new panel is a file in this folder and a line in layout.ts.

import type { SizeContext, SizeUnit } from '../format/units';
import type { Freshness } from '../model/freshness';
import type { Recording } from '../model/recording';
import type { Series } from '../model/series';
import type { Trails } from '../model/trail';
import type { EstimateColumn } from '../model/estimates';
import type { AdviceState, AuditEntry, Brief, Distribution, Link, Packets, Phase, Rule, Status, Verdict, WindowColumns } from '../model/types';
import type { TargetValues } from '../model/targets';
import type { TokenStore } from './confirm';

/** The span of time that the recorder shows. */
export interface Shown {
  recording: Recording;
  from: number;
  to: number;
  /** Width of the live window, seconds. */
  window: number;
  held: boolean;
  packets: Packets | null;
  packetsNote: string;
  distribution: Distribution | null;
  /** Windows of the chosen flows. */
  windows: WindowColumns;
}

/** Everything a panel may show, as of one frame. */
export interface Snapshot {
  /** Every port in brief. */
  overview: readonly Brief[];
  /** Queue of every port over the last minutes. */
  trails: Trails;
  /** The chosen port. */
  link: Link | null;
  fresh: Freshness;
  status: Status | null;
  /** Whether the run is finished. */
  finished: boolean;
  /** Limit in force, bytes. */
  limit: number | null;
  /** Limit advised, bytes. */
  advised: number | null;
  advice: AdviceState | null;
  rules: readonly Rule[];
  /** The verdict on the buffer, with its curve. */
  verdict: Verdict | null;
  changes: readonly AuditEntry[];
  phases: readonly Phase[];
  /** History of the estimates of the chosen port. */
  history: Series<EstimateColumn> | null;
  shown: Shown;
  /** Flows chosen for the charts, by id. */
  chosen: readonly string[];
  /** Colour number of each flow. */
  colours: ReadonlyMap<string, number>;
  unit: SizeUnit;
  context: SizeContext;
}

export interface NewTargets extends TargetValues {
  priority: string[];
}

/** Actions that a panel may ask for. */
export interface Actions {
  selectLink: (key: string) => void;
  selectUnit: (unit: SizeUnit) => void;
  setWindow: (seconds: number) => void;
  hold: (from: number, to: number) => void;
  follow: () => void;
  /** Shows the windows of these flows. */
  chooseFlows: (ids: readonly string[]) => void;
  /** Resolves with a message for the operator, rejects with the reason. */
  apply: (state: AdviceState, token: string) => Promise<string>;
  setTargets: (targets: NewTargets, token: string) => Promise<void>;
  token: TokenStore;
}

export interface Panel {
  readonly element: HTMLElement;
  /** Called at most once per frame. */
  update: (s: Snapshot) => void;
  /** Called twice a second, even if nothing arrived, for what changes with time alone. */
  tick?: (fresh: Freshness, status: Status | null) => void;
  /** Forgets scales and cursors when another port is chosen. */
  reset?: () => void;
}
