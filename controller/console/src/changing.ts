// SPDX-License-Identifier: Apache-2.0
// Changes that the operator makes through the controller.

import { limit } from './api/advice';
import { ApiError, post, token } from './api/client';
import type { Posts } from './api/routes';
import { limitText, place } from './model/links';
import type { AdviceState, Link } from './model/types';
import type { NewTargets } from './views/panel';

/** Posts with the operator's token, and keeps the token if it was accepted. */
async function change<R extends '/advice/apply' | '/targets'>(
  route: R,
  body: Posts[R]['body'],
  secret: string,
  poll: () => void,
): Promise<Posts[R]['answer']> {
  try {
    const answer = await post(route, body, secret);
    token.set(secret);
    poll();
    return answer;
  } catch (e) {
    if (e instanceof ApiError && e.status === 401) {
      token.clear();
      throw new Error('The controller does not accept this token.');
    }
    // Refused for another reason, so the token was right.
    if (e instanceof ApiError && e.status > 0) token.set(secret);
    if (e instanceof ApiError && e.status === 409 && e.field === 'bytes') {
      poll();
      throw new Error('The advice has moved since. The value above follows it: apply again if you want that one.');
    }
    throw e;
  }
}

export async function applyAdvice(s: AdviceState, secret: string, poll: () => void): Promise<string> {
  const answer = await change('/advice/apply', { ...s.link, bytes: s.advice.advisedBytes }, secret, poll);
  const set = limit(answer.limit);
  return set === null ? 'Set.' : `Set. The switch was read back: ${limitText(set, (bytes) => `${bytes} B`)}.`;
}

export async function changeTargets(link: Link | null, t: NewTargets, secret: string, poll: () => void): Promise<void> {
  if (!link) throw new Error('No port is chosen.');
  const priority = t.priority as Posts['/targets']['body']['priority'];
  const { confidence, margin, utilisation } = t;
  const body = { ...place(link), utilisation, loss_rate: t.lossRate, delay_ms: t.delayMs, priority, confidence, margin };
  await change('/targets', body, secret, poll);
}
