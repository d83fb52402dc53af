import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '#src/ports/log.ts';
import type { NodeConfig } from './config.ts';
import { createIdRanges, type IdRanges } from './namespaces/id-ranges.ts';

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

export type OwnIdsOptions = {
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
