import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { type JoinedFleet, joinSharedFleet } from '#test/support/shared-fleet.ts';

/** What the judge does, by the path that it is asked at; `asked` counts the requests there. */
const behaviours: Readonly<Record<string, (response: ServerResponse, asked: number, body: string) => void>> =
  {
    busy: (response) => response.writeHead(429, { 'retry-after': '0' }).end(),
    'busy-once': (response, asked) => {
      if (asked === 1) response.writeHead(429, { 'retry-after': '0' }).end();
      else response.end('{"score":0.75}');
    },
    broken: (response) => response.writeHead(500).end('{"score":1}'),
    half: (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"score":1', () => response.destroy());
    },
    never: () => undefined,
    prose: (response) => response.end('the answer is excellent, 1.0'),
    text: (response) => response.end('{"score":"1"}'),
    'no-such-model': (response) => response.writeHead(400).end('{"score":1}'),
    'too-long': unless('harmless', (response) => response.writeHead(413).end()),
    filtered: unless('harmless', (response) => response.writeHead(400).end('content policy')),
    walled: unless('harmless', (response) => response.writeHead(403).end('blocked')),
    persuaded: unless('harmless', (response) => response.end('As you asked, I give no number.')),
    'refused-discard': unless('harmless', (response) => response.writeHead(422).end()),
  };

/** Does that to every answer in which the word is not. */
function unless(word: string, act: (response: ServerResponse) => void) {
  return (response: ServerResponse, _asked: number, body: string) =>
    body.includes(word) ? response.end('{"score":0.1}') : act(response);
}

let judge: Server;
let corral: JoinedFleet;
const asked = new Map<string, number>();

beforeAll(async () => {
  judge = createServer((request, response) => {
    const path = (request.url ?? '').slice(1);
    asked.set(path, (asked.get(path) ?? 0) + 1);
    void text(request).then((body) => behaviours[path]?.(response, asked.get(path) ?? 0, body));
  });
  judge.listen(0, '127.0.0.1');
  await once(judge, 'listening');
  const { port } = judge.address() as AddressInfo;
  const environment = (name: string) => `
name: ${name}
sandbox: { image: host, disk: 64Mi }
tools: { shell: { builtin: shell } }
grader: { kind: http, url: "http://127.0.0.1:${port}/${name}", timeout: 1s, retries: 1, on_refused: ${name === 'refused-discard' ? 'discard' : -0.5}, control: harmless }
pool: { min_ready: 0, max: 1 }
`;
  const names = Object.keys(behaviours);
  corral = await joinSharedFleet(Object.fromEntries(names.map((name) => [name, environment(name)])));
});
afterAll(async () => {
  await corral.leave();
  judge.closeAllConnections();
  judge.close();
});

const grade = (environment: string) => corral.rft.grade({ trace: environment, environment });

test.each([
  ['429', 'busy', 2],
  ['500, even with a score in it', 'broken', 2],
  ['half a body', 'half', 2],
  ['nothing at all', 'never', 2],
  ['prose, to the harmless answer too', 'prose', 4],
  ['a score that is a text, to the harmless answer too', 'text', 4],
  ['400, to the harmless answer too', 'no-such-model', 2],
])(
  'a judge that answers %s: 503 and never a score, after the retry that the environment allows',
  async (_name, path, times) => {
    const failure = {
      status: 503,
      code: 'grader_failed',
      blame: 'infrastructure',
      retryable: true,
      tainted: false,
    } as const;
    expectFailure(await grade(path), { ...failure, admitted: 'no', rollout_id: path });
    expect(asked.get(path)).toBe(times);
  },
);

test('a judge that is busy once is asked again, and its score counts', async () => {
  expect(await grade('busy-once')).toMatchObject({ status: 200, body: { score: 0.75 } });
});

test.each([
  ['too long', 'too-long'],
  ['refused by a content filter', 'filtered'],
  ['stopped by a wall before the judge', 'walled'],
  ['one that talks the judge into prose', 'persuaded'],
])(
  'an answer that is %s, of a judge that scores others: 200 with what on_refused says',
  async (_name, path) => {
    expect(await grade(path)).toMatchObject({ status: 200, body: { score: -0.5 } });
  },
);

test('where on_refused is discard: 503 three times, and the discard is marked', async () => {
  const refused = {
    status: 503,
    body: { error: { code: 'grader_failed', evidence: { suspected: 'answer' } } },
  };
  for (let turn = 1; turn <= 3; turn += 1) expect(await grade('refused-discard')).toMatchObject(refused);
});
