// SPDX-License-Identifier: Apache-2.0
// Selects a span by touch: a finger that moves sideways over a chart selects, one that moves up or
// down scrolls the page.

import type uPlot from 'uplot';

/** Movement in CSS pixels before it has a direction. */
const SLACK = 8;

export function touchSelects(u: uPlot): void {
  let start: { id: number; x: number; y: number } | null = null;
  let selecting = false;
  const left = (e: PointerEvent): number => {
    const box = u.over.getBoundingClientRect();
    return Math.min(box.width, Math.max(0, e.clientX - box.left));
  };
  const end = (): void => {
    start = null;
    selecting = false;
  };
  u.over.addEventListener('pointerdown', (e) => {
    if (e.pointerType !== 'touch') return;
    start = { id: e.pointerId, x: left(e), y: e.clientY };
  });
  u.over.addEventListener('pointermove', (e) => {
    if (!start || e.pointerId !== start.id) return;
    const x = left(e);
    if (!selecting && Math.abs(x - start.x) < SLACK) return;
    if (!selecting) {
      selecting = true;
      u.over.setPointerCapture(e.pointerId);
    }
    const height = u.over.clientHeight;
    u.setSelect({ left: Math.min(x, start.x), top: 0, width: Math.abs(x - start.x), height }, false);
  });
  u.over.addEventListener('pointerup', (e) => {
    if (!start || e.pointerId !== start.id) return;
    const [from, x] = [start.x, left(e)];
    const selected = selecting;
    end();
    if (selected) u.setSelect({ left: Math.min(x, from), top: 0, width: Math.abs(x - from), height: u.over.clientHeight }, true);
  });
  // The browser scrolls instead.
  u.over.addEventListener('pointercancel', () => {
    if (selecting) u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    end();
  });
}
