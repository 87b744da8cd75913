// SPDX-License-Identifier: Apache-2.0
// The stand-in answers according to the OpenAPI document, so that whatever works with it works with
// a controller.

import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Mock, startMock, TOKEN } from '../../dev/mock-server.mjs';

interface Document {
  components: { schemas: Record<string, { properties?: object; additionalProperties?: boolean }> };
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
const document: Document = JSON.parse(readFileSync(new URL('../../../../contract/openapi/tidemark-1.json', import.meta.url), 'utf8'));
// An undocumented field is as wrong as a missing one.
for (const s of Object.values(document.components.schemas)) if (s.properties) s.additionalProperties = false;
ajv.addSchema(document, 'openapi');

function problems(schema: string, value: unknown): string[] {
  const validate = ajv.compile({ $ref: `openapi#/components/schemas/${schema}` });
  validate(value);
  return (validate.errors ?? []).map((e) => `${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`);
}

let mock: Mock;
beforeAll(async () => {
  mock = await startMock({ warmSeconds: 20 });
});
afterAll(() => mock.close());

async function ask(path: string, body?: object, token = TOKEN): Promise<unknown> {
  const init = body && { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: JSON.stringify(body) };
  return (await fetch(new URL(`api/v1/${path}`, mock.url), init)).json();
}

describe('the stand-in', () => {
  it.each([
    ['status', 'Status'],
    ['links', 'Links'],
    ['links/10/5', 'Link'],
    ['links/10/5/series?last_s=5', 'Series'],
    ['links/10/5/distribution?last_s=5', 'Distribution'],
    ['links/10/5/packets?last_s=0.5', 'Packets'],
    ['links/10/5/windows?last_s=5&flows=1,2', 'Windows'],
    ['links/10/5/estimates', 'EstimateHistory'],
    ['advice', 'AdviceState'],
    ['verdict', 'VerdictState'],
    ['phases', 'Phases'],
    ['nothing', 'ErrorBody'],
  ])('answers %s with a valid %s', async (path, schema) => {
    expect(problems(schema, await ask(path))).toEqual([]);
  });

  it('answers what changes something', async () => {
    expect(problems('TargetsSet', await ask('targets', { node: 10, port: 5, delay_ms: 30 }))).toEqual([]);
    expect(problems('ErrorBody', await ask('advice/apply', {}, 'wrong'))).toEqual([]);
    expect(problems('AdviceApplied', await ask('advice/apply', { node: 10, port: 5 }))).toEqual([]);
    const changes = (await ask('changes')) as { changes: unknown[] };
    expect(changes.changes.length).toBe(1);
    expect(problems('Changes', changes)).toEqual([]);
  });

  it('is found out where it is wrong', () => {
    expect(problems('Problem', { message: 'x' })).not.toEqual([]);
    expect(problems('Problem', { message: 'x', field: null, more: 1 })).not.toEqual([]);
    expect(problems('Problem', { message: 'x', field: null })).toEqual([]);
  });
});
