import type { Image, ImageOfRow, OpenTemplate, Template } from '#src/model/environment.ts';
import { placeholdersIn, itemFieldOf } from '#src/model/placeholder.ts';
import { digestOf } from '../digest.ts';
import { imageOf, imageText } from '../image-text.ts';
import type { Report } from '../mistakes.ts';
import { parseBytes, parseCpuMilli, parseDurationMs } from '../quantities.ts';
import type { SandboxYaml } from '../schema/sandbox.ts';
import { compileData } from './data.ts';
import type { Folder } from './folder.ts';
import { compileFolders } from './folders.ts';
import { compilePlacement } from './placement.ts';

/** Enough for a shell and common tools; an idle sandbox needs a tenth of the request. */
const defaults = {
  cpu: { request: '100m', limit: '1' },
  memory: { request: '128Mi', limit: '512Mi' },
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
    diskBytes: parseBytes(yaml.disk ?? defaults.disk),
    processes: yaml.processes ?? defaults.processes,
    network: yaml.network ?? 'none',
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
  const image = imageOf(text);
  if (image.kind !== 'rootfs') return image;
  if (!folder.isFolder(image.path)) {
    report(['sandbox', 'image'], `names the folder ${image.path}, which is not there`);
  }
  return { kind: 'rootfs', path: folder.absolute(image.path) };
}

type ImageFromRowYaml = Exclude<SandboxYaml['image'], string>;

/** Patterns of folders are relative to the YAML file, as folders are. What the operator permits is added when it is known. */
function compileImageOfRow({ from, allow }: ImageFromRowYaml, folder: Folder): ImageOfRow {
  const absolute = (image: Image): Image =>
    image.kind === 'rootfs' ? { kind: 'rootfs', path: folder.absolute(image.path) } : image;
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
