import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CoreWorld } from '#test/support/core-world.ts';
import { developmentKey, type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

/*
 * What a request costs grows as its bytes do, whatever they are, and is a small multiple of what JSON.parse alone takes for
 * the same bytes. CPU time of this thread, the least of several runs beside each other, so that a busy machine does not decide.
 */

const text = {
  kind: 'text',
  answer: 'output_text',
  reference: 'item.answer',
  tolerance: 0,
  partialWithin: 1,
} as const;

let world: CoreWorld;
let gateway: GatewayUnderTest;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

beforeAll(async () => {
  const grader = {
    kind: 'weighted',
    parts: [
      { weight: 1, grader: { kind: 'f1', answer: 'output_json.files', reference: 'item.answer' } },
      { weight: 1, grader: { ...text, match: 'numeric' } },
      { weight: 1, grader: { ...text, match: 'exact' } },
      { weight: 1, grader: { ...text, match: 'normalised' } },
    ],
  } as const;
  world = await CoreWorld.start({ grader });
  gateway = await startGateway({ core: world.wired.core });
});
afterAll(async () => {
  agent.destroy();
  await gateway.stop(1_000);
  await world[Symbol.asyncDispose]();
});

const headers = {
  authorization: `Bearer ${developmentKey}`,
  'content-type': 'application/json',
};

function post(path: string, body: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(`${gateway.url}${path}`, {
      method: 'POST',
      agent,
      headers: { ...headers, 'content-length': body.length },
    });
    asked.on('error', reject);
    asked.on('response', (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    });
    asked.end(body);
  });
}

let asked = 0;
type Kind = 'call' | 'grade';

/** The bytes of a request with this much of the model's in it; each has ids of its own. */
function bodyOf(kind: Kind, written: string): Buffer {
  asked += 1;
  const item = '"item":{"answer":"yes"}';
  return Buffer.from(
    kind === 'call'
      ? `{"id":"f","call_id":"c${asked}","name":"sh","arguments":${written},${item},"trace_id":"t${asked}"}`
      : `{"sample":${written},${item},"trace_id":"t${asked}"}`,
  );
}

async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

const paths = { call: '/rft/plain/tools/sh', grade: '/rft/plain/grade' } as const;

async function requestMs(kind: Kind, written: string): Promise<number> {
  const body = bodyOf(kind, written);
  return cpuMs(async () => expect(await post(paths[kind], body)).toBe(200));
}

/**
 * What is around the looking at it: a small request of its kind (Redis, recording), and the same bytes through both ends of
 * a connection to an address that throws them away.
 */
async function aroundItMs(kind: Kind, written: string): Promise<number> {
  const [small, large] = [bodyOf(kind, '{"x":1}'), bodyOf(kind, written)];
  return (
    (await cpuMs(async () => expect(await post(paths[kind], small)).toBe(200))) +
    (await cpuMs(async () => expect(await post('/rft/plain/nothing', large)).toBe(500)))
  );
}

/** Together, because the clock of CPU time is coarse. */
const parses = 10;

const parseMs = (written: string): Promise<number> => {
  const body = bodyOf('call', written);
  return cpuMs(() => {
    for (let time = 0; time < parses; time += 1) parseAll(body.toString('utf8'));
  }).then((ms) => ms / parses);
};

/** The bytes, and the text among them that is JSON again, which no answer can be found in without. */
function parseAll(json: string): void {
  const { arguments: written } = JSON.parse(json) as { arguments: { output_text?: unknown } | string };
  const inner = typeof written === 'string' ? written : written.output_text;
  if (typeof inner === 'string' && inner.startsWith('{')) JSON.parse(inner);
}

/** What a collection of garbage and a tick of the clock take. */
const coarseMs = 3;

const runs = 7;

async function leastMs(measure: () => Promise<number>): Promise<number> {
  let least = Infinity;
  for (let run = 0; run < runs; run += 1) least = Math.min(least, await measure());
  return least;
}

const said = (piece: string) => (bytes: number) =>
  JSON.stringify({ output_text: piece.repeat(bytes / piece.length) });
const held = (open: string, piece: string, close: string) => (bytes: number) =>
  `{"x":${open}${piece.repeat(bytes / piece.length)}${close}}`;
const nested = (open: string, close: string) => (bytes: number) => {
  const levels = Math.floor(bytes / (open.length + close.length));
  return `{"x":${open.repeat(levels)}0${close.repeat(levels)}}`;
};

const families: readonly (readonly [string, Kind, (bytes: number) => string])[] = [
  ['lists in lists', 'call', nested('[', ']')],
  ['objects in objects', 'call', nested('{"a":', '}')],
  ['empty objects', 'call', held('[', '{},', '0]')],
  ['numbers', 'call', held('[', '1,', '0]')],
  ['one text', 'call', held('"', 'x', '"')],
  ['escapes', 'call', held('"', String.raw`\u0061`, '"')],
  ['quotes', 'call', held('"', String.raw`\"`, '"')],
  ['letters of other alphabets', 'call', held('"', 'é', '"')],
  ['text in text', 'call', (bytes) => JSON.stringify(held('[', '{},', '0]')(bytes))],
  [
    'many names',
    'call',
    (bytes) => `{${Array.from({ length: bytes / 12 }, (_, n) => `"k${n}":0`).join(',')}}`,
  ],
  ['a text', 'grade', said('x')],
  [
    'line ends in a fence',
    'grade',
    (bytes) => JSON.stringify({ output_text: `\`\`\`${'\n'.repeat(bytes / 2)}x` }),
  ],
  ['backquotes', 'grade', said('`')],
  ['backquotes and line ends', 'grade', said('```\n')],
  ['blanks', 'grade', said(' ')],
  ['blanks around a letter', 'grade', (bytes) => JSON.stringify({ output_text: `x${' '.repeat(bytes)}x` })],
  ['commas', 'grade', said(',')],
  ['signs that unfold', 'grade', said('\ufdfa')],
  [
    'dots and slashes',
    'grade',
    (bytes) =>
      JSON.stringify({ output_json: { files: [`${'x/'.repeat(bytes / 4)}${'a/../'.repeat(bytes / 10)}`] } }),
  ],
  ['calls', 'grade', (bytes) => `{"choices":[${'{},'.repeat(bytes / 3)}0]}`],
  [
    'a list that is text',
    'grade',
    (bytes) => JSON.stringify({ output_text: `{"files":[${'"a",'.repeat(bytes / 6)}0]}` }),
  ],
];

/** Large enough that the bytes decide, small enough for the test. */
const bytes = 200_000;

describe('a request of twice the bytes', () => {
  it.each(families)(
    'of %s in a %s costs at most 2.5 times as much, and at most 10 times its JSON.parse',
    { timeout: 60_000, retry: 2 },
    async (_what, kind, write) => {
      const [once, twice] = [write(bytes), write(2 * bytes)];
      const aroundMs = await leastMs(() => aroundItMs(kind, twice));
      const onceMs = await leastMs(() => requestMs(kind, once));
      const twiceMs = await leastMs(() => requestMs(kind, twice));
      const bareMs = await leastMs(() => parseMs(twice));
      expect({ onceMs, twiceMs, fits: twiceMs <= 2.5 * onceMs }).toMatchObject({ fits: true });
      const looksMs = twiceMs - aroundMs;
      expect({ looksMs, bareMs, fits: looksMs <= 10 * bareMs + coarseMs }).toMatchObject({ fits: true });
    },
  );
});
