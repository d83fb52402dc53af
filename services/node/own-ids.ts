import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rmdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import type { Log } from '#src/ports/log.ts';
import type { NodeConfig } from './config.ts';

/** Whose ids sandboxes of this node run under, as it was found out at its start. */
export type OwnIds = {
  /** Null: sandboxes have no user namespaces of their own. */
  readonly idRanges: IdRanges | null;
  /** Where launches mount what a sandbox is made of; null without root. */
  readonly stageFolder: string | null;
  /** Why not each sandbox has ids of its own, where root could give it some; null where it has. */
  readonly shared: string | null;
  close(): Promise<void>;
};

type OwnIdsOptions = {
  readonly config: Pick<NodeConfig, 'stateFolder' | 'userNamespaces'>;
  /** The name of this node among those of the machine. */
  readonly name: string;
  readonly isRoot: boolean;
  readonly log: Log;
  /** Makes one sandbox; rejects where none can be made so. */
  readonly trial: (ids: OwnIds) => Promise<void>;
};

/** All ids may pass it, and nothing in it survives the machine. */
const runFolder = '/run';

/**
 * Ids of its own for each sandbox where this host allows it. Where it does not, `auto` takes what there is and says so,
 * and `require` rejects. Rejects too where no sandbox can be made in either way.
 */
export async function chooseOwnIds(options: OwnIdsOptions): Promise<OwnIds> {
  const { config, isRoot, log } = options;
  const setting = config.userNamespaces;
  if (!isRoot) {
    if (setting === 'require') throw new Error(needsRoot);
    return tried(withoutRoot, options);
  }
  if (setting === 'off') return tried(hostIds(config, 'CORRAL_NODE_USER_NAMESPACES is off'), options);
  try {
    return await tried(await namespaced(options), options);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    if (setting === 'require')
      throw new Error(`CORRAL_NODE_USER_NAMESPACES is require, but: ${reason}`, { cause: thrown });
    log.warn('sandboxes have no ids of their own', { reason });
    return tried(hostIds(config, reason), options);
  }
}

const needsRoot = 'CORRAL_NODE_USER_NAMESPACES is require, and only root can give sandboxes ids of their own';

async function tried(ids: OwnIds, { trial }: OwnIdsOptions): Promise<OwnIds> {
  try {
    await trial(ids);
    return ids;
  } catch (thrown) {
    await ids.close();
    throw thrown;
  }
}

const withoutRoot: OwnIds = {
  idRanges: null,
  stageFolder: null,
  shared: null,
  close: async () => undefined,
};

const hostIds = ({ stateFolder }: OwnIdsOptions['config'], shared: string): OwnIds => ({
  ...withoutRoot,
  stageFolder: join(stateFolder, 'stage'),
  shared,
});

async function namespaced({ config, name }: OwnIdsOptions): Promise<OwnIds> {
  const stageFolder = join(runFolder, `corral-${name}`);
  await mkdir(stageFolder, { recursive: true });
  // Whatever our umask is: ids of sandboxes pass it.
  await chmod(stageFolder, 0o711);
  const idRanges = createIdRanges(numberOf(config.stateFolder));
  return {
    idRanges,
    stageFolder,
    shared: null,
    close: async () => {
      idRanges.close();
      await removeStage(stageFolder);
    },
  };
}

/** Nodes of one machine begin at different blocks of ids. */
const numberOf = (text: string) => createHash('sha256').update(text).digest().readUInt32BE();

/** Empty folders, one by one: what somebody may have mounted or put there is not ours to remove. */
async function removeStage(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    await rmdir(join(folder, name)).catch(() => undefined);
  }
  await rmdir(folder).catch(() => undefined);
}

/** Ids of a sandbox, from 0 on: as many as containers have, so that 65534 (nobody) is one of them. */
export const idsInRange = 65_536;

/** Which ids of this host a sandbox may have: ranges that no other sandbox has, of this node or of another. */
export type IdRanges = {
  /** The first id of a range that is nobody's. Rejects when there is none. */
  take(): Promise<number>;
  /** Only when nothing of the sandbox that had it is left: no process, no control group, no folder. */
  free(base: number): void;
  close(): void;
};

/**
 * 0x70000000 to 0x7ffdffff: of the 32 bit of ids a stretch that neither accounts, nor /etc/subuid, nor the containers of
 * systemd-nspawn are given, and below what programs that count with a sign take for negative. 63 blocks of 64 ranges.
 */
const firstId = 0x7000_0000;
const rangesInBlock = 64;
const blocks = 63;
/** Of all nodes of this host together. */
export const mostSandboxes = blocks * rangesInBlock;

/** What a test gives its own of. */
type IdRangeTools = {
  /** Nobody else on this host may hold the same block; null when somebody does. */
  readonly holdBlock: (block: number) => Promise<{ release(): void } | null>;
  /** First host ids of every namespace that a process of this host is in. */
  readonly basesInUse: () => Promise<ReadonlySet<number>>;
};

/**
 * Blocks are taken one by one as they are needed, `firstBlock` first, and kept until the end. Ranges go round: the one
 * that was freed last is taken last.
 *
 * A block is held by listening at a name of the kernel's (an abstract socket): nothing is on disk, it cannot be held
 * twice, and however its holder dies, the kernel lets go of it. What sandboxes of a dead holder still run in at that
 * moment is seen in /proc and left out. Nodes in different network namespaces do not see each other's blocks; they begin
 * at different ones, by the name of their state folder.
 */
export function createIdRanges(firstBlock: number, tools: IdRangeTools = thisHost): IdRanges {
  const held: { release(): void }[] = [];
  const free: number[] = [];
  let tried = 0;
  let taking: Promise<void> = Promise.resolve();

  const takeBlock = async () => {
    for (; free.length === 0 && tried < blocks; tried += 1) {
      const block = (firstBlock + tried) % blocks;
      const hold = await tools.holdBlock(block);
      if (hold === null) continue;
      held.push(hold);
      const inUse = await tools.basesInUse();
      free.push(...basesOf(block).filter((base) => !inUse.has(base)));
    }
  };
  return {
    take: async () => {
      // One after another: who waits for a block may find that the one before took it.
      taking = taking.then(() => (free.length === 0 ? takeBlock() : undefined));
      await taking;
      const base = free.shift();
      if (base === undefined) throw new Error(noneLeft);
      return base;
    },
    free: (base) => void free.push(base),
    close: () => held.forEach((hold) => hold.release()),
  };
}

const noneLeft = `no range of ids is free: all ${mostSandboxes} of this host are in use by sandboxes of this and of other nodes`;

const basesOf = (block: number) =>
  Array.from({ length: rangesInBlock }, (_, index) => firstId + (block * rangesInBlock + index) * idsInRange);

const thisHost: IdRangeTools = { holdBlock, basesInUse };

async function holdBlock(block: number): Promise<{ release(): void } | null> {
  const server = createServer((socket) => socket.destroy());
  if (!(await listens(server, `\0corral-ids-${block}`))) return null;
  server.unref();
  return { release: () => void server.close() };
}

function listens(server: Server, name: string): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(name, () => resolve(true));
  });
}

async function basesInUse(): Promise<ReadonlySet<number>> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const maps = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/uid_map`, 'utf8').catch(() => '')));
  return new Set(maps.flatMap((map) => map.split('\n').map((line) => Number(line.trim().split(/\s+/)[1]))));
}
