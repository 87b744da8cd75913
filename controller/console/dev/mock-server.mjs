// SPDX-License-Identifier: Apache-2.0
// A stand-in for tidemark-controller: the built page, the REST API and the
// event stream of docs/reference/api.md over made-up links.
//
//   node dev/mock-server.mjs [--port 8090] [--speed 1] [--warm SECONDS]
//
// The token is "mock-token". For tests, `POST /mock/telemetry {"on": false}`
// stops the telemetry while the controller stays reachable,
// `POST /mock/advise {"bytes": N}` moves the advice, `/mock/counters` sets
// counters of the collector, `/mock/reported {"bytes": N}` the limit that reports
// state, `/mock/forget {"ms": N}` how long packets are remembered, and `/mock/say
// {"status": {…}, "link": {…}}` fields of these answers.

import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as answers from './answers.mjs';
import { SimulatedLink } from './link.mjs';

export const TOKEN = 'mock-token';
const DIST = join(fileURLToPath(new URL('..', import.meta.url)), 'dist');
// As the controller sends it: a test in controller/daemon/src/api/hosts.rs compares the two.
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2', '.txt': 'text/plain' };

function demoFlows() {
  const rtts = [10, 20, 30, 40];
  const lbp = Array.from({ length: 12 }, (_, i) => ({ cls: 'LBP', rtt: rtts[i % 4], control: i % 2 ? 'cubic' : 'reno' }));
  const rest = [
    { cls: 'RBP', rtt: 20, control: 'reno', maxRate: 375 },
    { cls: 'RBP', rtt: 40, control: 'cubic', maxRate: 300 },
    { cls: 'WL', rtt: 30, control: 'cubic', maxWindow: 8 },
    { cls: 'WL', rtt: 10, control: 'reno', maxWindow: 5 },
    { cls: 'SHORT', rtt: 20, control: 'cubic', maxWindow: 12 },
  ];
  return [...lbp, ...rest];
}

