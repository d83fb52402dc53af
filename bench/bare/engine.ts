import { chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listHostNames, writeOwnEtc } from '#services/node/bwrap/host-root.ts';
import { settingsOfHost } from '#services/node/bwrap/host-settings.ts';
import { type Ending, launch } from '#services/node/bwrap/launch.ts';
import { tryLayers } from '#services/node/bwrap/layers.ts';
import { noOverlay, tryOverlays } from '#services/node/bwrap/try-overlay.ts';
import { tryLimitSockets } from '#services/node/bwrap/limit-sockets.ts';
import { places } from '#services/node/bwrap/places.ts';
import { createGroups, detectLayout } from '#services/node/cgroups/create-groups.ts';
import { groupName } from '#services/node/cgroups/groups.ts';
import { chooseOwnIds } from '#services/node/own-ids.ts';
import { buildLaunch, groupLimits, type Site } from '#services/node/sandbox/build.ts';
import { listening } from '#services/node/sandbox/listening.ts';
import { createRecords } from '#services/node/sandbox/record.ts';
import { compileFilter } from '#services/node/seccomp/filter.ts';
import type { SandboxId } from '#src/model/ids.ts';
import { sandboxAddress, type SandboxAddress } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import { namelessSandboxdArgv } from '#src/protocol/sandboxd/payload-layout.ts';

/** Sandboxes of `services/node`'s own making, without node: nothing is written down, watched or judged. */
export type BareEngine = AsyncDisposable & {
  /** Resolves when its sandboxd listens; rejects with bubblewrap's last words when it ends first. */
  start(request: CreateRequest): Promise<SandboxAddress>;
};

export type BareOptions = {
  readonly fleet: string;
  readonly stateFolder: string;
  readonly payloadDir: string;
};

/** The same arguments, launch script, control groups, ids and filter as a node's that has this state folder. */
export async function openBareEngine({ fleet, stateFolder, payloadDir }: BareOptions): Promise<BareEngine> {
  await mkdir(stateFolder, { recursive: true, mode: 0o700 });
  const etcFolder = join(stateFolder, 'etc');
  await writeOwnEtc(etcFolder);
  const filterFile = join(stateFolder, 'system-calls.bpf');
  await writeFile(filterFile, compileFilter(process.arch));
  const name = groupName(fleet, stateFolder);
  const groups = createGroups(await detectLayout(), name, systemClock);
  const records = createRecords(stateFolder);
  const ids = await chooseOwnIds({
    config: { stateFolder, userNamespaces: 'auto' },
    name,
    isRoot: process.getuid?.() === 0,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    // Whoever starts the first one is told.
    trial: async () => undefined,
  });
  const site: Site = {
    payloadFolder: payloadDir,
    sandboxdArgv: namelessSandboxdArgv(places.payload),
    etcFolder,
    kept: await settingsOfHost(listHostNames),
    filterFile,
    stageFolder: ids.stageFolder,
    canLayer: ids.stageFolder !== null && (await tryLayers(stateFolder)),
    canOverlay: ids.stageFolder === null ? noOverlay : tryOverlays(ids.stageFolder, payloadDir),
    canLimitSockets: ids.stageFolder !== null && (await tryLimitSockets(payloadDir)),
  };
  const ends: (() => Promise<void>)[] = [];

  const start = async (request: CreateRequest): Promise<SandboxAddress> => {
    const { sandbox, template } = request;
    const folder = records.make(sandbox);
    const idBase = (await ids.idRanges?.take()) ?? null;
    if (idBase !== null) await chown(folder.run, idBase, idBase);
    const group = await groups.create(sandbox, groupLimits(template));
    const launched = await launch(await buildLaunch({ request, image: null, idBase }, folder, group, site));
    ends.push(async () => {
      const init = await launched.initPid;
      // Process 1 of its namespace takes all others along.
      if (init !== null) kill(init);
      await launched.ended;
      await group.remove();
      await records.remove(sandbox);
      if (idBase !== null) ids.idRanges?.free(idBase);
    });
    await listens(folder.socket, sandbox, launched.ended);
    return sandboxAddress(`unix:${folder.socket}`);
  };
  return {
    start,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(ends.map((end) => end()));
      await ids.close();
      await groups.close();
    },
  };
}

async function listens(socket: string, sandbox: SandboxId, ended: Promise<Ending>): Promise<void> {
  const settled = new AbortController();
  const end = await Promise.race([listening(socket, systemClock, settled.signal), ended]);
  settled.abort();
  if (typeof end !== 'boolean') throw new Error(`${sandbox} ended as it started: ${end.lastWords}`);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

const silent = () => undefined;
