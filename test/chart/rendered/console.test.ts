import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConsoleProcess, startConsoleProcess } from '#test/support/console-process.ts';
import { oneOf, render } from '#test/support/helm.ts';

/* The console's container as the chart has it: its arguments and variables start the program, and its probes find it. */

type Container = {
  readonly args: readonly [string];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly ports: readonly [{ readonly name: string; readonly containerPort: number }];
  readonly resources: object;
} & Readonly<
  Record<(typeof probes)[number], { readonly httpGet: { readonly path: string; readonly port: string } }>
>;
const probes = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const;

let folder: string;
let container: Container;
let running: ConsoleProcess;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-rendered-console-'));
  const spec = oneOf(await render('production'), 'Deployment', 'lab-console')['spec'] as {
    readonly template: { readonly spec: { readonly containers: readonly [Container] } };
  };
  [container] = spec.template.spec.containers;
  // Credentials of the store come from a Secret; the place is a volume of the pod, and the port may be taken here.
  const rendered = container.env.map(({ name, value = 'of-a-secret' }) => [name, value] as const);
  const changed = {
    CORRAL_CONSOLE_LISTEN: '127.0.0.1:0',
    CORRAL_CONSOLE_STATE_DIR: folder,
    SQLITE_TMPDIR: folder,
  };
  const [program] = container.args;
  running = await startConsoleProcess({ ...Object.fromEntries(rendered), ...changed }, program);
});
afterAll(async () => {
  await running.end('SIGTERM');
  await rm(folder, { recursive: true });
});

/** Its status for a request with this name in `Host`. */
async function statusOf(path: string, host: string): Promise<number | undefined> {
  const asked = request({ host: '127.0.0.1', port: running.port, path, headers: { host } }).end();
  const [answer] = (await once(asked, 'response')) as [{ readonly statusCode?: number; resume(): void }];
  answer.resume();
  return answer.statusCode;
}

test('each probe, which knows the pod’s address and no name, finds the program', async () => {
  expect(container.ports).toEqual([{ name: 'http', containerPort: 8_701 }]);
  expect(container.env).toContainEqual({ name: 'CORRAL_CONSOLE_LISTEN', value: '0.0.0.0:8701' });
  for (const probe of probes) {
    const { path, port: name } = container[probe].httpGet;
    expect([name, await statusOf(path, '10.1.2.3:8701')]).toEqual(['http', 200]);
  }
});

test('browsers reach it by the host of its Ingress, and by no other name', async () => {
  expect(await statusOf('/', 'console.example.com')).toBe(200);
  expect(await statusOf('/', 'elsewhere.example.com')).toBe(400);
});

test('it has a bound of memory, and a share of the processor', () => {
  expect(container.resources).toEqual({
    requests: { cpu: expect.any(String), memory: expect.any(String) },
    limits: { memory: expect.any(String) },
  });
});
