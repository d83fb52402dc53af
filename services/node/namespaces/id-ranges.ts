import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';

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

/** What a test gives its own of. */
export type IdRangeTools = {
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

const noneLeft = `no range of ids is free: all ${blocks * rangesInBlock} of this host are in use by sandboxes of this and of other nodes`;

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
