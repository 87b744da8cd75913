// SPDX-License-Identifier: Apache-2.0
// The current view as the fragment of the page's address: link, span, flows. A span is in seconds
// of the switch's clock, so that it means the same after a restart of the page, the controller or
// the collector.

export interface Address {
  link: string | null;
  window: number | null;
  /** Seconds of the switch's clock. */
  span: [number, number] | null;
  flows: string[] | null;
}

const NUMBER = /^\d{1,12}(\.\d{1,9})?$/;

export function parseAddress(hash: string): Address {
  const q = new URLSearchParams(hash.replace(/^#/, ''));
  const number = (name: string): number | null => {
    const text = q.get(name) ?? '';
    return NUMBER.test(text) ? Number(text) : null;
  };
  // Dashboards also name queue 0.
  const link = (q.get('link') ?? '').replace(/^(\d+:(?:\d+|unknown)):0$/, '$1');
  const [from, to] = [number('from'), number('to')];
  const flows = (q.get('flows') ?? '').split(',').filter((f) => /^\d{1,20}$/.test(f));
  return {
    link: /^\d{1,10}:(\d{1,10}|unknown)(:\d{1,10})?$/.test(link) ? link : null,
    window: number('window'),
    span: from !== null && to !== null && to > from ? [from, to] : null,
    flows: q.has('flows') ? flows : null,
  };
}

export function formatAddress(a: Address): string {
  const parts: string[] = [];
  if (a.link) parts.push(`link=${a.link}`);
  if (a.window !== null) parts.push(`window=${a.window}`);
  if (a.span) parts.push(`from=${a.span[0].toFixed(6)}`, `to=${a.span[1].toFixed(6)}`);
  if (a.flows) parts.push(`flows=${a.flows.join(',')}`);
  return parts.length > 0 ? `#${parts.join('&')}` : '';
}
