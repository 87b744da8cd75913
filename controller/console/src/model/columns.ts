// SPDX-License-Identifier: Apache-2.0
// What is drawn of a span of time: columns, and distributions.

/** Columns of equal length. */
export interface SeriesColumns {
  stepSeconds: number;
  time: number[];
  occP50: (number | null)[];
  occP99: (number | null)[];
  occMax: (number | null)[];
  limit: (number | null)[];
  utilisation: (number | null)[];
  loss: (number | null)[];
  delayP50: (number | null)[];
  delayP99: (number | null)[];
  delayMax: (number | null)[];
  drops: (number | null)[];
}

/** Packets at packet resolution, columns of equal length: there are millions. */
export interface Packets {
  time: Float64Array;
  /** Departure; of a packet dropped its arrival. */
  left: Float64Array;
  occupancy: Float64Array;
  /** 1 or 0. */
  dropped: Uint8Array;
  /** 1 or 0. */
  ce: Uint8Array;
  flow: Float64Array;
  cwnd: Uint32Array;
  seq: Uint32Array;
  ipBytes: Uint16Array;
  truncated: boolean;
  /** Arrival of the oldest that the collector remembers. */
  oldest: number | null;
}

/** Windows over time, columns of equal length. */
export interface WindowColumns {
  stepSeconds: number;
  time: number[];
  cwndSumPkts: (number | null)[];
  inFlightSumBytes: (number | null)[];
  probedFlows: number[];
  dataFlows: number[];
  flows: FlowWindowColumns[];
}

export interface FlowWindowColumns {
  id: string;
  cwndPkts: (number | null)[];
  inFlightBytes: (number | null)[];
  drops: number[];
  ce: number[];
}

export interface DistributionBin {
  lowBytes: number;
  highBytes: number;
  share: number;
}

export interface Distribution {
  bins: DistributionBin[];
  total: number;
  p50: number | null;
  p99: number | null;
  max: number | null;
  /** What it covers, seconds. */
  spanSeconds: number | null;
}
