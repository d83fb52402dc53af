import { posix } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import type { SandboxId } from '#src/model/ids.ts';
import { type Owner, sandboxAddress, type SandboxAddress } from '#src/model/rollout.ts';
import { type MemoryAccount, readMemoryAccount } from '#src/platform/memory-account.ts';
import type { Log } from '#src/ports/log.ts';
import type { CreateRequest, ProvidedSandbox } from '#src/ports/sandbox-provider.ts';
import { promisedMemoryOf, type Template } from '#src/model/environment.ts';
import { mirrorsNetwork } from '#src/model/mirrors.ts';
import { isReserved, longestSocketPath } from '../bwrap/places.ts';
import type { HeldImage } from '../images/images.ts';
import type { KernelKills } from '../kernel-kills.ts';
import { type IdRanges, idsInRange } from '../own-ids.ts';
import type { Asked, Death } from './death.ts';
import type { Feed } from './feed.ts';
import { end, type Life, type LifeTools, live, newLife, writeRecord } from './life.ts';
import { isStillThere } from './listening.ts';
import { type MemoryRoom, refuseWithoutRoom } from './memory-room.ts';
import { isDoomed } from './process-identity.ts';
import type { Records } from './record.ts';

/** Every sandbox of this node, and the rules by which they come and go. */
export type Sandboxes = {
  /**
   * Accepts, or throws `start_failed` (it can never start here), `unschedulable` (no memory for it now) or
   * `provider_unavailable` (too many wait). Idempotent by id. `image` is released when the sandbox is gone, or at once if it is not
   * accepted.
   */
  create(request: CreateRequest, image?: HeldImage | null): void;
  /** Whether it was accepted and is not gone. */
  has(sandbox: SandboxId): boolean;
  /** Accepts; the feed says when it is gone. An id that is unknown may never start afterwards. */
  destroy(sandbox: SandboxId): void;
  /** Of a sandbox that is gone it does nothing. */
  label(sandbox: SandboxId, owner: Owner, expiresAtMs: number): void;
  list(): readonly ProvidedSandbox[];
  /** Looks at every living sandbox once: ends those past their expiry, notes kills for memory. */
  look(): Promise<void>;
  /** Ends all and accepts none; resolves when nothing is left. */
  stop(): Promise<void>;
};

export type SandboxesOptions = Omit<LifeTools, 'onRunning' | 'onEnding' | 'readsKernelLog'> & {
  readonly feed: Feed;
  readonly log: Log;
  /** Null where the kernel's log does not tell. */
  readonly kernelKills: KernelKills | null;
  readonly memoryRoom: MemoryRoom;
};

/** sandboxd ends itself at expiry; one that still runs this long after it is removed from outside. */
const expiryGraceMs = 10_000;

/** Ids that may not start (again): far more than a fleet has creates and destroys on their way to us. */
const rememberedEnds = 10_000;

