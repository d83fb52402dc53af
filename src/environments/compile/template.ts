import { posix } from 'node:path';
import {
  type Image,
  imageConfigFile,
  type ImageOfRow,
  type OpenTemplate,
  type Placement,
  type Template,
} from '#src/model/environment.ts';
import type { AmountFields } from '#src/model/amounts.ts';
import { itemFieldOf, placeholdersIn } from '#src/model/placeholder.ts';
import { isAtOrBelow } from '#src/protocol/sandboxd/at-or-below.ts';
import { formerPlaces, ownFolder } from '#src/protocol/sandboxd/payload-layout.ts';
import { digestOf, textDigest } from '../digest.ts';
import type { Folder } from '../files-read.ts';
import { archiveOf, imageOf, imageText } from '../image-text.ts';
import type { Report } from '../mistakes.ts';
import { parseBytes, parseCpuMilli, parseDurationMs } from '../quantities.ts';
import type { PlacementYaml } from '../schema/placement.ts';
import type { SandboxYaml } from '../schema/sandbox.ts';
import { compileData } from './data.ts';
import { compileNetwork } from './network.ts';

/**
 * Enough for a shell and common tools. A node keeps all of the memory: if it promised less, a kill for memory could be the doing of
 * other sandboxes, and proves nothing.
 */
const defaults = {
  cpu: { request: '100m', limit: '1' },
  memory: '512Mi',
  disk: '1Gi',
  processes: 256,
  startTimeout: '60s',
} as const;

/** What a sandbox is created from, with defaults and absolute folders; open where each row names its image. */
export function compileTemplate(yaml: SandboxYaml, folder: Folder, report: Report): Template | OpenTemplate {
  checkPrepare(yaml, report);
  const { image: written } = yaml;
  if (typeof written === 'string') {
    const template = compileBody(yaml, compileImage(written, folder, report), folder, report);
    return { digest: digestOf(template), ...template };
  }
  return compileBody(yaml, compileImageOfRow(written, folder), folder, report);
}

function compileBody<From extends Image | ImageOfRow>(
  yaml: SandboxYaml,
  image: From,
  folder: Folder,
  report: Report,
) {
  return {
    image,
    cpu: cpuShare(yaml.cpu ?? defaults.cpu, report),
    memory: memoryShare(yaml.memory ?? defaults.memory, report),
    diskBytes: limitOf(yaml.disk ?? defaults.disk),
    ...compileShm(yaml, report),
    ...(yaml.devices && { devices: yaml.devices }),
    processes: yaml.processes ?? defaults.processes,
    ...compileNetwork(yaml, report),
    runAs: yaml.run_as ?? 'user',
    uid: compileUid(yaml, report),
    placement: compilePlacement(yaml),
    env: yaml.env ?? {},
    data: compileData(yaml, image, folder, report),
    ...compileFolders(yaml, report),
    prepare: yaml.prepare ?? [],
    startTimeoutMs: parseDurationMs(yaml.start_timeout ?? defaults.startTimeout),
  };
}

function compileImage(text: string, folder: Folder, report: Report): Image {
  const image = absoluteArchive(imageOf(text), folder);
  if (image.kind !== 'rootfs') return image;
  if (!folder.isFolder(image.path)) {
    report(['sandbox', 'image'], `names the folder ${image.path}, which is not there`);
  }
  return { kind: 'rootfs', path: folder.absolute(image.path), ...configDigest(image.path, folder) };
}

/** Archives are relative to the YAML file, as folders are. That one does not exist is reported by its first start. */
function absoluteArchive(image: Image, folder: Folder): Image {
  const archive = image.kind === 'image' ? archiveOf(image.reference) : null;
  if (archive === null) return image;
  return { kind: 'image', reference: `${archive.transport}:${folder.absolute(archive.path)}` };
}

/** What is wrong with it is said by each start: it is read there. */
function configDigest(path: string, folder: Folder): { readonly config?: string } {
  const text = folder.text(imageConfigFile(path));
  return text === null ? {} : { config: textDigest(text) };
}

/** Where rows have what their tasks demand; nothing where they have it nowhere, so that environments are what they were. */
export function compileDemands({ cpu, memory, disk, shm }: SandboxYaml): { readonly demands?: AmountFields } {
  const written = {
    memoryBytes: demandField(memory),
    cpuMilli: demandField(cpu),
    diskBytes: demandField(disk),
    shmBytes: demandField(shm),
  };
  const entries = Object.entries(written).filter(([, field]) => field !== undefined);
  return entries.length === 0 ? {} : { demands: Object.fromEntries(entries) };
}

function demandField(share: SandboxYaml['cpu' | 'memory' | 'disk' | 'shm']): string | undefined {
  const from = typeof share === 'object' ? share.from : undefined;
  return from === undefined ? undefined : (itemFieldOf(from) ?? from);
}

