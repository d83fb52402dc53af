import { chmodSync, chownSync } from 'node:fs';
import { join } from 'node:path';
import { mirrorTallyName } from '#src/protocol/sandboxd/mirror-tally.ts';
import { Failure } from '#src/failure/failure.ts';
import { type MemoryAccount, memoryKillsSince } from '#src/platform/memory-account.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Owner } from '#src/model/rollout.ts';
import type { Ending, Launch, Launched } from '../bwrap/launch.ts';
import type { Group, Groups } from '../cgroups/groups.ts';
import type { HeldImage } from '../images/images.ts';
import type { MirrorProxies } from '../mirrors/mirror-proxies.ts';
import type { Proxy } from '../mirrors/supervise-proxy.ts';
import type { IdRanges } from '../own-ids.ts';
import { buildLaunch, groupLimits, type Site, usersOf } from './build.ts';
import { type Asked, couldNotMount, type Death, deathOf } from './death.ts';
import { listening, type SocketFile, socketFileAt } from './listening.ts';
import {
  childOf,
  identify,
  isAlive,
  killMembers,
  killProcess,
  type ProcessIdentity,
} from './process-identity.ts';
import type { Records, SandboxFolder, SandboxRecord } from './record.ts';
import type { StartLine } from './start-line.ts';

/**
 * One sandbox of this node. Its life:
 *
 *   in line    accepted, waits for a place of the starting budget
 *   starting   folder, group and processes are made; ends when sandboxd's socket appears
 *   running    sandboxd listens
 *   ending     asked to go, or its first process ended; all its processes, its group and its folder are removed
 *   gone       nothing of it is left
 *
 * `starting` and `running` may also end by themselves; every way leads through `ending`.
 */
export type Life = {
  readonly request: CreateRequest;
  /** What its root is made of, if that was pulled. */
  readonly image: HeldImage | null;
  readonly createdAtMs: number;
  phase: 'starting' | 'running';
  owner: Owner | null;
  expiresAtMs: number | null;
  /** Why it is to end; the first reason stays. */
  asked: Asked | null;
  readonly stop: AbortController;
  group: Group | null;
  /** This host's id of its user 0, its others follow; null: it shares its host's. They are another's only after all of it is removed. */
  idBase: number | null;
  /** Where it answered first, which nothing may have replaced since; null where nothing inside can. */
  socket: SocketFile | null;
  outer: ProcessIdentity | null;
  init: ProcessIdentity | null;
  /** sandboxd, as this node sees it; null until it listens. */
  daemon: ProcessIdentity | null;
  memory: MemorySeen;
  /** Asks package mirrors for it; null: it has none, or they are not open yet. */
  mirrors: Promise<Proxy> | null;
};

/**
 * Its memory's account at the last look, and at the one before: while sandboxd is seen alive, no kill up to then was its
 * own end. One look's distance, since the kernel counts a kill a moment before it kills.
 */
export type MemorySeen = { readonly atLastLook: MemoryAccount; readonly before: MemoryAccount };

const nothingYet: MemoryAccount = { kills: 0, refusals: 0 };

export type LifeTools = {
  readonly clock: Clock;
  readonly line: StartLine;
  readonly groups: Groups;
  /** Null where sandboxes share the ids of this host. */
  readonly idRanges: IdRanges | null;
  readonly records: Records;
  readonly launch: Launch;
  readonly site: Site;
  readonly mirrors: MirrorProxies;
  /** Whether the kernel's log tells of what the machine killed, and so rules the machine out where it does not. */
  readonly readsKernelLog: boolean;
  /** Called once, when sandboxd listens. */
  readonly onRunning: (life: Life) => void;
  /** Called when its processes have ended, before their end is judged. */
  readonly onEnding: () => void;
};

export function newLife(request: CreateRequest, createdAtMs: number, image: HeldImage | null = null): Life {
  return {
    request,
    image,
    createdAtMs,
    phase: 'starting',
    owner: null,
    expiresAtMs: null,
    asked: null,
    stop: new AbortController(),
    group: null,
    idBase: null,
    socket: null,
    outer: null,
    init: null,
    daemon: null,
    memory: { atLastLook: nothingYet, before: nothingYet },
    mirrors: null,
  };
}

/** Tells a sandbox to end. What is in line leaves it, what runs is killed. */
export function end(life: Life, reason: Asked): void {
  life.asked ??= reason;
  life.stop.abort();
}

/** From the line to its removal; resolves when nothing of it is left. Rejects when the host would not let go of it. */
export async function live(life: Life, tools: LifeTools): Promise<Death> {
  let ending: Ending | null = null;
  let failsEverywhere = false;
  try {
    ending = await run(life, tools);
    failsEverywhere = life.phase === 'starting' && couldNotMount(ending?.lastWords ?? '');
  } catch (thrown) {
    ending = { exitCode: null, signal: null, lastWords: messageOf(thrown) };
    failsEverywhere = thrown instanceof Failure;
  }
  const files = life.group?.memory ?? null;
  const memoryKills =
    files === null ? null : memoryKillsSince(life.memory.before, files, () => tools.readsKernelLog);
  tools.onEnding();
  await removeAll(life, tools);
  return deathOf({
    ending,
    asked: life.asked,
    failsEverywhere,
    memoryKills,
    idsApart: usersOf(life.request.template, tools.site) === 'two-user',
    expiresAtMs: life.expiresAtMs,
    endedAtMs: tools.clock.nowMs(),
  });
}

async function run(life: Life, tools: LifeTools): Promise<Ending | null> {
  const leave = await tools.line.enter(life.stop.signal);
  if (leave === null) return null;
  try {
    const { launched, graderId } = await start(life, tools);
    await reachRunning(life, launched, graderId, tools, leave);
    leave();
    return await launched.ended;
  } finally {
    leave();
  }
}

