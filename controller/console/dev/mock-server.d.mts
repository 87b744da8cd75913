// SPDX-License-Identifier: Apache-2.0
export const TOKEN: string;
export interface Mock {
  url: string;
  port: number;
  /** `METHOD /path` of every request so far. */
  requests: string[];
  links: { limitBytes: number; now: number; silences: [number, number][] }[];
  close(): Promise<void>;
}
export function startMock(options?: { port?: number; speed?: number; warmSeconds?: number; manyLinks?: number; noLinks?: boolean }): Promise<Mock>;
