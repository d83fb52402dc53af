import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import { type ConfinedSite, type Ended, type OverlayMount, runConfined } from './confined.ts';
import { namesMachineTrouble } from './machine-trouble.ts';
import { quoted } from './quoted.ts';
import { inUnpacking, mostOwners, unpackExits, unpackScript } from './unpack-script.ts';

/** What a layer takes of the store, and whose files it has. */
export type Unpacked = { readonly bytes: number; readonly files: number; readonly ids: readonly number[] };

export type LayerJob = {
  readonly image: string;
  readonly name: string;
  /** The packed layer. */
  readonly blob: string;
  /** sha256 of the unpacked one, as the image says. */
  readonly diffId: string;
  readonly overlay: OverlayMount;
  /** A folder of this pull, for the decompressed layer. */
  readonly scratch: string;
  readonly mostBytes: number;
  /** Makes room before anything is written. Rejects if it cannot. */
  readonly makeRoom: (bytes: number, files: number) => Promise<void>;
  readonly signal: AbortSignal;
};

/** Much more than an image of 20 GB takes. */
const timeoutMs = 30 * 60_000;
const marksBytes = 256 * 1024 * 1024;

/** Unpacks one layer. Throws `start_failed` for one that cannot be used, and what `makeRoom` throws. */
export async function unpackLayer(job: LayerJob, site: ConfinedSite): Promise<Unpacked> {
  const { below, upper, work, at } = job.overlay;
  for (const folder of [upper, work, at, job.scratch]) await mkdir(join(below, folder), { recursive: true });
  // Whatever our umask is: an image without an entry of its root has one that all may enter.
  await chmod(join(below, upper), 0o755);
  let noRoom: unknown = null;
  const onQuestion = async (question: string) => {
    const [bytes = 0, files = 0] = question.split(' ').map(Number);
    await job.makeRoom(bytes, files).catch((thrown: unknown) => {
      noRoom = thrown;
      throw thrown;
    });
    return 'go\n';
  };
  const ended = await runConfined(
    {
      name: job.name,
      argv: ['/bin/sh', '-c', unpackScript],
      mounts: mountsOf(job),
      variables: { MOST_BYTES: String(job.mostBytes), DIFF_ID: job.diffId },
      as: { kind: 'root' },
      overlay: job.overlay,
      timeoutMs,
      signal: job.signal,
      onQuestion,
    },
    site,
  );
  if (noRoom !== null) throw noRoom;
  return resultOf(ended, job.image);
}

function mountsOf({ blob, scratch, overlay }: LayerJob) {
  const at = (folder: string) => join(overlay.below, folder);
  return [
    ['--ro-bind', blob, inUnpacking.blob],
    ['--bind', at(scratch), inUnpacking.tar],
    ['--size', String(marksBytes), '--tmpfs', inUnpacking.marks],
    ['--bind', at(overlay.at), inUnpacking.merged],
    ['--ro-bind', at(overlay.upper), inUnpacking.upper],
  ];
}

function resultOf({ code, stdout, words, stopped }: Ended, image: string): Unpacked {
  if (code === 0) {
    const [bytes = 0, files = 0, ...ids] = (stdout.trimEnd().split('\n').at(-1) ?? '').split(' ').map(Number);
    return { bytes, files, ids };
  }
  const isOfLayer = stopped === null && !namesMachineTrouble(words);
  const reason = isOfLayer ? reasons[code ?? 0] : undefined;
  const why = reason ?? stopped ?? `its process ended with ${code ?? 'a kill'}`;
  const sentence = `the image ${image} cannot be unpacked: ${why}${quoted(words)}`;
  // What is not the layer's own fault may be over when it is tried again.
  if (reason === undefined)
    throw new Failure('provider_unavailable', sentence, { evidence: { image }, retryAfterMs: 1000 });
  throw new Failure('start_failed', sentence, { evidence: { image } });
}

const reasons: Readonly<Record<number, string>> = {
  [unpackExits.tooLarge]: 'a layer is larger than the room for images (CORRAL_IMAGE_BYTES)',
  [unpackExits.otherContent]: 'a layer does not have the content that the image names',
  [unpackExits.unreadable]: 'a layer is not a tar archive, or has an entry that cannot be made',
  [unpackExits.unremovable]: 'a layer hides something that is no file of the image',
  [unpackExits.tooManyOwners]: `the files of a layer belong to more than ${mostOwners} users and groups`,
  [unpackExits.linkedParent]:
    'a layer has something below a link of a layer below it that leads nowhere in the image (such as var/run to /run); give the entry its real path',
  [unpackExits.noProgram]: 'a program that decompresses its layers is not installed',
};
