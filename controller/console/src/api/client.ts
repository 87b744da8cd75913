// SPDX-License-Identifier: Apache-2.0
// Requests to the controller. Every one has a time limit: a controller that
// accepts connections and does not answer must not pile up requests.

import { number, object, string } from './json';

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

async function request(path: string, init: RequestInit): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(new URL(path, API), { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (e) {
    const timeout = e instanceof DOMException && e.name === 'TimeoutError';
    throw new ApiError(0, timeout ? 'The controller did not answer in time.' : 'The controller is not reachable.', '');
  }
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) {
    const error = object(object(body).error);
    throw new ApiError(response.status, string(error.message, `The controller answered ${response.status}.`), string(error.field));
  }
  return body;
}

export type Query = Record<string, number | string | null | undefined>;

function withQuery(path: string, query: Query): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query)) {
    if (v === null || v === undefined) continue;
    q.set(k, number(v) === null ? String(v) : String(Math.round(number(v) ?? 0)));
  }
  const text = q.toString();
  return text ? `${path}?${text}` : path;
}

/** Address of an answer, for a link. */
export function url(path: string, query: Query = {}): string {
  return new URL(withQuery(path, query), API).href;
}

export function get(path: string, query: Query = {}): Promise<unknown> {
  return request(withQuery(path, query), { headers: { accept: 'application/json' } });
}

export function post(path: string, body: unknown, token: string): Promise<unknown> {
  return request(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
}

const TOKEN = 'tidemark.token';

/** The operator's token, for this browser tab only. */
export const token = {
  get: (): string => sessionStorage.getItem(TOKEN) ?? '',
  set: (value: string): void => sessionStorage.setItem(TOKEN, value),
  clear: (): void => sessionStorage.removeItem(TOKEN),
};
