import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxId } from '#src/model/ids.ts';
import type { Owner } from '#src/model/rollout.ts';

/** One sandbox of this machine. `pid` is its process 1 as the host sees it; `owner` is null until a rollout has it. */
export type LocalSandbox = {
  readonly sandbox: SandboxId;
  readonly pid: number;
  readonly owner: Owner | null;
};

/** What is read of node's record of a sandbox; `init` is its process 1, null until that runs. */
type NodeRecord = {
  readonly sandbox: SandboxId;
  readonly init: { readonly pid: number } | null;
  readonly owner: Owner | null;
};

/** Reads node's record files, so that no process has to answer. Sandboxes that are being made or removed are left out. */
export async function listLocalSandboxes(nodeFolder: string): Promise<readonly LocalSandbox[]> {
  const folder = join(nodeFolder, 'sandboxes');
  const ids = await readdir(folder).catch(() => []);
  const records = await Promise.all(ids.map((id) => readRecord(join(folder, id, 'record.json'))));
  return records.filter((record) => record !== null);
}

async function readRecord(path: string): Promise<LocalSandbox | null> {
  try {
    const { sandbox, init, owner } = JSON.parse(await readFile(path, 'utf8')) as NodeRecord;
    return init === null ? null : { sandbox, pid: init.pid, owner };
  } catch {
    return null;
  }
}
