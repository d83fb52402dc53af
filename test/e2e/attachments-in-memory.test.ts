import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { partPid } from '#test/support/parts-of-fleet.ts';

/*
 * A step of a trainer ends, and all its rollouts are graded at once by a judge that is sent as many files as may be attached.
 * The gateway holds only as many of them as it has memory for. The other gradings wait, and each gets its score.
 */

const mebibyte = 1024 * 1024;
const gradings = 24;
const attachedBytes = 16 * mebibyte;
const base64Bytes = Math.ceil(attachedBytes / 3) * 4;
/** As many as a gateway has memory for: 256 MiB, see `services/gateway/core-wiring.ts`. */
const atOnce = 16;

/** A judge that answers only when it has all requests that there can be at once. */
class PatientJudge {
  readonly server: Server;
  readonly #waiting: (() => void)[] = [];
  #left = gradings;
  most = 0;

  constructor() {
    this.server = createServer((request, response) => {
      let bytes = 0;
      request.on('data', (chunk: Buffer) => (bytes += chunk.length));
      request.on('end', () => {
        const isWhole = bytes === Number(request.headers['content-length']) && bytes > base64Bytes;
        response.setHeader('content-type', 'application/json');
        this.#waiting.push(() => response.end(JSON.stringify({ score: isWhole ? 1 : 0 })));
        this.#answer();
      });
    });
  }

  #answer(): void {
    const here = this.#waiting.length;
    this.most = Math.max(this.most, here);
    if (here < Math.min(atOnce, this.#left)) return;
    this.#left -= here;
    for (const answer of this.#waiting.splice(0)) answer();
  }
}

const judge = new PatientJudge();
let corral: FleetOfTest;

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    judge.server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(judge.server.address() as AddressInfo).port}/`;
  const environment = `
name: pictures
sandbox: { image: host, disk: 32Mi, memory: 128Mi, processes: 32 }
tools: { shell: { builtin: shell, timeout: 60s } }
grader:
  kind: http
  url: ${url}
  timeout: 300s
  retries: 0
  on_refused: 0
  attach: [picture]
  attach_bytes: 16Mi
  on_attach: -1
pool: { min_ready: 4, max: ${gradings} }
`;
  corral = await startFleetOfTest({ environments: { pictures: environment } });
});
afterAll(async () => {
  await corral.stop();
  judge.server.close();
  judge.server.closeAllConnections();
});

type ChartValues = {
  readonly gateway: { readonly resources: { readonly limits: { readonly memory: string } } };
};

/** What the chart gives a gateway, in MiB. */
function chartLimit(): number {
  const values = parse(
    readFileSync(join(import.meta.dirname, '../../charts/corral/values.yaml'), 'utf8'),
  ) as ChartValues;
  const { memory } = values.gateway.resources.limits;
  expect(memory).toMatch(/^\d+Mi$/);
  return Number.parseInt(memory, 10);
}

/** The most that the process has ever had in memory, in MiB. */
function peakMemory(pid: number): number {
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) / 1024;
}

test('24 gradings at once with 16 MiB of files each are all scored, within half of the gateway\u2019s memory limit', async () => {
  const traces = Array.from({ length: gradings }, (_, index) => `drawn_${index}`);
  const draw = {
    call: 'c0',
    command: `head -c ${attachedBytes} /dev/urandom > picture`,
    environment: 'pictures',
  };
  for (const drawn of await Promise.all(traces.map((trace) => corral.rft.call({ trace, ...draw }))))
    expect(drawn).toMatchObject({ status: 200, body: { output: '[exit code 0]' } });
  const pid = partPid(corral.fleet.stateDir, 'gateway');
  const graded = await Promise.all(
    traces.map((trace) => corral.rft.grade({ trace, environment: 'pictures' })),
  );
  expect(graded.map(({ status, body }) => ({ status, body }))).toEqual(
    traces.map(() => ({ status: 200, body: expect.objectContaining({ score: 1 }) as unknown })),
  );
  expect(judge.most).toBe(atOnce);
  expect(peakMemory(pid)).toBeLessThan(chartLimit() / 2);
});
