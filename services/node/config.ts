import { join } from 'node:path';
import { type ConfigReader, readConfig, type Variables } from '#src/platform/config.ts';
import { readMemoryPercent } from '#src/platform/host-amounts.ts';
import { logLevels } from '#src/platform/logging.ts';
import type { LogLevel } from '#src/ports/log.ts';
import { usualBounds } from './mirrors/proxy/account.ts';
import { type Range, readRange } from './mirrors/addresses.ts';
import { longestSocketPath, sandboxSocketName } from './bwrap/places.ts';

export type NodeConfig = {
  /** Holds the socket, one folder for each sandbox, and nothing that must outlive the machine. */
  readonly stateFolder: string;
  /** What environments' programs have made, by digest; worth keeping, and any number of nodes may share it. */
  readonly dataFolder: string;
  /** Images of registries, with their layers; worth keeping, and of one node only. */
  readonly imageFolder: string;
  /** What they may take of the disk; null: half of what it has free. */
  readonly imageBytes: number | null;
  /** Files with the credentials for registries, as Docker and podman write them. */
  readonly imageAuthFiles: readonly string[];
  /** Named in control groups. */
  readonly fleet: string;
  /** sandboxd with its own Node and libraries, as it is bound into every sandbox. */
  readonly payloadFolder: string;
  /** How many sandboxes may be starting at once. */
  readonly startConcurrency: number;
  /** Whether each sandbox has a user namespace; `auto`: where this host lets node make them. */
  readonly userNamespaces: UserNamespaces;
  /** What the memory limits of all sandboxes may add up to, in percent of what this machine has. */
  readonly memoryPercent: number;
  /** Ranges that mirrors may have addresses in, although they are of this machine or private. */
  readonly privateAddresses: readonly Range[];
  /** What one sandbox may get of its mirrors, in bytes. */
  readonly mirrorBytes: number;
  readonly exitWithParent: boolean;
  readonly logLevel: LogLevel;
};

const userNamespaces = ['auto', 'require', 'off'] as const;
export type UserNamespaces = (typeof userNamespaces)[number];

/** Two cores start about twenty sandboxes a second; more at once only makes each of them slower. */
const startConcurrency = 8;

/** Ids are shorter in practice; longer ones are refused when they come. */
const typicalIdBytes = 32;

/** Throws `ConfigMistakes`. */
export function loadConfig(variables: Variables): NodeConfig {
  return readConfig(variables, (read) => ({
    stateFolder: stateFolder(read),
    dataFolder: folderBeside(
      read,
      'data',
      'CORRAL_DATA_DIR',
      'the folder for data that environments have built',
    ),
    imageFolder: folderBeside(read, 'images', 'CORRAL_IMAGE_DIR', 'the folder for images of registries'),
    imageBytes: imageBytes(read),
    imageAuthFiles: imageAuthFiles(read),
    fleet: read.text('CORRAL_FLEET', {
      fallback: 'local',
      pattern: /^[a-z0-9][a-z0-9-]{0,30}$/,
      purpose: 'the name of the fleet: lower-case letters, digits and dashes',
    }),
    payloadFolder: absolute(read, 'CORRAL_PAYLOAD_DIR', 'the folder of the built sandboxd payload'),
    startConcurrency: read.whole('CORRAL_NODE_START_CONCURRENCY', {
      fallback: startConcurrency,
      min: 1,
      max: 256,
      purpose: 'how many sandboxes may be starting at once',
    }),
    userNamespaces: read.choice('CORRAL_NODE_USER_NAMESPACES', userNamespaces, { fallback: 'auto' }),
    memoryPercent: readMemoryPercent(read),
    privateAddresses: privateAddresses(read),
    mirrorBytes: read.whole('CORRAL_MIRROR_BYTES', {
      fallback: usualBounds.bytes,
      min: 1,
      max: Number.MAX_SAFE_INTEGER,
      purpose: 'what one sandbox may get of its mirrors, in bytes',
    }),
    exitWithParent: read.flag('CORRAL_EXIT_WITH_PARENT'),
    logLevel: read.choice('CORRAL_LOG_LEVEL', logLevels, { fallback: 'info' }),
  }));
}

function stateFolder(read: ConfigReader): string {
  const folder = absolute(read, 'CORRAL_NODE_STATE_DIR', 'the folder for sandboxes and the socket');
  const inside = `/sandboxes/${'x'.repeat(typicalIdBytes)}/run/${sandboxSocketName}`;
  const longest = longestSocketPath - inside.length;
  if (Buffer.byteLength(folder) > longest) {
    read.mistake(
      `CORRAL_NODE_STATE_DIR is ${folder}, longer than ${longest} bytes: sandboxes' sockets are inside it, and the kernel takes ${longestSocketPath} bytes for a socket's path`,
    );
  }
  return folder;
}

/** By default in the state folder. */
function folderBeside(read: ConfigReader, name: string, variable: string, purpose: string): string {
  const beside = join(read.optional('CORRAL_NODE_STATE_DIR') ?? '/', name);
  return read.optional(variable) === null ? beside : absolute(read, variable, purpose);
}

function imageBytes(read: ConfigReader): number | null {
  if (read.optional('CORRAL_IMAGE_BYTES') === null) return null;
  return read.whole('CORRAL_IMAGE_BYTES', {
    fallback: 0,
    min: 1024 * 1024,
    max: Number.MAX_SAFE_INTEGER,
    purpose: 'what images of registries may take of the disk, in bytes',
  });
}

function imageAuthFiles(read: ConfigReader): readonly string[] {
  const files = (read.optional('CORRAL_IMAGE_AUTH_FILES') ?? '').split(':').filter((file) => file !== '');
  const relative = files.find((file) => !file.startsWith('/'));
  if (relative !== undefined)
    read.mistake(`CORRAL_IMAGE_AUTH_FILES has ${relative}: write absolute paths, separated by colons`);
  return files;
}

function privateAddresses(read: ConfigReader): readonly Range[] {
  const written = (read.optional('CORRAL_PRIVATE_ADDRESSES') ?? '').split(',').map((each) => each.trim());
  return written.flatMap((each) => {
    const range = each === '' ? null : readRange(each);
    if (range === null && each !== '')
      read.mistake(
        `CORRAL_PRIVATE_ADDRESSES has ${each}: write ranges such as 10.3.0.0/16, separated by commas`,
      );
    return range === null ? [] : [range];
  });
}

function absolute(read: ConfigReader, name: string, purpose: string): string {
  return read.text(name, { pattern: /^\//, purpose: `${purpose}, an absolute path` });
}
