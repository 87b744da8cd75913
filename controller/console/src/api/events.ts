// SPDX-License-Identifier: Apache-2.0
// Keeps the event stream open: a stream that ends, is refused or falls silent is opened again, with
// growing pauses.

export type Connection = 'connecting' | 'live' | 'lost';

/** The part of EventSource that is used here, so that tests can replace it. */
export interface Source {
  addEventListener(name: string, f: (e: { data?: string }) => void): void;
  close(): void;
}

export interface EventsOptions {
  open: () => Source;
  onEvent: (name: string, data: unknown) => void;
  onConnection: (state: Connection) => void;
  now: () => number;
}

const NAMES = ['update', 'change', 'phase', 'collector'] as const;
/** The controller sends something every second: after this long it counts as lost. */
const SILENCE_MS = 4000;
const RETRY_MS = [500, 1000, 2000, 4000, 8000] as const;

export class Events {
  private source: Source | null = null;
  private state: Connection = 'connecting';
  private heard = 0;
  private attempts = 0;
  private retryAt = 0;

  constructor(private readonly options: EventsOptions) {}

  get connection(): Connection {
    return this.state;
  }

  /** Returns the milliseconds since the last event; null before the first. */
  silence(): number | null {
    return this.heard === 0 ? null : this.options.now() - this.heard;
  }

  /** Opens another stream instead of this one, because the request has changed. */
  restart(): void {
    if (!this.source) return;
    this.source.close();
    this.start();
  }

  /** Called a few times a second. */
  tick(): void {
    const now = this.options.now();
    if (this.source) {
      if (now - this.heard > SILENCE_MS && this.heard !== 0 && this.state === 'live') this.lost();
      else if (this.state !== 'live' && now - this.retryAt > SILENCE_MS + 4000) this.lost();
    } else if (now >= this.retryAt) {
      this.start();
    }
  }

  start(): void {
    const source = this.options.open();
    this.source = source;
    this.retryAt = this.options.now();
    for (const name of NAMES) {
      source.addEventListener(name, (e) => {
        if (this.source !== source) return;
        this.heard = this.options.now();
        this.attempts = 0;
        this.become('live');
        let data: unknown;
        try {
          data = JSON.parse(e.data ?? '');
        } catch {
          return; // a cut-off message: the next one is complete
        }
        this.options.onEvent(name, data);
      });
    }
    source.addEventListener('error', () => {
      if (this.source === source) this.lost();
    });
  }

  private lost(): void {
    this.source?.close();
    this.source = null;
    const wait = RETRY_MS[Math.min(this.attempts, RETRY_MS.length - 1)] ?? 8000;
    this.attempts += 1;
    this.retryAt = this.options.now() + wait;
    this.become('lost');
  }

  private become(state: Connection): void {
    if (state === this.state) return;
    this.state = state;
    this.options.onConnection(state);
  }
}
