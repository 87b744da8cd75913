// SPDX-License-Identifier: Apache-2.0
import { afterEach, describe, expect, it } from 'vitest';
import { captionLine, fileStem, setCaption } from './caption';
import { clockTicks, setClock, zoneText } from './clock';

afterEach(() => {
  setClock(null);
  setCaption({ link: '', place: '', run: '', newest: null });
});

/** Makes the axis begin at this local time of day. */
function begin(time: string): void {
  setClock(null);
  setClock(new Date(`2026-11-27T${time}`).getTime());
}

describe('times of day under an axis', () => {
  it('are round, and evenly apart, whenever the axis begins', () => {
    begin('21:09:03.700');
    const { at, labels } = clockTicks(0, 20, 8);
    expect(labels).toEqual(['21:09:05', '21:09:10', '21:09:15', '21:09:20']);
    expect(at[0]).toBeCloseTo(1.3);
    expect(clockTicks(0, 1200, 10).labels.slice(0, 3)).toEqual(['21:10:00', '21:12:00', '21:14:00']);
  });

  it('have the decimals that they need', () => {
    begin('21:09:03.700');
    expect(clockTicks(0, 0.8, 5).labels).toEqual(['21:09:03.8', '21:09:04.0', '21:09:04.2', '21:09:04.4']);
    expect(clockTicks(0, 0.02, 4).labels).toEqual(['21:09:03.700', '21:09:03.705', '21:09:03.710', '21:09:03.715', '21:09:03.720']);
    expect(clockTicks(0, 0.2, 4).labels).toEqual(['21:09:03.70', '21:09:03.75', '21:09:03.80', '21:09:03.85', '21:09:03.90']);
  });

  it('are not made up', () => {
    expect(clockTicks(0, 20, 8)).toEqual({ at: [], labels: [] });
  });
});

describe('a saved chart', () => {
  it('says where and when', () => {
    setCaption({ link: 's1 (node 10, port 1), C 100 Mb/s', place: '10-1', run: 'run demo', newest: 12 });
    expect(captionLine([0, 30])).toBe('s1 (node 10, port 1), C 100 Mb/s · run demo · time of day not known');
    begin('21:09:05');
    expect(captionLine([0, 30])).toBe(`s1 (node 10, port 1), C 100 Mb/s · run demo · 2026-11-27 21:09:05 to 21:09:35 ${zoneText(0)}`);
    expect(zoneText(0)).toMatch(/^UTC([+-]\d{1,2}(:\d\d)?)?$/);
    expect(captionLine([0, 0.5])).toContain('21:09:05.000 to 21:09:05.500');
    expect(captionLine(null)).toContain('2026-11-27 21:09:17');
  });

  it('has a name of ASCII that tells charts and links apart', () => {
    setCaption({ link: '', place: '10-1', run: '', newest: null });
    expect(['N_b over time', 'α over time', 'Δ over time', 'Über die Zeit'].map(fileStem)).toEqual([
      'tidemark-n-b-over-time-10-1',
      'tidemark-alpha-over-time-10-1',
      'tidemark-delta-over-time-10-1',
      'tidemark-uber-die-zeit-10-1',
    ]);
  });
});
