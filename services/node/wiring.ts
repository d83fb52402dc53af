import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { every } from '#src/platform/every.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import { nodeSocketName } from '#src/protocol/node/wire.ts';
import { listHostNames, writeOwnEtc } from './bwrap/host-root.ts';
import { settingsOfHost } from './bwrap/host-settings.ts';
import { launch } from './bwrap/launch.ts';
import { tryLayers } from './bwrap/layers.ts';
import { noOverlay, tryOverlays } from './bwrap/try-overlay.ts';
import { tryLimitSockets } from './bwrap/limit-sockets.ts';
import { createGroups, detectLayout } from './cgroups/create-groups.ts';
import { groupName } from './cgroups/groups.ts';
import type { NodeConfig } from './config.ts';
import { createBuiltData } from './data/built-data.ts';
import { createDataCache } from './data/cache.ts';
import { createImages } from './images/images.ts';
import { imageTrouble } from './images/image-trouble.ts';
import { usualBounds } from './mirrors/proxy/account.ts';
import { createMirrorProxies } from './mirrors/mirror-proxies.ts';
import { openKernelKills } from './kernel-kills.ts';
import { describeIsolation, limitationsOf } from './limitations.ts';
import { lookEveryMs } from './sandbox/death.ts';
import { createFeed } from './sandbox/feed.ts';
import { startGuardian } from './sandbox/guardian.ts';
import { chooseOwnIds, type OwnIds } from './own-ids.ts';
import { readHostMemory } from './sandbox/memory-room.ts';
import { createRecords, removeOrphans } from './sandbox/record.ts';
import { createSandboxes } from './sandbox/sandboxes.ts';
import { compileFilter } from './seccomp/filter.ts';
import { createStartLine } from './sandbox/start-line.ts';
import { makeRoomForTerminals } from './sandbox/terminals.ts';
import type { Trial } from './sandbox/trial.ts';
import { createHandle } from './serving/handle.ts';
import { refuseSecondNode, serve } from './serving/serve.ts';

/** The longest waiting line of a fleet is 10,000 rollouts, of which one machine may get this many launches at once. */
const longestStartLine = 2000;

export type NodeParts = {
  readonly config: NodeConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** sandboxd's command line inside a sandbox. */
  readonly sandboxdArgv: readonly string[];
  /** The program that asks package mirrors for a sandbox. */
  readonly mirrorProxyProgram: string;
  /** What must succeed before anything is served. */
  readonly trial: Trial;
};

export type RunningNode = {
  readonly socketPath: string;
  /** Ends every sandbox, then itself. */
  stop(): Promise<void>;
};

/**
 * Starts a node: removes what an earlier life left, tries whether sandboxes can be made here, then serves. It stops with the
 * sandboxes before the server, whose watch tells why each of them ended, and with their groups after all that may be in one.
 */
export async function startNode(parts: NodeParts): Promise<RunningNode> {
  const { config, clock, log, sandboxdArgv } = parts;
  const { stateFolder, payloadFolder } = config;
  const etcFolder = join(stateFolder, 'etc');
  const isRoot = process.getuid?.() === 0;
  await mkdir(stateFolder, { recursive: true, mode: 0o700 });
  await writeOwnEtc(etcFolder);
  const kept = await settingsOfHost(listHostNames);
  const filterFile = join(stateFolder, 'system-calls.bpf');
  await writeFile(filterFile, compileFilter(process.arch));
  const canLayer = isRoot && (await tryLayers(stateFolder));
  const canLimitSockets = isRoot && (await tryLimitSockets(payloadFolder));
  const terminalsLacking = isRoot ? await makeRoomForTerminals() : 0;
  const name = groupName(config.fleet, stateFolder);
  const groups = createGroups(await detectLayout(), name, clock);
  const feed = createFeed();
  const kernelKills = openKernelKills();
  const records = createRecords(stateFolder);
  const mirrors = createMirrorProxies({
    payloadFolder,
    program: parts.mirrorProxyProgram,
    privateAddresses: config.privateAddresses,
    bounds: { ...usualBounds, bytes: config.mirrorBytes },
    groups,
    log,
  });
  const memoryRoom = { percent: config.memoryPercent, read: readHostMemory };
  const tools = {
    clock,
    memoryRoom,
    log,
    records,
    groups,
    launch,
    mirrors,
    kernelKills,
    line: createStartLine(config.startConcurrency, longestStartLine),
  };
  const toolsWith = ({ idRanges, stageFolder }: OwnIds) => ({
    ...tools,
    idRanges,
    site: {
      payloadFolder,
      sandboxdArgv,
      etcFolder,
      kept,
      filterFile,
      stageFolder,
      canLayer,
      canOverlay: stageFolder === null ? noOverlay : tryOverlays(stageFolder, payloadFolder),
      canLimitSockets,
    },
  });
  const socketPath = join(stateFolder, nodeSocketName);
  // Before anything is served: a create may bring the id of an orphan again.
  await refuseSecondNode(socketPath);
  await removeOrphans({ records, groups, feed, log });
  const guardian = startGuardian(groups);
  const trial = (ids: OwnIds) => parts.trial(toolsWith(ids));
  const ids = await chooseOwnIds({ config, name, isRoot, log, trial });
  const sandboxes = createSandboxes({ ...toolsWith(ids), feed });
  const canOverlay = ids.idRanges !== null && (await toolsWith(ids).site.canOverlay(stateFolder));
  const noImages = await imageTrouble(ids, toolsWith(ids).site.canOverlay, config.imageFolder);
  const limitations = limitationsOf({
    groups,
    ids,
    memoryRoom,
    kernelKills,
    canLimitSockets,
    terminalsLacking,
    canOverlay,
    imageTrouble: noImages,
  });
  const isolation = describeIsolation({ groups, ids });
  const data = createBuiltData({
    cache: createDataCache(config.dataFolder, isRoot),
    site: { etcFolder, kept, filterFile, payloadFolder, groups, isRoot, nodeProgram: process.execPath },
    clock,
    log,
  });
  const images = createImages({
    folder: config.imageFolder,
    bytes: config.imageBytes,
    authFiles: config.imageAuthFiles,
    site: { etcFolder, filterFile, payloadFolder, groups },
    idRanges: ids.idRanges,
    trouble: noImages,
    clock,
    log,
  });
  const server = await serve(
    socketPath,
    createHandle({ sandboxes, feed, limitations, isolation, data, images }),
    log,
  );

  const stopping = new AbortController();
  const looking = every(
    {
      intervalMs: lookEveryMs,
      clock,
      signal: stopping.signal,
      onError: (thrown) => log.error('look failed', { error: String(thrown) }),
    },
    () => sandboxes.look(),
  );
  log.info('node serves', {
    socketPath,
    cgroups: groups.version,
    isolation,
    limitations: limitations.join(' '),
  });
  return {
    socketPath,
    stop: async () => {
      stopping.abort();
      await looking.done;
      await data.stop();
      images.stopPulling();
      await sandboxes.stop();
      await images
        .stop()
        .catch((thrown: unknown) => log.error('images not stopped', { error: String(thrown) }));
      await server.close();
      await ids.close();
      kernelKills?.close();
      guardian.stop();
      await groups.close();
    },
  };
}
