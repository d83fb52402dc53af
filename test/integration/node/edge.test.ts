import { copyFile, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nativeFile } from '#infra/payload/native/compile.ts';
import { type RunningNode, startNode } from '#services/node/wiring.ts';
import { createLocalProvider, type LocalProvider } from '#src/adapters/local/provider.ts';
import { failsEverywhere } from '#src/failure/codes.ts';
import { rolloutId, runId, sandboxId, tenantId } from '#src/model/ids.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createLogger } from '#src/platform/logging.ts';
import { payloadLayout } from '#src/protocol/sandboxd/payload-layout.ts';
import { expectNothingLeft } from '#test/support/left-behind.ts';
import { askUnix } from '#test/support/ask-unix.ts';
import { type RecordedEvents, recordEvents } from '#test/support/provider-events.ts';
import { testFleet, testTemplate } from '#test/support/sandboxes.ts';

const tokenSha256 = 'a'.repeat(64);
const owner = {
  tenant: tenantId('t'),
  run: runId('r'),
  rollout: rolloutId('x'),
  attempt: 1,
  role: 'policy',
} as const;
const silent = createLogger({ service: 'node', level: 'error', clock: systemClock, write: () => undefined });

/** The ids of a sandbox may enter it, and not the state folder itself. */
const payloadIn = (stateFolder: string) => join(stateFolder, 'payload');

/** A program in place of sandboxd, where a test needs one that misbehaves. */
describe('a node whose sandboxes misbehave', () => {
  let stateFolder: string;
  let node: RunningNode;
  let provider: LocalProvider;
  let events: RecordedEvents;
  const sandbox = sandboxId('s-1');

  const start = async (...sandboxdArgv: readonly string[]) => {
    node = await startNode({
      config: {
        stateFolder,
        dataFolder: join(stateFolder, 'data'),
        imageFolder: join(stateFolder, 'images'),
        imageBytes: null,
        imageAuthFiles: [],
        fleet: testFleet,
        payloadFolder: payloadIn(stateFolder),
        startConcurrency: 1,
        userNamespaces: 'auto',
        memoryPercent: 800,
        privateAddresses: [],
        mirrorBytes: 1,
        exitWithParent: false,
        logLevel: 'error',
      },
      clock: systemClock,
      log: silent,
      sandboxdArgv,
      mirrorProxyProgram: 'none of these has mirrors',
      // None of these programs would pass it.
      trial: async () => undefined,
    });
    provider = createLocalProvider({ socketPath: node.socketPath, clock: systemClock });
    events = recordEvents(provider);
  };
  beforeEach(async () => {
    stateFolder = await mkdtemp(join(tmpdir(), 'corral-node-'));
    // What else of the payload a launch runs.
    await mkdir(join(payloadIn(stateFolder), payloadLayout.code), { recursive: true });
    for (const program of ['enter', 'own-network'] as const)
      await copyFile(nativeFile(program, process.arch), join(payloadIn(stateFolder), payloadLayout[program]));
  });
  afterEach(async () => {
    await events.stop();
    await provider.close();
    await node.stop();
    await rm(stateFolder, { recursive: true, force: true });
    await expectNothingLeft(stateFolder);
  });

  it('a daemon that ends at once is told with its exit code and last words', async () => {
    await start('sh', '-c', 'echo no such thing >&2; exit 3');
    await provider.create({ sandbox, template: testTemplate(), tokenSha256 });
    expect(await events.of(sandbox, 'gone')).toMatchObject({
      cause: 'sandbox_exited',
      evidence: { exitCode: 3, lastWords: 'no such thing' },
    });
  });

  it('a daemon that never listens is ended at the start timeout, and the next may start', async () => {
    await start('sleep', '1000');
    const template = testTemplate({ startTimeoutMs: 200 });
    const next = sandboxId('s-2');
    await provider.create({ sandbox, template, tokenSha256 });
    await provider.create({ sandbox: next, template, tokenSha256 });
    expect(await events.of(sandbox, 'gone')).toMatchObject({
      cause: 'sandbox_exited',
      evidence: { endedByNode: 'start_timeout' },
    });
    expect(await events.of(next, 'gone')).toMatchObject({ evidence: { endedByNode: 'start_timeout' } });
  });

  it('a sandbox that outlives its label is removed by node', async () => {
    await start('sleep', '1000');
    await provider.create({ sandbox, template: testTemplate(), tokenSha256 });
    await provider.label(sandbox, owner, Date.now() - 60_000);
    expect((await events.of(sandbox, 'gone')).cause).toBe('expired');
  });

  it('a data folder that is missing is named in the evidence', async () => {
    await start('sleep', '1000');
    const data = [{ source: '/no/such/corpus', target: '/data' }];
    await provider.create({ sandbox, template: testTemplate({ data }), tokenSha256 });
    const { evidence } = await events.of(sandbox, 'gone');
    expect(evidence['lastWords']).toContain('/no/such/corpus');
    expect(evidence).toMatchObject(failsEverywhere);
  });

  it('an id that was destroyed before its create arrived starts nothing', async () => {
    await start('sleep', '1000');
    await provider.destroy(sandbox);
    const late = provider.create({ sandbox, template: testTemplate(), tokenSha256 });
    await expect(late).rejects.toMatchObject({ code: 'start_failed' });
    expect(await provider.list()).toEqual([]);
  });

  it('a second node with the same state folder is refused and disturbs nothing', async () => {
    await start('sleep', '1000');
    await provider.create({ sandbox, template: testTemplate(), tokenSha256 });
    await expect(start('sleep', '1000')).rejects.toThrow(/another node already serves/);
    expect(await provider.list()).toHaveLength(1);
  });

  it('its socket is its owner’s only', async () => {
    await start('true');
    expect((await stat(node.socketPath)).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['GET', '/nowhere', undefined, 404],
    ['POST', '/sandboxes/s-1', '{}', 404],
    ['PUT', '/sandboxes/..%2fetc', '{}', 400],
    ['PUT', '/sandboxes/s-1', 'not json', 400],
    ['PUT', '/sandboxes/s-1', '{"template":{}}', 400],
    ['PUT', '/sandboxes/s-1', `"${'x'.repeat(1_100_000)}"`, 413],
    ['PUT', '/sandboxes/s-1/label', '{"owner":null}', 400],
  ])(
    '%s %s with a body that is wrong answers %4$s and starts nothing',
    async (method, path, body, status) => {
      await start('sleep', '1000');
      expect((await askUnix(node.socketPath, method, path, body)).status).toBe(status);
      expect(await provider.list()).toEqual([]);
    },
  );

  it('a provider that cannot reach it says provider_unavailable', async () => {
    await start('true');
    const nobody = createLocalProvider({ socketPath: join(stateFolder, 'no.sock'), clock: systemClock });
    await expect(nobody.list()).rejects.toMatchObject({ code: 'provider_unavailable', retry: 'later' });
    await nobody.close();
  });
});
