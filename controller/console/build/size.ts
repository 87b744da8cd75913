// SPDX-License-Identifier: Apache-2.0
// The size that a picture is shown at, so that the text does not move when it comes.

/** CSS pixels. Throws where the file does not say. */
export function pictureSize(path: string, file: Buffer): { width: number; height: number } {
  if (path.endsWith('.png') && file.subarray(1, 4).toString() === 'PNG') return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
  const svg = /<svg\b[^>]*>/.exec(file.toString())?.[0] ?? '';
  const box = /\bviewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/.exec(svg);
  const [width, height] = [Number(box?.[1]), Number(box?.[2])];
  if (!path.endsWith('.svg') || !(width > 0) || !(height > 0)) throw new Error(`docs/${path}: neither a PNG nor an SVG with a viewBox`);
  return { width: Math.round(width), height: Math.round(height) };
}
