// SPDX-License-Identifier: Apache-2.0
// Strokes of the charts: the same on the screen's canvas and in an SVG file. Coordinates are CSS
// pixels.

import { ink } from './theme';

export interface Stroke {
  colour: string;
  width: number;
  dash?: readonly number[];
}

/** A box within a picture, CSS pixels. */
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** A box, and the positions of values in it. */
export interface View extends Box {
  x: (v: number) => number;
  y: (v: number) => number;
}

export type Anchor = 'start' | 'middle' | 'end';

export interface Lettering {
  size?: number;
  weight?: number;
  /** Whether the text runs upwards. */
  turned?: boolean;
}

export const FONT_FAMILY = '"IBM Plex Sans", system-ui, sans-serif';
const TEXT_SIZE = 12;

export interface Pen {
  /** Draws line segments: x1, y1, x2, y2, and so on. */
  segments(points: readonly number[], stroke: Stroke): void;
  /** Draws squares of a size around points: x, y, and so on. */
  dots(points: readonly number[], size: number, fill: string): void;
  ring(x: number, y: number, radius: number, stroke: Stroke): void;
  text(x: number, y: number, text: string, anchor: Anchor, colour: string): void;
}

export class CanvasPen implements Pen {
  constructor(
    private readonly c: CanvasRenderingContext2D,
    private readonly ratio: number,
  ) {}

  segments(points: readonly number[], stroke: Stroke): void {
    this.begin(stroke);
    const r = this.ratio;
    for (let i = 0; i + 3 < points.length; i += 4) {
      this.c.moveTo((points[i] ?? 0) * r, (points[i + 1] ?? 0) * r);
      this.c.lineTo((points[i + 2] ?? 0) * r, (points[i + 3] ?? 0) * r);
    }
    this.c.stroke();
  }

  dots(points: readonly number[], size: number, fill: string): void {
    this.c.fillStyle = fill;
    const s = size * this.ratio;
    for (let i = 0; i + 1 < points.length; i += 2) {
      this.c.fillRect((points[i] ?? 0) * this.ratio - s / 2, (points[i + 1] ?? 0) * this.ratio - s / 2, s, s);
    }
  }

  ring(x: number, y: number, radius: number, stroke: Stroke): void {
    this.begin(stroke);
    this.c.arc(x * this.ratio, y * this.ratio, radius * this.ratio, 0, 2 * Math.PI);
    this.c.stroke();
  }

  text(x: number, y: number, text: string, anchor: Anchor, colour: string): void {
    this.c.font = `${TEXT_SIZE * this.ratio}px ${FONT_FAMILY}`;
    this.c.textAlign = anchor === 'middle' ? 'center' : anchor;
    this.c.textBaseline = 'alphabetic';
    this.c.fillStyle = colour;
    this.c.fillText(text, x * this.ratio, y * this.ratio);
  }

  private begin(s: Stroke): void {
    this.c.strokeStyle = s.colour;
    this.c.lineWidth = s.width * this.ratio;
    this.c.setLineDash((s.dash ?? []).map((d) => d * this.ratio));
    this.c.beginPath();
  }
}

const n = (v: number): string => String(Math.round(v * 100) / 100);

/** Escapes text for an attribute or element of SVG. */
function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? c);
}

/** Escapes text for an element, and typesets symbols such as N_b. */
function lettered(text: string): string {
  return escaped(text).replace(/(\p{L}\p{M}*)_(\p{L})(?!\p{L})/gu, '$1<tspan baseline-shift="-20%" font-size="75%">$2</tspan>');
}

export class SvgPen implements Pen {
  readonly parts: string[] = [];

  segments(points: readonly number[], stroke: Stroke): void {
    let d = '';
    for (let i = 0; i + 3 < points.length; i += 4) {
      d += `M${n(points[i] ?? 0)} ${n(points[i + 1] ?? 0)}L${n(points[i + 2] ?? 0)} ${n(points[i + 3] ?? 0)}`;
    }
    this.stroke(d, stroke);
  }

  /** Draws a line through points; null lifts the pen, unless `bridged` takes the gap (x of its ends). */
  line(x: readonly number[], y: readonly (number | null)[], stroke: Stroke, bridged: (from: number, to: number) => boolean = () => false): void {
    let d = '';
    let last: number | null = null;
    let lifted = true;
    for (let i = 0; i < x.length; i += 1) {
      const v = y[i];
      if (v === null || v === undefined) {
        lifted = true;
        continue;
      }
      const at = x[i] ?? 0;
      const on = last !== null && (!lifted || bridged(last, at));
      d += `${on ? 'L' : 'M'}${n(at)} ${n(v)}`;
      last = at;
      lifted = false;
    }
    this.stroke(d, stroke);
  }

  dots(points: readonly number[], size: number, fill: string): void {
    let d = '';
    for (let i = 0; i + 1 < points.length; i += 2) {
      d += `M${n((points[i] ?? 0) - size / 2)} ${n((points[i + 1] ?? 0) - size / 2)}h${size}v${size}h-${size}z`;
    }
    this.fill(d, fill);
  }

  ring(x: number, y: number, radius: number, s: Stroke): void {
    this.parts.push(`<circle cx="${n(x)}" cy="${n(y)}" r="${n(radius)}" fill="none" stroke="${escaped(s.colour)}" stroke-width="${s.width}"/>`);
  }

  fill(d: string, fill: string, opacity = 1): void {
    if (d) this.parts.push(`<path d="${d}" fill="${escaped(fill)}" fill-opacity="${opacity}"/>`);
  }

  /** Inserts the strokes of another pen, clipped to a box. */
  within(box: Box, inside: SvgPen): void {
    const plot = `<rect x="${n(box.left)}" y="${n(box.top)}" width="${n(box.width)}" height="${n(box.height)}"/>`;
    this.parts.push(`<clipPath id="plot">${plot}</clipPath><g clip-path="url(#plot)">${inside.parts.join('')}</g>`);
  }

  /** Returns all that was drawn, on a paper background, since charts are transparent. */
  file(name: string, about: string, width: number, height: number): string {
    const described = about ? `<desc>${escaped(about)}</desc>` : '';
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" ` +
      `font-family="${escaped(FONT_FAMILY)}" font-size="${TEXT_SIZE}"><title>${escaped(name)}</title>${described}` +
      `<rect width="100%" height="100%" fill="${ink('sheet')}"/>${this.parts.join('')}</svg>\n`
    );
  }

  text(x: number, y: number, text: string, anchor: Anchor, colour: string, { size, weight, turned }: Lettering = {}): void {
    const turn = turned ? ` transform="rotate(-90 ${n(x)} ${n(y)})"` : '';
    const looks = `${size === undefined ? '' : ` font-size="${size}"`}${weight === undefined ? '' : ` font-weight="${weight}"`}`;
    this.parts.push(`<text x="${n(x)}" y="${n(y)}" text-anchor="${anchor}" fill="${escaped(colour)}"${looks}${turn}>${lettered(text)}</text>`);
  }

  private stroke(d: string, s: Stroke): void {
    if (!d) return;
    const dash = s.dash?.length ? ` stroke-dasharray="${s.dash.join(' ')}"` : '';
    this.parts.push(`<path d="${d}" fill="none" stroke="${escaped(s.colour)}" stroke-width="${s.width}"${dash}/>`);
  }
}
