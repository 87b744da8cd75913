// SPDX-License-Identifier: Apache-2.0
// Sends requests to the controller. Each one has a time limit: if a controller accepts connections
// and does not answer, requests must not pile up.

import type { LinkId } from './generated';
import type { Gets, Posts } from './routes';
import { object, string } from './json';

const TIMEOUT_MS = 8000;

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly field: string,
  ) {
    super(message);
  }
}

/** Base of the API, relative to the page so that a reverse proxy may add a path. */
export const API = new URL('api/v1/', document.baseURI);

async function respond(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(new URL(path, API), { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (e) {
    const timeout = e instanceof DOMException && e.name === 'TimeoutError';
    throw new ApiError(0, timeout ? 'The controller did not answer in time.' : 'The controller is not reachable.', '');
  }
  if (response.ok) return response;
  const body: unknown = await response.json().catch(() => null);
  const error = object(object(body).error);
  throw new ApiError(response.status, string(error.message, `The controller answered ${response.status}.`), string(error.field));
}

async function request(path: string, init: RequestInit): Promise<unknown> {
  return (await respond(path, init)).json().catch(() => null);
}

type Parameters = Record<string, number | string | null | undefined>;

function address(route: string, path: Parameters, query: Parameters): string {
  // Queue 0 of a port has the path of the port.
  const of = path.queue ? route.replace('{port}', '{port}/{queue}') : route;
  const filled = of.slice(1).replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])));
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query)) {
    if (v === null || v === undefined) continue;
    q.set(k, typeof v === 'number' ? String(Math.round(v)) : v);
  }
  const text = q.toString();
  return text ? `${filled}?${text}` : filled;
}

export function get<R extends keyof Gets>(route: R, path: Gets[R]['path'], query: Gets[R]['query']): Promise<Gets[R]['answer']> {
  const init = { headers: { accept: 'application/json' } };
  return request(address(route, path as Parameters, query as Parameters), init) as Promise<Gets[R]['answer']>;
}

/** Fetches a verdict's picture as SVG: this many CSS pixels wide without title, or as on paper. */
export async function verdictPicture({ node, port, queue }: LinkId, theme: string, width: number | null): Promise<string> {
  return (await respond(address('/verdict', {}, { node, port, queue, format: 'svg', theme, width }), {})).text();
}

/** Posts to a route that has no parameters. */
export function post<R extends keyof Posts>(route: R, body: Posts[R]['body'], token: string): Promise<Posts[R]['answer']> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  };
  return request(address(route, {}, {}), init) as Promise<Posts[R]['answer']>;
}

const TOKEN = 'tidemark.token';

/** The operator's token, kept for this browser tab only. */
export const token = {
  get: (): string => sessionStorage.getItem(TOKEN) ?? '',
  set: (value: string): void => sessionStorage.setItem(TOKEN, value),
  clear: (): void => sessionStorage.removeItem(TOKEN),
};
