// SPDX-License-Identifier: Apache-2.0
// Reads the size at which a picture is shown, so that the text does not move when it loads.

/** Returns the size in CSS pixels. Throws if the file does not tell it. */
export function pictureSize(path: string, file: Buffer): { width: number; height: number } {
  if (path.endsWith('.png') && file.subarray(1, 4).toString() === 'PNG') return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
  const svg = /<svg\b[^>]*>/.exec(file.toString())?.[0] ?? '';
  const box = /\bviewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/.exec(svg);
  const [width, height] = [Number(box?.[1]), Number(box?.[2])];
  if (!path.endsWith('.svg') || !(width > 0) || !(height > 0)) throw new Error(`docs/${path}: neither a PNG nor an SVG with a viewBox`);
  return { width: Math.round(width), height: Math.round(height) };
}