type ImageFromRowYaml = Exclude<SandboxYaml['image'], string>;

/** Patterns of folders are relative to the YAML file, as folders are. What the operator permits is added when it is known. */
function compileImageOfRow({ from, allow }: ImageFromRowYaml, folder: Folder): ImageOfRow {
  const absolute = (image: Image): Image =>
    image.kind === 'rootfs'
      ? { kind: 'rootfs', path: folder.absolute(image.path) }
      : absoluteArchive(image, folder);
  return {
    kind: 'row',
    field: itemFieldOf(from) ?? from,
    allow: allow.map((pattern) => imageText(absolute(imageOf(pattern)))),
    permitted: ['*'],
  };
}

function cpuShare(yaml: NonNullable<SandboxYaml['cpu']>, report: Report): Template['cpu'] {
  const { request, limit } = typeof yaml === 'object' ? yaml : { request: yaml, limit: yaml };
  const share = { requestMilli: parseCpuMilli(request), limitMilli: parseCpuMilli(limit) };
  if (share.requestMilli > share.limitMilli) report(['sandbox', 'cpu'], requestAboveLimit);
  return share;
}

function memoryShare(yaml: NonNullable<SandboxYaml['memory']>, report: Report): Template['memory'] {
  const { request, limit } = typeof yaml === 'object' ? yaml : { request: yaml, limit: yaml };
  const share = { requestBytes: parseBytes(request), limitBytes: parseBytes(limit) };
  if (share.requestBytes > share.limitBytes) report(['sandbox', 'memory'], requestAboveLimit);
  return share;
}

const limitOf = (yaml: NonNullable<SandboxYaml['disk']>): number =>
  parseBytes(typeof yaml === 'object' ? yaml.limit : yaml);

/** Left out where it is left out, so that environments are what they were. */
function compileShm({ shm, memory = defaults.memory }: SandboxYaml, report: Report) {
  if (shm === undefined) return {};
  const shmBytes = limitOf(shm);
  if (shmBytes > memoryShare(memory, () => undefined).limitBytes)
    report(['sandbox', 'shm'], 'must not be above the limit of memory, within which it counts');
  return { shmBytes };
}

function compileUid({ uid = 'separate', run_as }: SandboxYaml, report: Report): Template['uid'] {
  if (uid === 'single' && run_as === 'root') {
    report(
      ['sandbox', 'uid'],
      'is one ordinary id, and run_as: root asks for another; leave one of them out',
    );
  }
  return uid;
}

const requestAboveLimit = 'requests more than its limit; raise the limit or lower the request';

/** Warm sandboxes are prepared before anyone knows for which task. */
function checkPrepare({ prepare = [] }: SandboxYaml, report: Report): void {
  for (const [index, argv] of prepare.entries()) {
    const field = argv.flatMap(placeholdersIn).find((name) => itemFieldOf(name) !== null);
    if (field !== undefined) {
      report(
        ['sandbox', 'prepare', index],
        `uses {${field}}, but it runs before there is a task; put it in setup`,
      );
    }
  }
}

/** Where a cluster puts the sandbox; what is left out is the operator's choice, or the cluster's. */
export function compilePlacement(yaml: PlacementYaml): Placement {
  return {
    runtimeClass: yaml.runtime_class ?? null,
    priorityClass: yaml.priority_class ?? null,
    nodeSelector: yaml.node_selector ?? {},
    tolerations: (yaml.tolerations ?? []).map(({ key, value, effect }) => ({
      key,
      value: value ?? null,
      effect: effect ?? null,
    })),
    labels: yaml.labels ?? {},
  };
}

/** What every sandbox has in its own way, or what its programs come from: a folder of the policy's there would replace it. */
const taken = [
  ...'/workspace /tmp /proc /dev /sys /run /etc /bin /sbin /lib /lib32 /lib64 /usr /boot'.split(' '),
  ownFolder,
  formerPlaces.payload,
];

/** Writable folders beside the workspace; none is no field, so that templates without are what they were. */
export function compileFolders(
  { folders = [], data = [] }: SandboxYaml,
  report: Report,
): { readonly folders?: readonly string[] } {
  for (const [index, folder] of folders.entries()) {
    const others = [...taken, ...data.map(({ target }) => target), ...folders.toSpliced(index, 1)];
    const other = others.find((each) => isAtOrBelow(folder, each) || isAtOrBelow(each, folder));
    if (isPlain(folder) && other === undefined) continue;
    report(
      ['sandbox', 'folders', index],
      other === undefined ? 'is no plain path: write it without //, . and ..' : `lies in or above ${other}`,
    );
  }
  return folders.length === 0 ? {} : { folders };
}

const isPlain = (folder: string) => posix.normalize(folder) === folder && !folder.endsWith('/');