type Started = { readonly launched: Launched; readonly graderId: number };

async function start(life: Life, tools: LifeTools): Promise<Started> {
  const { sandbox, template } = life.request;
  const folder = tools.records.make(sandbox);
  life.idBase = (await tools.idRanges?.take()) ?? null;
  writeRecord(life, tools.records);
  if (life.idBase !== null) chownSync(folder.run, life.idBase, life.idBase);
  life.group = await tools.groups.create(sandbox, groupLimits(template));
  const spec = await buildLaunch(life, folder, life.group, tools.site);
  const launched = await tools.launch(spec);
  life.outer = identify(launched.pid);
  const kill = () => killLife(life);
  life.stop.signal.addEventListener('abort', kill, { once: true });
  if (life.stop.signal.aborted) kill();
  return { launched, graderId: spec.graderId };
}

async function reachRunning(
  life: Life,
  launched: Launched,
  graderId: number,
  tools: LifeTools,
  leave: () => void,
): Promise<void> {
  const initPid = await launched.initPid;
  life.init = initPid === null ? null : identify(initPid);
  // Asked to end while only the outer process was known: now there is something to kill.
  if (life.stop.signal.aborted) killLife(life);
  writeRecord(life, tools.records);
  openMirrors(life, graderId, tools);
  const came = await awaitSocket(life, launched, tools);
  if (came === 'timeout') return end(life, 'start_timeout');
  if (came === 'ended' || life.stop.signal.aborted) return;
  // A mirror that does not answer must not hold a place that other starts wait for.
  if (life.mirrors !== null) leave();
  await life.mirrors;
  life.daemon = life.init === null ? null : childOf(life.init);
  await keepSocket(life, tools.records.folderOf(life.request.sandbox));
  life.phase = 'running';
  tools.onRunning(life);
}

/** While sandboxd starts, and before anything of the policy's runs, so that no program of the sandbox has their place. */
function openMirrors(life: Life, graderId: number, { mirrors, records }: LifeTools): void {
  const { init, request, stop } = life;
  const { template, sandbox } = request;
  if (template.mirrors === undefined || init === null || stop.signal.aborted) return;
  const runOf = () => (life.owner === null ? sandbox : `${life.owner.tenant} ${life.owner.run}`);
  const tallyFile = join(records.folderOf(sandbox).run, mirrorTallyName);
  const client = { sandbox, pid: init.pid, graderId, mirrors: template.mirrors, tallyFile, runOf };
  life.mirrors = mirrors.open(client, stop.signal);
  // Its start looks at it once sandboxd listens.
  life.mirrors.catch(() => undefined);
}

/**
 * With ids of its own, from here on nobody inside can take sandboxd's socket away, put a link in its place, or fill this
 * host's disk beside it: the folder is the host's, whose root is nobody there. Before the first command, so there is
 * nothing to race. Without, commands that have sandboxd's id can do all of that, and it is watched for.
 */
async function keepSocket(life: Life, { run, socket }: SandboxFolder): Promise<void> {
  if (life.idBase === null) {
    life.socket = await socketFileAt(socket);
    return;
  }
  chownSync(run, 0, life.idBase);
  // To be listed by root of the sandbox too, or `find /` would end with an error.
  chmodSync(run, 0o750);
}

async function awaitSocket(
  life: Life,
  launched: Launched,
  { clock, records }: LifeTools,
): Promise<'listening' | 'ended' | 'timeout'> {
  const { sandbox, template } = life.request;
  const settled = new AbortController();
  try {
    return await Promise.race([
      listening(records.folderOf(sandbox).socket, clock, settled.signal).then(() => 'listening' as const),
      launched.ended.then(() => 'ended' as const),
      clock.sleep(template.startTimeoutMs, settled.signal).then(() => 'timeout' as const),
    ]);
  } finally {
    settled.abort();
  }
}

// Killing process 1 of its namespace takes every process of the sandbox with it, and bubblewrap ends only after that.
function killLife({ init, outer, group }: Life): void {
  if (init !== null) return killProcess(init);
  if (outer !== null) killProcess(outer);
  // bubblewrap that dies before it has told of process 1 may leave it behind, alive and with nobody to watch it.
  if (group !== null) killMembers(group);
}

/** How long a killed namespace may take to be gone. */
const dyingMs = 5000;
const lookEveryMs = 5;

async function removeAll(life: Life, { clock, records, idRanges }: LifeTools): Promise<void> {
  const { init, idBase } = life;
  life.stop.abort();
  if (init !== null) {
    killProcess(init);
    const until = clock.monotonicMs() + dyingMs;
    while (isAlive(init) && clock.monotonicMs() < until) await clock.sleep(lookEveryMs);
  }
  await life.mirrors?.then(
    (proxy) => proxy.stop(),
    () => undefined,
  );
  await life.group?.remove();
  await records.remove(life.request.sandbox);
  // One that the kernel does not let die keeps its ids and its image for good.
  if (init !== null && isAlive(init)) return;
  if (idBase !== null) idRanges?.free(idBase);
  life.image?.release();
}

/** Writes down what is known of it now. */
export function writeRecord(life: Life, records: Records): void {
  records.write(recordOf(life));
}

function recordOf({ request, createdAtMs, idBase, outer, init, owner, expiresAtMs }: Life): SandboxRecord {
  const { sandbox, template, tokenSha256 } = request;
  return {
    sandbox,
    template: template.digest,
    tokenSha256,
    createdAtMs,
    idBase,
    outer,
    init,
    owner,
    expiresAtMs,
  };
}

const messageOf = (thrown: unknown) => (thrown instanceof Error ? thrown.message : String(thrown));
