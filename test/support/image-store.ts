import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPayload } from '#infra/payload/payload.ts';
import { writeOwnEtc } from '#services/node/bwrap/host-root.ts';
import { createGroups, detectLayout } from '#services/node/cgroups/create-groups.ts';
import type { ConfinedSite } from '#services/node/images/confined.ts';
import { createImages, type HeldImage, type Images } from '#services/node/images/images.ts';
import { createIdRanges } from '#services/node/own-ids.ts';
import { compileFilter } from '#services/node/seccomp/filter.ts';
import { systemClock } from '#src/platform/clock.ts';
import type { Log } from '#src/ports/log.ts';
import { savedImage } from '#test/builders/image-archive.ts';
import { testTemplate } from './sandboxes.ts';

/** Images of this machine without a node, in a folder of its own. */
export type TestImages = AsyncDisposable & {
  readonly folder: string;
  /** Below it are the layers. */
  readonly store: string;
  /** Writes what `docker save` writes, and returns the reference. */
  archive(
    name: string,
    layers: readonly Buffer[],
    config?: object,
    pack?: (layer: Buffer) => Buffer,
  ): Promise<string>;
  /** An image that says that it has some layers, and has others. */
  forged(name: string, said: readonly Buffer[], layers: readonly Buffer[]): Promise<string>;
  /** An image for such a machine. */
  madeFor(name: string, architecture: string, layer: Buffer): Promise<string>;
  /** An image of whose only layer there is an address. */
  elsewhere(name: string, layer: Buffer): Promise<string>;
  /** Until it is here, or cannot be. */
  hold(reference: string): Promise<HeldImage>;
};

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** The configuration of an image, which names its layers by their content. */
export const configOf = (layers: readonly Buffer[], config: object = {}): object => ({
  architecture: process.arch === 'x64' ? 'amd64' : 'arm64',
  os: 'linux',
  config,
  rootfs: { type: 'layers', diff_ids: layers.map((layer) => `sha256:${sha256(layer)}`) },
});

export async function testImages(bytes: number | null = null): Promise<TestImages> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-images-'));
  const images = await createHere(folder, bytes);
  const write = async (name: string, config: object, layers: readonly Buffer[]) => {
    const file = join(folder, `${name}.tar`);
    await writeFile(file, savedImage(config, layers));
    return `docker-archive:${file}`;
  };
  return {
    folder,
    store: join(folder, 'images'),
    archive: (name, layers, config = {}, pack = (layer) => layer) =>
      write(name, configOf(layers, config), layers.map(pack)),
    forged: (name, said, layers) => writeLayout(join(folder, name), configOf(said), layers),
    madeFor: (name, architecture, layer) =>
      writeLayout(join(folder, name), { ...configOf([layer]), architecture }, [layer]),
    elsewhere: (name, layer) =>
      writeLayout(join(folder, name), configOf([layer]), [layer], { kind: 'elsewhere' }),
    hold: (reference) => hold(images, reference),
    [Symbol.asyncDispose]: async () => {
      await images.stop();
      await rm(folder, { recursive: true });
    },
  };
}

async function hold(images: Images, reference: string): Promise<HeldImage> {
  for (;;) {
    try {
      const held = await images.hold(testTemplate({ image: { kind: 'image', reference } }));
      if (held === null) throw new Error(`${reference} is not an image`);
      return held;
    } catch (thrown) {
      if (!String(thrown).includes('is being pulled')) throw thrown;
    }
  }
}

/** What unpacks layers on this machine. */
export async function confinedSite(folder: string): Promise<ConfinedSite> {
  const etcFolder = join(folder, 'etc');
  const filterFile = join(folder, 'system-calls.bpf');
  await writeOwnEtc(etcFolder);
  await writeFile(filterFile, compileFilter(process.arch));
  const { dir: payloadFolder } = await buildPayload(join(import.meta.dirname, '../../out/payload'));
  const groups = createGroups(await detectLayout(), `images-${process.pid}`, systemClock);
  return { etcFolder, filterFile, payloadFolder, groups };
}

async function createHere(folder: string, bytes: number | null): Promise<Images> {
  return createImages({
    folder: join(folder, 'images'),
    bytes,
    authFiles: [],
    site: await confinedSite(folder),
    idRanges: createIdRanges(process.pid),
    trouble: null,
    clock: systemClock,
    log: silent,
  });
}

const ofOci = 'application/vnd.oci.image';

/** An OCI layout in a folder, which nothing compares with what its configuration says. */
async function writeLayout(
  path: string,
  config: object,
  layers: readonly Buffer[],
  { kind }: { readonly kind: 'here' | 'elsewhere' } = { kind: 'here' },
): Promise<string> {
  const blobs = join(path, 'blobs/sha256');
  await mkdir(blobs, { recursive: true });
  const address = {
    mediaType: `${ofOci}.layer.nondistributable.v1.tar`,
    urls: ['http://127.0.0.1:9/layer'],
  };
  const put = async (mediaType: string, bytes: Buffer) => {
    const digest = sha256(bytes);
    await writeFile(join(blobs, digest), bytes);
    return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
  };
  const putJson = (kind: string, value: object) =>
    put(`${ofOci}.${kind}.v1+json`, Buffer.from(JSON.stringify(value)));
  const manifest = {
    schemaVersion: 2,
    config: await putJson('config', config),
    layers: await Promise.all(
      layers.map(async (layer) =>
        kind === 'here'
          ? put(`${ofOci}.layer.v1.tar`, layer)
          : { ...address, digest: `sha256:${sha256(layer)}`, size: layer.length },
      ),
    ),
  };
  const index = { schemaVersion: 2, manifests: [await putJson('manifest', manifest)] };
  await writeFile(join(path, 'index.json'), JSON.stringify(index));
  await writeFile(join(path, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  return `oci:${path}`;
}

const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** A folder of this machine as a layer. */
export const layerOf = (folder: string): Buffer =>
  execFileSync('tar', ['--create', '--numeric-owner', '--directory', folder, '.'], { maxBuffer: 2 ** 30 });