export function createSandboxes(options: SandboxesOptions): Sandboxes {
  const { feed, log, records, line, clock, memoryRoom } = options;
  const lives = new Map<SandboxId, Life>();
  const removals = new Map<Life, Promise<void>>();
  const ended = new Set<SandboxId>();
  let stopping = false;

  const addressOf = (sandbox: SandboxId): SandboxAddress =>
    sandboxAddress(`unix:${records.folderOf(sandbox).socket}`);
  const onRunning = ({ request: { sandbox } }: Life) =>
    feed.tell({ kind: 'running', sandbox, address: addressOf(sandbox) });

  /** What the machine's want of memory struck ends as a whole: what its commands would have done is unknown. */
  const endStruck = () => {
    for (const uid of options.kernelKills?.next() ?? []) {
      const struck = [...lives.values()].find(({ idBase }) => idBase !== null && isIn(idBase, uid));
      if (struck !== undefined && hasLostProcess(struck)) end(struck, 'machine_out_of_memory');
    }
  };
  const forget = (life: Life, death: Death) => {
    const { sandbox } = life.request;
    lives.delete(sandbox);
    remember(ended, sandbox);
    log.info('sandbox gone', { sandbox, cause: death.cause });
    feed.tell({ kind: 'gone', sandbox, ...death });
  };
  const liveAndForget = async (life: Life) => {
    try {
      const readsKernelLog = options.kernelKills !== null;
      forget(life, await live(life, { ...options, readsKernelLog, onRunning, onEnding: endStruck }));
    } catch (thrown) {
      // It stays in the list, so that a later destroy tries again.
      log.error('sandbox could not be removed', {
        sandbox: life.request.sandbox,
        error: String(thrown),
      });
    } finally {
      removals.delete(life);
    }
  };
  const begin = (life: Life) => void removals.set(life, liveAndForget(life));
  const remove = (life: Life, reason: Asked) => {
    end(life, reason);
    // Its removal failed before: another try, from the same place.
    if (!removals.has(life)) begin(life);
  };

  const accept = (request: CreateRequest, image: HeldImage | null) => {
    const { sandbox, template } = request;
    if (stopping) throw new Failure('provider_unavailable', 'this node is stopping');
    if (ended.has(sandbox)) throw alreadyGone(sandbox);
    checkRequest(request, records.folderOf(sandbox).socket);
    checkMirrors(template, options.idRanges);
    refuseWithoutRoom(promisedMemoryOf(template), promisedBytes(lives.values()), memoryRoom);
    if (!line.hasRoom()) throw lineFull();
    const life = newLife(request, clock.nowMs(), image);
    lives.set(sandbox, life);
    begin(life);
  };

  return {
    create: (request, image = null) => {
      const { sandbox } = request;
      if (lives.has(sandbox)) return image?.release();
      try {
        accept(request, image);
      } catch (thrown) {
        image?.release();
        throw thrown;
      }
    },
    has: (sandbox) => lives.has(sandbox),
    destroy: (sandbox) => {
      const life = lives.get(sandbox);
      if (life === undefined) return remember(ended, sandbox);
      remove(life, 'deleted');
    },
    label: (sandbox, owner, expiresAtMs) => {
      const life = lives.get(sandbox);
      if (life === undefined) return;
      Object.assign(life, { owner, expiresAtMs });
      // Its folder is about to go, and a file that comes while it goes would keep it.
      if (life.stop.signal.aborted) return;
      writeUnlessGone(life, records);
    },
    list: () => [...lives.values()].map((life) => provided(life, addressOf(life.request.sandbox))),
    look: async () => {
      endStruck();
      await Promise.all([...lives.values()].map((life) => lookAt(life, clock.nowMs())));
    },
    stop: async () => {
      stopping = true;
      for (const life of lives.values()) remove(life, 'node_stopping');
      await Promise.all(removals.values());
    },
  };
}

const isIn = (base: number, id: number) => id >= base && id < base + idsInRange;
/** Also of those that still end: until a sandbox is removed, what it wrote is there. */
const promisedBytes = (lives: Iterable<Life>): number =>
  [...lives].reduce((sum, { request }) => sum + promisedMemoryOf(request.template), 0);

async function lookAt(life: Life, nowMs: number): Promise<void> {
  if (life.expiresAtMs !== null && nowMs > life.expiresAtMs + expiryGraceMs) return end(life, 'expired');
  if (life.socket !== null && !(await isStillThere(life.socket))) return end(life, 'socket_lost');
  lookAtMemory(life);
}

/**
 * The second witness of a kill that the kernel's log names: the kernel counts it in the group before it logs it. Where no group
 * counts, the format of the line decides alone: a command that the machine killed must not count as the model's.
 */
function hasLostProcess({ group, memory }: Life): boolean {
  const account = group?.memory ? readMemoryAccount(group.memory) : null;
  return account === null || account.kills > memory.before.kills;
}

