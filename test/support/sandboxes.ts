import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPayload } from '#infra/payload/payload.ts';
import { bundleServices } from '#infra/services/bundle-services.ts';
import { createLocalProvider, type LocalProvider } from '#src/adapters/local/provider.ts';
import { templateDigest } from '#src/model/ids.ts';
import { anyPlace, type Template } from '#src/model/environment.ts';
import { systemClock } from '#src/platform/clock.ts';

/** A real `node` process for tests, in a state folder of its own, and a provider that speaks to it. */
export type TestNode = {
  readonly stateFolder: string;
  readonly socketPath: string;
  readonly provider: LocalProvider;
  readonly process: ChildProcess;
  /** SIGKILL, as a crash; the state folder stays for the next {@link startNodeProcess}. */
  crash(): Promise<void>;
  /** SIGTERM, then the folder goes too. Fails when node does not end by itself with 0. */
  stop(): Promise<void>;
};

export const testFleet = 'test';

const repository = join(import.meta.dirname, '../..');

/** Built once for all tests of a checkout; its name holds a hash of what it is made of. */
const payloadFolder = join(repository, 'out/payload');

export type TestNodeOptions = {
  /** Of a crashed node, to start again over what it left. */
  readonly stateFolder?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Descriptors of ours that it is left with, by their number in it. */
  readonly inherited?: ReadonlyMap<number, number>;
};

/** Starts it and waits until it serves. Needs bubblewrap. */
export async function startNodeProcess(options: TestNodeOptions = {}): Promise<TestNode> {
  const { dir } = await buildPayload(payloadFolder);
  const services = (await bundleServices()).dir;
  const stateFolder = options.stateFolder ?? (await mkdtemp(join(tmpdir(), 'corral-node-')));
  const child = spawn(process.execPath, [join(services, 'node.mjs')], {
    // Its stdin is our pipe: a test run that dies takes it along.
    stdio: stdioWith(options.inherited ?? new Map()),
    env: {
      PATH: process.env['PATH'],
      CORRAL_NODE_STATE_DIR: stateFolder,
      CORRAL_PAYLOAD_DIR: dir,
      CORRAL_FLEET: testFleet,
      CORRAL_EXIT_WITH_PARENT: '1',
      ...options.env,
    },
  });
  await serves(child);
  const socketPath = join(stateFolder, 'node.sock');
  const provider = createLocalProvider({ socketPath, clock: systemClock });
  const end = async (signal: NodeJS.Signals) => {
    await provider.close();
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  return {
    stateFolder,
    socketPath,
    provider,
    process: child,
    crash: () => end('SIGKILL'),
    stop: async () => {
      await end('SIGTERM');
      await rm(stateFolder, { recursive: true, force: true });
      if (child.signalCode !== 'SIGKILL' && child.exitCode !== 0) {
        throw new Error(`node ended with ${child.exitCode ?? child.signalCode}`);
      }
    },
  };
}

/** What stands between its own and an inherited one is open too: Node's `spawn` leaves no holes. */
function stdioWith(inherited: ReadonlyMap<number, number>): StdioOptions {
  const stdio: ('pipe' | 'ignore' | number)[] = ['pipe', 'ignore', 'pipe'];
  while (stdio.length <= Math.max(2, ...inherited.keys())) stdio.push('ignore');
  for (const [descriptor, ours] of inherited) stdio[descriptor] = ours;
  return stdio;
}

/** Resolves at its log line; what it logged is in the error when it ends first. */
function serves(child: ChildProcess): Promise<void> {
  let logged = '';
  return new Promise((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      logged = (logged + chunk.toString('utf8')).slice(-10_000);
      if (logged.includes('node serves')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`node ended with ${code}: ${logged}`)));
  });
}

/** A small sandbox with the host's programs; `changes` override. */
export function testTemplate(changes: Partial<Template> = {}): Template {
  return {
    digest: templateDigest('test-template'),
    image: { kind: 'host' },
    cpu: { requestMilli: 100, limitMilli: 1000 },
    memory: { requestBytes: 64 * mebibyte, limitBytes: 256 * mebibyte },
    diskBytes: 32 * mebibyte,
    processes: 64,
    network: 'none',
    runAs: 'user',
    uid: 'separate',
    placement: anyPlace,
    env: {},
    data: [],
    prepare: [],
    startTimeoutMs: 20_000,
    ...changes,
  };
}

const mebibyte = 1024 * 1024;
