import { join } from 'node:path';
import type { Architecture } from '#src/protocol/sandboxd/system-call-filter.ts';
import {
  described,
  inFolderNextTo,
  type Packing,
  types,
  writeImage,
  writeLayout,
} from '#infra/images/oci/archive.ts';
import { jsonBlob } from '#infra/images/oci/blobs.ts';
import type { DebianPackage } from '../debian.ts';
import { leaksHere, leaksIn } from '../leaks.ts';
import { type Ingredients, releaseImage, type ReleasedImage, tested } from './catalogue.ts';

export const released: readonly Architecture[] = ['x64', 'arm64'];

/** One image for all architectures, as a file that `skopeo copy --all oci-archive:FILE docker://…` takes to a registry. */
export type ReleasedArchive = {
  readonly name: ReleasedImage;
  readonly file: string;
  /** Of the index over all architectures: what a registry has it under. */
  readonly digest: string;
  /** Unpacked, by architecture: the base, and what is above it. */
  readonly bytes: Readonly<Record<string, { readonly base: number; readonly above: number }>>;
  readonly debian: readonly DebianPackage[];
};

type Wish = Omit<Ingredients, 'architecture'> & {
  readonly outDir: string;
  readonly registry: string | null;
};

/** Two builds of one commit make equal files. */
export async function buildReleaseImage(
  name: ReleasedImage,
  { outDir, registry, ...from }: Wish,
): Promise<ReleasedArchive> {
  const { version, madeAtS } = from.origin;
  const file = join(outDir, `${name}-${version}.oci.tar`);
  const packing: Packing = { madeAtS, gzip: true };
  return inFolderNextTo(file, async (folder) => {
    const parts = [];
    for (const architecture of released) {
      const { image, debian } = await releaseImage(name, { ...from, architecture });
      const written = await writeImage(folder, image, packing);
      await refuseLeaks(`${name} for ${architecture}`, written.layers);
      parts.push({ architecture, debian, written });
    }
    const index = await jsonBlob(folder, {
      schemaVersion: 2,
      mediaType: types.index,
      manifests: parts.map(({ architecture, written }) => ({
        ...written.manifest,
        annotations: { 'dev.corral.tested': String(tested.includes(architecture)) },
      })),
    });
    // As podman names what it loads.
    const full = `${registry === null ? '' : `${registry}/`}${name}:${version}`;
    const annotations = { 'org.opencontainers.image.ref.name': full };
    await writeLayout(
      file,
      {
        manifest: { mediaType: types.index, ...described(index), annotations },
        blobs: [...parts.flatMap(({ written }) => written.blobs), index],
      },
      packing,
    );
    const bytes = Object.fromEntries(
      parts.map(({ architecture, written: { layers } }) => [architecture, sizesOf(layers)]),
    );
    return { name, file, digest: index.digest, bytes, debian: parts.flatMap((part) => part.debian) };
  });
}

async function refuseLeaks(image: string, layers: readonly { readonly file: string }[]): Promise<void> {
  const leaks = leaksHere(process.env);
  for (const { file } of layers) {
    const found = await leaksIn(file, leaks);
    if (found.length > 0) throw new Error(`a layer of ${image} would publish ${found.join(' and ')}`);
  }
}

function sizesOf([base, ...above]: readonly { readonly unpackedBytes: number }[]) {
  return {
    base: base?.unpackedBytes ?? 0,
    above: above.reduce((sum, { unpackedBytes }) => sum + unpackedBytes, 0),
  };
}