/** Only while sandboxd is seen alive: what was counted up to then did not end it. Whose count has rested for two looks is left alone. */
function lookAtMemory(life: Life): void {
  const files = life.group?.memory ?? null;
  const account = files === null ? null : readMemoryAccount(files);
  const { atLastLook, before } = life.memory;
  if (account === null || (isSame(account, atLastLook) && isSame(account, before))) return;
  if (life.daemon !== null && isDoomed(life.daemon)) return;
  life.memory = { atLastLook: account, before: atLastLook };
}

const isSame = (one: MemoryAccount, other: MemoryAccount) =>
  one.kills === other.kills && one.refusals === other.refusals;

function provided(life: Life, address: SandboxAddress): ProvidedSandbox {
  return {
    sandbox: life.request.sandbox,
    template: life.request.template.digest,
    phase: life.phase,
    address: life.phase === 'running' ? address : null,
    createdAtMs: life.createdAtMs,
    owner: life.owner,
    expiresAtMs: life.expiresAtMs,
  };
}

function remember(ended: Set<SandboxId>, sandbox: SandboxId): void {
  ended.add(sandbox);
  const [oldest] = ended;
  if (ended.size > rememberedEnds && oldest !== undefined) ended.delete(oldest);
}

/** Without a folder it is not started yet, and its start writes the record; or it is gone, which the feed tells. */
function writeUnlessGone(life: Life, records: Records): void {
  try {
    writeRecord(life, records);
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT')) throw thrown;
  }
}

const alreadyGone = (sandbox: SandboxId) =>
  new Failure('start_failed', `sandbox ${sandbox} is already gone: a sandbox lives once, take a new id`);

const lineFull = () =>
  new Failure('provider_unavailable', 'too many sandboxes wait to be started on this machine; try again', {
    retryAfterMs: 1000,
  });

/** Refuses, with `start_failed`, what can never start on this host; the sentence says what to change. */
export function checkRequest({ sandbox, template }: CreateRequest, socketPath: string): void {
  const { network, mirrors, data, folders = [], placement } = template;
  if (network !== 'none' && (network !== mirrorsNetwork || mirrors === undefined)) {
    refuse(`network "${network}" is not offered on this machine: "none" and {mirrors: {pypi: ADDRESS}} are`, {
      network,
    });
  }
  if (placement.runtimeClass !== null) {
    refuse(
      `runtime_class ${placement.runtimeClass} is a cluster's: this machine has bubblewrap, and an environment that relies on more must not start here`,
      { runtimeClass: placement.runtimeClass },
    );
  }
  const pulled = data.find((folder) => 'image' in folder);
  if (pulled !== undefined) {
    refuse(
      `the data at ${pulled.target} is an image, which only a cluster can mount: on one machine data has a source or a build`,
      { image: pulled.image },
    );
  }
  const targets = [...data.map(({ target }) => target), ...folders];
  const hidden = targets.find((target) => isReserved(target) || posix.normalize(target) !== target);
  if (hidden !== undefined) {
    refuse(
      `nothing may be mounted at ${hidden}: it is no plain path, or every sandbox has its own things there`,
      { target: hidden },
    );
  }
  if (Buffer.byteLength(socketPath) > longestSocketPath) {
    refuse(
      `the socket of sandbox ${sandbox} would be at ${socketPath}, longer than the ${longestSocketPath} bytes the kernel takes: use a shorter CORRAL_NODE_STATE_DIR`,
      { socketPath },
    );
  }
}

/**
 * Without root the network is bubblewrap's own, which node cannot enter. Without ids of its own a sandbox can write its tally, or kill its
 * proxy.
 */
export function checkMirrors({ mirrors }: Template, idRanges: IdRanges | null): void {
  if (mirrors === undefined || idRanges !== null) return;
  refuse(
    'network: {mirrors: …} takes node as root, with user ids of each sandbox’s own: start it so, or use network: none',
    { network: mirrorsNetwork },
  );
}

function refuse(sentence: string, evidence: Readonly<Record<string, string>>): never {
  throw new Failure('start_failed', sentence, { evidence });
}
