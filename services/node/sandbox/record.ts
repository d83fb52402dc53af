import { closeSync, constants, mkdirSync, openSync, writeSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { sandboxId } from '#src/model/ids.ts';
import type { Log } from '#src/ports/log.ts';
import { OwnerBody } from '#src/protocol/node/parts.ts';
import { sandboxSocketName } from '../bwrap/places.ts';
import { type Groups, ownGroups } from '../cgroups/groups.ts';
import type { Feed } from './feed.ts';
import { killMembers, killProcess } from './process-identity.ts';

const Process = Type.Union([Type.Object({ pid: Type.Integer(), startTicks: Type.Integer() }), Type.Null()]);

/** One file for each sandbox: what a later life of node must know to remove what this one left. */
export const SandboxRecord = Type.Object({
  sandbox: Type.String(),
  template: Type.String(),
  tokenSha256: Type.String(),
  createdAtMs: Type.Number(),
  /** The host's id of its user 0, whose range nobody else may have before nothing of it is left; null: no range. */
  idBase: Type.Union([Type.Integer(), Type.Null()]),
  /** bubblewrap outside, and its process 1 inside; null before they run. */
  outer: Process,
  init: Process,
  owner: Type.Union([OwnerBody, Type.Null()]),
  expiresAtMs: Type.Union([Type.Number(), Type.Null()]),
});
export type SandboxRecord = Static<typeof SandboxRecord>;

/** A sandbox's folder in the state folder, and what is in it. */
export type SandboxFolder = {
  readonly path: string;
  /** Bound into the sandbox; only sandboxd's user may enter. */
  readonly run: string;
  /** What its launch mounts. */
  readonly fstab: string;
  /** What its disk begins with. */
  readonly disk: string;
  /** Its own files of /etc. */
  readonly etc: string;
  /** What its root has above its image. */
  readonly skeleton: string;
  readonly socket: string;
};

/** A start's few hundred bytes are written at once: to have another thread write them costs more than the writing. */
export type Records = {
  folderOf(sandbox: string): SandboxFolder;
  make(sandbox: string): SandboxFolder;
  write(record: SandboxRecord): void;
  /** Null when it is missing or not a whole record (a crash while it was made). */
  read(sandbox: string): Promise<SandboxRecord | null>;
  /** Every sandbox that has a folder, with or without a whole record. */
  list(): Promise<readonly string[]>;
  remove(sandbox: string): Promise<void>;
};

export function createRecords(stateFolder: string): Records {
  const all = join(stateFolder, 'sandboxes');
  const fileOf = (sandbox: string) => join(all, sandbox, 'record.json');
  const folderOf = (sandbox: string): SandboxFolder => {
    const path = join(all, sandbox);
    const run = join(path, 'run');
    return {
      path,
      run,
      fstab: join(path, 'fstab'),
      disk: join(path, 'disk'),
      etc: join(path, 'etc'),
      skeleton: join(path, 'skeleton'),
      socket: join(run, sandboxSocketName),
    };
  };
  return {
    folderOf,
    make: (sandbox) => {
      const folder = folderOf(sandbox);
      for (const each of [folder.path, folder.run]) {
        mkdirSync(each, { recursive: true, mode: 0o700 });
      }
      return folder;
    },
    write: (record) => writePage(fileOf(record.sandbox), JSON.stringify(record)),
    read: async (sandbox) => parse(await readFile(fileOf(sandbox), 'utf8').catch(() => '')),
    list: () => readdir(all).catch(() => []),
    remove: (sandbox) => rm(join(all, sandbox), { recursive: true, force: true }),
  };
}

/** A record is some six hundred bytes, and with an owner of the longest names two thousand. */
const pageBytes = 4096;

/**
 * Over what was there, in one write of one page: it happens or it does not, however this process dies, so whoever reads the
 * file finds the old or the new record, whole. (A machine that dies takes its sandboxes along.) Renaming a new file into place
 * costs twenty times as much, and a start writes three. Spaces after it are nothing to JSON.
 */
function writePage(file: string, text: string): void {
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    writeSync(descriptor, text.padEnd(pageBytes), 0);
  } finally {
    closeSync(descriptor);
  }
}

function parse(text: string): SandboxRecord | null {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(SandboxRecord, value) ? value : null;
  } catch {
    return null;
  }
}

type OrphanTools = {
  readonly records: Records;
  readonly groups: Groups;
  readonly feed: Pick<Feed, 'tell'>;
  readonly log: Log;
};

/**
 * Removes what an earlier life of this node left: processes by their record (pid and start time) and by their group,
 * groups, folders. Their ends are told as `node_lost`, to watchers that were cut off. Returns how many there were.
 */
export async function removeOrphans(tools: OrphanTools): Promise<number> {
  const sandboxes = new Set(await tools.records.list());
  const names = new Set([...sandboxes, ...(await tools.groups.list())]);
  for (const name of names) {
    await removeOrphan(name, tools);
    if (!sandboxes.has(name) && isOwnGroup(name)) continue;
    tools.feed.tell({
      kind: 'gone',
      sandbox: sandboxId(name),
      cause: 'node_lost',
      evidence: { observed: 'left by an earlier life of node' },
    });
  }
  if (names.size > 0) tools.log.warn('orphans removed', { count: names.size });
  return names.size;
}

/** No sandbox was lost with it. */
const isOwnGroup = (name: string) => Object.values(ownGroups).some((prefix) => name.startsWith(prefix));

async function removeOrphan(name: string, { records, groups }: OrphanTools): Promise<void> {
  const record = await records.read(name);
  for (const process of [record?.init ?? null, record?.outer ?? null]) {
    if (process !== null) killProcess(process);
  }
  const group = groups.open(name);
  killMembers(group);
  await group.remove();
  await records.remove(name);
}
