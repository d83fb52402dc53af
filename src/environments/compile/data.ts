import { basename } from 'node:path';
import {
  bakedData,
  type DataFolder,
  type Image,
  type ImageOfRow,
  type Template,
} from '#src/model/environment.ts';
import { dataDigestOf } from '../digest.ts';
import type { Folder } from '../files-read.ts';
import { archiveOf, imageOf } from '../image-text.ts';
import type { Path, Report } from '../mistakes.ts';
import { parseDurationMs } from '../quantities.ts';
import type { SandboxYaml } from '../schema/sandbox.ts';

/** A program that reads a corpus and writes an index takes seconds to minutes; an hour is a job, not a start. */
const defaultTimeout = '10m';
const longestTimeoutMs = 3_600_000;

type DataYaml = NonNullable<SandboxYaml['data']>[number];
type InHand = {
  readonly yaml: DataYaml;
  readonly runAs: SandboxYaml['run_as'];
  readonly place: Path;
  readonly folder: Folder;
  readonly report: Report;
};

/**
 * What a sandbox finds read-only: a folder of this machine, or what a program makes of such once; on a cluster, which has
 * no machine of the author's, an image. One file may say both, `build` for a machine and `image` for a cluster.
 */
export function compileData(
  yaml: SandboxYaml,
  image: Image | ImageOfRow,
  folder: Folder,
  report: Report,
): Template['data'] {
  const compile = mayBePulled(image) ? compileForCluster : compileForMachine;
  return (yaml.data ?? []).map((each, index) =>
    compile({ yaml: each, runAs: yaml.run_as, place: ['sandbox', 'data', index], folder, report }),
  );
}

/** Whether a cluster may have to pull it. */
function mayBePulled(image: Image | ImageOfRow): boolean {
  if (image.kind !== 'row') return isOfRegistry(image);
  return image.allow.some((pattern) => isOfRegistry(imageOf(pattern)));
}

const isOfRegistry = (image: Image) => image.kind === 'image' && archiveOf(image.reference) === null;

function compileForCluster({ yaml: { image, target }, runAs, place, report }: InHand): DataFolder {
  if (image === undefined) {
    report(
      place,
      'is made of folders of this machine and needs image: host or rootfs:PATH; for a cluster name an image that holds the data',
    );
  }
  if (image === bakedData && runAs === 'root') {
    report(
      [...place, 'image'],
      'is a layer of the sandbox’s own image, which commands that are root can write, and a grader may read it after them; name an image of its own, which is mounted read-only',
    );
  }
  return { image: image ?? '', target };
}

function compileForMachine(inHand: InHand): DataFolder {
  const { yaml, place, folder, report } = inHand;
  const { source, build, target } = yaml;
  if ((source === undefined) === (build === undefined)) {
    report(
      place,
      'must have either a source (a folder of this machine) or a build (a program that makes it)',
    );
  }
  if (build !== undefined) return { build: compileBuild(inHand, build), target };
  for (const field of ['inputs', 'timeout'] as const) {
    if (yaml[field] !== undefined) report([...place, field], 'belongs to a build; leave it out');
  }
  if (source !== undefined && !folder.isFolder(source)) {
    report([...place, 'source'], `names the folder ${source}, which is not there`);
  }
  return { source: folder.absolute(source ?? '.'), target };
}

function compileBuild({ yaml, place, folder, report }: InHand, argv: readonly string[]) {
  const inputs = (yaml.inputs ?? []).map((path) => folder.absolute(path));
  const names = inputs.map((input) => basename(input));
  const digests = (yaml.inputs ?? []).map((path, index) => {
    const name = names[index] ?? '';
    if (names.indexOf(name) !== index) {
      report(
        [...place, 'inputs', index],
        `is called ${name}, as an input before it: the build finds both by that name`,
      );
    }
    const tree = folder.tree(path);
    if ('digest' in tree) return { name, digest: tree.digest };
    report([...place, 'inputs', index], `names ${path}, ${tree.trouble}`);
    return { name, digest: '' };
  });
  const timeoutMs = parseDurationMs(yaml.timeout ?? defaultTimeout);
  if (timeoutMs > longestTimeoutMs) report([...place, 'timeout'], 'must be at most 1h');
  return { argv, inputs, timeoutMs, digest: dataDigestOf(argv, digests) };
}