/** Starts the stand-in; resolves with its address and a function that ends it. */
export async function startMock({ port = 0, speed = 1, warmSeconds = 40, manyLinks = 0, noLinks = false } = {}) {
  const links = noLinks ? [] : [
    new SimulatedLink({ node: 10, port: 5, name: 'bottleneck', capacityBps: 100e6, limitBytes: 312_500, flows: demoFlows(), seed: 7 }),
    new SimulatedLink({ node: 10, port: 7, name: 'uplink', capacityBps: 50e6, limitBytes: 200_000, flows: demoFlows().slice(0, 3), seed: 11 }),
  ];
  const changes = [];
  const listeners = new Map();
  const requests = [];
  // Fields of answers that tests set.
  const said = { status: {}, link: {} };
  const tell = (link, full) => ({ ...answers.link(link, full, age), ...said.link });
  let telemetry = true;
  let age = 0;
  for (let i = 0; i < manyLinks; i += 1) {
    // Limits of every kind: fine, too big by less and by more, too small; one in eight cannot be judged.
    const limitBytes = [160_000, 200_000, 320_000, 100_000][i % 4];
    const l = new SimulatedLink({ node: 20 + Math.floor(i / 16), port: i % 16, name: `leaf ${i}`, capacityBps: 100e6, limitBytes, flows: demoFlows().slice(0, 2), seed: 20 + i });
    if (i % 8 === 4) l.verdict = { answer: 'cannot_say', because: 'only 2.0 s were measured; wait for 5 s' };
    links.push(l);
  }
  const begun = Date.now();
  for (const l of links) {
    l.stepTo(warmSeconds * 1000);
    l.startUnixMs = begun - warmSeconds * 1000;
  }

  const send = (name, data) => {
    for (const r of listeners.keys()) r.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const timer = setInterval(() => {
    if (telemetry) {
      age = 0.2;
      for (const l of links) l.stepTo(l.now + 1000 * speed);
    } else {
      age += 1;
    }
    for (const [r, only] of listeners) {
      const chosen = only ? links.filter((l) => `${l.node}:${l.port}` === only) : links;
      const update = { unix_ms: Date.now(), links: chosen.map((l) => tell(l, false)), ...(only ? { others: links.map((l) => answers.summary(l, age)) } : {}) };
      r.write(`event: update\ndata: ${JSON.stringify(update)}\n\n`);
    }
  }, 1000);

  const find = (node, p) => links.find((l) => l.node === Number(node) && l.port === Number(p));
  const changed = (l, before, outcome, error = null) => {
    const c = {
      unix_ms: Date.now(),
      node: l.node,
      port: l.port,
      queue: 0,
      origin: 'confirmed',
      outcome,
      before: { action: 'drop_tail', limit_bytes: before },
      limit: { action: 'drop_tail', limit_bytes: l.limitBytes },
      reason: 'advice, rule bscl: utilisation of 98 % needs 158 kB',
      error,
      expected: null,
      measured_before: null,
      measured_after: null,
    };
    changes.push(c);
    send('change', c);
  };

  function read(url) {
    const path = url.pathname.replace(/^\/api\/v1\//, '');
    const q = url.searchParams;
    const l = find(q.get('node') ?? 10, q.get('port') ?? 5);
    const m = /^links\/(\d+)\/(\d+)(?:\/(\w+))?$/.exec(path);
    if (m) {
      const link = find(m[1], m[2]);
      if (!link) return null;
      const to = q.has('to_ns') ? Number(q.get('to_ns')) / 1e6 : link.now;
      const from = q.has('from_ns') ? Number(q.get('from_ns')) / 1e6 : to - 1000 * Number(q.get('last_s') ?? 30);
      const points = Number(q.get('max_points') ?? 1000);
      // The controller's resolutions: 10 ms while that is affordable, else 100 ms.
      const fine = (to - from) / 10 <= 8 * points;
      const level = fine ? 10 : 100;
      if (m[3] === 'series') return link.series(from, to, level * Math.max(1, Math.ceil((to - from) / level / points)));
      if (m[3] === 'windows') return link.windows(from, to, points, (q.get('flows') ?? '').split(',').filter(Boolean).map(Number));
      if (m[3] === 'estimates') return answers.estimates(link, q.has('from_ns') ? from : 0, to, points);
      if (m[3] === 'distribution') return link.distribution(from, to);
      if (m[3] === 'packets') return link.packets(from, to, Number(q.get('max_packets') ?? 20_000));
      return tell(link, true);
    }
    switch (path) {
      case 'status':
        return { ...answers.status(links, Math.round((links[0]?.now ?? 0) * 8.1), age), ...said.status };
      case 'links':
        return { links: links.map((x) => tell(x, false)), next_offset: null };
      case 'advice':
        return answers.adviceAnswer(l);
      case 'verdict':
        return answers.verdictAnswer(l);
      case 'findings':
        return said.findings ?? answers.FINDINGS;
      case 'changes':
        return { changes };
      case 'phases':
        return { phases: [], kept: 0, forgotten: 0 };
      default:
        return null;
    }
  }

  function write(path, body, authorised) {
    if (path === '/mock/telemetry') {
      telemetry = body.on === true;
      return [200, { on: telemetry }];
    }
    if (path === '/mock/counters') {
      Object.assign(answers.COUNTERS, body);
      return [200, answers.COUNTERS];
    }
    if (path === '/mock/reported') {
      links[0].reportedLimitBytes = body.bytes;
      return [200, body];
    }
    if (path === '/mock/say') {
      Object.assign(said.status, body.status);
      Object.assign(said.link, body.link);
      if (body.findings) said.findings = { findings: body.findings };
      return [200, said];
    }
    if (path === '/mock/forget') {
      for (const l of links) l.packetsKeptMs = body.ms;
      return [200, body];
    }
    if (path === '/mock/advise') {
      answers.ADVISED.bytes = body.bytes;
      return [200, answers.ADVISED];
    }
    if (!authorised) return [401, { error: { message: 'no or wrong token', field: null } }];
    if (path === '/api/v1/targets') {
      const { node, port: p, ...wanted } = body;
      Object.assign(answers.TARGETS, wanted);
      return [200, { targets: answers.TARGETS }];
    }
    if (path !== '/api/v1/advice/apply') return [404, { error: { message: 'not found', field: null } }];
    const l = find(body.node ?? 10, body.port ?? 5);
    if (!l) return [404, { error: { message: 'unknown link', field: 'port' } }];
    const a = answers.advice(l, true);
    if (body.bytes !== undefined && Math.abs(body.bytes - a.limit_bytes) > 0.05 * body.bytes) {
      return [409, { error: { message: `the advice is ${a.limit_bytes} bytes now, no longer ${body.bytes}`, field: 'bytes' } }];
    }
    const before = l.limitBytes;
    l.limitBytes = a.limit_bytes;
    changed(l, before, 'set');
    return [200, { node: l.node, port: l.port, queue: 0, before: { action: 'drop_tail', limit_bytes: before }, limit: { action: 'drop_tail', limit_bytes: l.limitBytes }, advice: a, dry_run: false, recorded: true }];
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://mock');
    requests.push(`${request.method} ${url.pathname}`);
    const json = (code, data) => {
      response.writeHead(code, { 'content-type': 'application/json' });
      response.end(JSON.stringify(data));
    };
    if (url.pathname === '/api/v1/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.write(': hello\n\n');
      const [node, p] = [url.searchParams.get('node'), url.searchParams.get('port')];
      listeners.set(response, node && p ? `${node}:${p}` : null);
      request.on('close', () => listeners.delete(response));
      return;
    }
    if (request.method === 'POST') {
      let text = '';
      for await (const chunk of request) text += chunk;
      const authorised = request.headers.authorization === `Bearer ${TOKEN}`;
      let body = {};
      try {
        body = JSON.parse(text || '{}');
      } catch {
        json(400, { error: { message: 'not JSON', field: null } });
        return;
      }
      json(...write(url.pathname, body, authorised));
      return;
    }
    if (url.pathname === '/api/v1/verdict' && url.searchParams.get('format') === 'svg') {
      response.writeHead(200, { 'content-type': 'image/svg+xml' });
      response.end(answers.picture(url.searchParams.get('width')));
      return;
    }
    if (url.pathname.startsWith('/api/')) {
      const data = read(url);
      if (data) json(200, data);
      else json(404, { error: { message: 'not found', field: null } });
      return;
    }
    const file = normalize(url.pathname === '/' ? '/index.html' : url.pathname);
    try {
      const data = await readFile(join(DIST, file));
      response.writeHead(200, {
        'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
        'content-security-policy': CONTENT_SECURITY_POLICY,
      });
      response.end(data);
    } catch {
      response.writeHead(404);
      response.end('not found');
    }
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${address.port}/`,
    port: address.port,
    requests,
    links,
    close: () =>
      new Promise((resolve) => {
        clearInterval(timer);
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name, otherwise) => {
    const i = process.argv.indexOf(`--${name}`);
    return i < 0 ? otherwise : Number(process.argv[i + 1]);
  };
  const mock = await startMock({ port: option('port', 8090), speed: option('speed', 1), warmSeconds: option('warm', 40) });
  process.stderr.write(`mock controller: ${mock.url} (token ${TOKEN})\n`);
}
