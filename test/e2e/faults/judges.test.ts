import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure } from '../../support/faces.ts';
import { startFleetOfTest } from '../../support/fleet.ts';
import type { FleetOfTest } from '../../support/fleet.ts';

/** What the judge does, by the path that it is asked at; `asked` counts the requests there. */
const behaviours: Readonly<Record<string, (response: ServerResponse, asked: number) => void>> = {
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
};

let judge: Server;
let corral: FleetOfTest;
const asked = new Map<string, number>();

beforeAll(async () => {
  judge = createServer((request, response) => {
    const path = (request.url ?? '').slice(1);
    asked.set(path, (asked.get(path) ?? 0) + 1);
    behaviours[path]?.(response, asked.get(path) ?? 0);
  });
  judge.listen(0, '127.0.0.1');
  await once(judge, 'listening');
  const { port } = judge.address() as AddressInfo;
  const environment = (name: string) => `
name: ${name}
sandbox: { image: host, disk: 64Mi }
tools: { shell: { builtin: shell } }
grader: { kind: http, url: "http://127.0.0.1:${port}/${name}", timeout: 1s, retries: 1 }
pool: { min_ready: 0, max: 1 }
`;
  const names = Object.keys(behaviours);
  corral = await startFleetOfTest({
    environments: Object.fromEntries(names.map((name) => [name, environment(name)])),
  });
});
afterAll(async () => {
  await corral.stop();
  judge.closeAllConnections();
  judge.close();
});

const grade = (environment: string) => corral.rft.grade({ trace: environment, environment });

test.each([
  ['429', 'busy'],
  ['500, even with a score in it', 'broken'],
  ['half a body', 'half'],
  ['nothing at all', 'never'],
  ['prose', 'prose'],
  ['a score that is a text', 'text'],
])(
  'a judge that answers %s: 503 and never a score, after the retry that the environment allows',
  async (_name, path) => {
    const failure = {
      status: 503,
      code: 'grader_failed',
      blame: 'infrastructure',
      retryable: true,
      tainted: false,
    } as const;
    expectFailure(await grade(path), { ...failure, admitted: 'no', rollout_id: path });
    expect(asked.get(path)).toBe(2);
  },
);

test('a judge that is busy once is asked again, and its score counts', async () => {
  expect(await grade('busy-once')).toMatchObject({ status: 200, body: { score: 0.75 } });
});
