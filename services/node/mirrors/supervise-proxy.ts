import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Failure } from '#src/failure/failure.ts';
import type { Mirrors } from '#src/model/mirrors.ts';
import type { Log } from '#src/ports/log.ts';
import { type MirrorDoubt, type MirrorTally, nothingAsked } from '#src/protocol/sandboxd/mirror-tally.ts';
import { type Group, type Groups, ownGroups } from '../cgroups/groups.ts';
import type { Range } from './addresses.ts';
import type { Door } from './door.ts';
import { type ProxyOrder, readProxyMessage, type UseReport } from './messages.ts';
import type { Usual } from './proven.ts';
import type { Bounds } from './proxy/account.ts';
import { type ConnectionTables, proxyLimits, type ProxySite, startProxy } from './start-proxy.ts';
import type { TallyFile } from './tally-file.ts';

/** A sandbox's proxy, whichever process it is now. */
export type Proxy = {
  /** Resolves when nothing of it is left. */
  stop(): Promise<void>;
};

/** A sandbox. `pid`: a process in its network. `runOf`: the run that it works for now. */
export type MirrorClient = {
  readonly sandbox: string;
  readonly pid: number;
  /** This machine's id of its grader. */
  readonly graderId: number;
  readonly mirrors: Mirrors;
  readonly tallyFile: string;
  readonly runOf: () => string;
};

export type ProxyParts = ProxySite & {
  readonly client: MirrorClient;
  readonly bounds: Bounds;
  readonly privateAddresses: readonly Range[];
  readonly groups: Groups;
  readonly log: Log;
  readonly tally: TallyFile;
  readonly connections: ConnectionTables;
  readonly door: Door;
  readonly unproven: readonly string[];
  readonly usual: () => Usual;
  readonly hearUsual: (usual: Usual) => void;
  /** Returns why the sandbox may have caused a failure. */
  readonly hear: (report: UseReport) => MirrorDoubt | null;
  /** Called when no process has the files any more. */
  readonly closeFiles: () => void;
};

const firstPauseMs = 50;
const mostDoublings = 7;

/**
 * Starts a proxy, and another one whenever it dies: connections that were not accepted yet wait for it in the door. What a death cost is
 * counted before that. Resolves when the first one serves. Rejects if that dies, or cannot reach a mirror that never worked.
 */
export async function superviseProxy(parts: ProxyParts, signal: AbortSignal): Promise<Proxy> {
  const { client, groups, door, log } = parts;
  const group = await groups.create(`${ownGroups.mirrors}${client.sandbox}`, proxyLimits);
  const serving = Promise.withResolvers<void>();
  const life = { stopped: false, served: false, deaths: 0 };
  let child = begin(parts, group, nothingAsked, onServes);
  let pause: NodeJS.Timeout | undefined;
  follow();

  function onServes(trouble: string | null): void {
    life.served = true;
    if (trouble === null) serving.resolve();
    else serving.reject(unreachable(trouble));
  }
  function follow(): void {
    child.process.once('close', (code, killed) => {
      if (life.stopped) return;
      const words = child.words();
      if (!life.served)
        return serving.reject(new Error(`the proxy of mirrors ended (${code ?? killed}): ${words}`));
      const tally = parts.tally.addLoss();
      log.error('mirror proxy died', { sandbox: client.sandbox, end: String(code ?? killed), words });
      if (tally === null) return door.close();
      pause = setTimeout(restart, firstPauseMs * 2 ** Math.min(life.deaths, mostDoublings), tally);
      life.deaths += 1;
    });
  }
  function restart(tally: MirrorTally): void {
    child = begin({ ...parts, unproven: [] }, group, tally, () => undefined);
    follow();
  }
  const stop = async () => {
    life.stopped = true;
    clearTimeout(pause);
    await kill(child.process);
    await group.remove();
    door.close();
    parts.closeFiles();
  };
  const onAbort = () => serving.reject(new Error('the sandbox is to end'));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    await serving.promise;
    return { stop };
  } catch (thrown) {
    await stop();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

const unreachable = (trouble: string) =>
  new Failure('start_failed', `a package mirror cannot be reached: ${trouble}`, {
    evidence: { mirror: trouble },
  });

async function kill(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null || process.pid === undefined) return;
  const ended = once(process, 'exit');
  process.kill('SIGKILL');
  await ended;
}

type Begun = { readonly process: ChildProcess; words(): string };

function begin(
  parts: ProxyParts,
  group: Group,
  tally: MirrorTally,
  onServes: (trouble: string | null) => void,
): Begun {
  const { client, bounds, privateAddresses, unproven, usual, door } = parts;
  const { descriptors } = parts.connections;
  const process = startProxy(parts, group, { tally: parts.tally.descriptor, connections: descriptors });
  const send = (order: ProxyOrder, handle?: Door['handle']) =>
    // One that has died emits its end.
    process.connected && process.send(order, handle, {}, () => undefined);
  process.on('error', () => undefined);
  process.on('message', (value) => {
    const message = readProxyMessage(value);
    if (message === null) return void process.kill('SIGKILL');
    if (message.kind === 'ready') {
      const { mirrors, graderId } = client;
      const order = { mirrors, bounds, privateAddresses, graderId, tally, unproven, usual: usual() };
      send({ kind: 'start', ...order }, door.handle);
    } else if (message.kind === 'serves') {
      parts.hearUsual(message.usual);
      onServes(message.trouble);
    } else send({ kind: 'standing', doubt: parts.hear(message) });
  });
  return { process, words: lastWordsOf(process) };
}

const mostWords = 2_000;

function lastWordsOf({ stderr }: ChildProcess): () => string {
  let words = '';
  stderr?.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString('utf8')).slice(-mostWords);
  });
  return () => words.trim();
}
