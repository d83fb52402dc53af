import { createHash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { shown } from './quoted.ts';

/** A packed layer, by the hexadecimal digits of its sha256. */
export type Blob = { readonly digest: string; readonly size: number };

const Digest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' });
const Described = Type.Object({ digest: Digest, size: Type.Integer({ minimum: 0 }) });
const Index = Type.Object({ manifests: Type.Array(Described, { minItems: 1, maxItems: 1 }) });
const Manifest = Type.Object({ config: Described, layers: Type.Array(Described) });
const Config = Type.Object({
  architecture: Type.Optional(Type.String()),
  os: Type.Optional(Type.String()),
  rootfs: Type.Object({ diff_ids: Type.Array(Digest) }),
});

/** Manifests and configurations of real images have some kilobytes. */
const mostBytes = 8 * 1024 * 1024;

/** As many as container engines take, and the kernel in one overlay. */
export const mostLayers = 127;

const hexOf = (digest: string) => digest.slice('sha256:'.length);

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
/** This machine as images name it. */
export const platform = `linux/${architectures[process.arch] ?? process.arch}`;

/** Throws an Error that ends a sentence: programs of another machine would fail one by one, as if the commands were wrong. */
function checkPlatform({ architecture, os }: Static<typeof Config>): void {
  const made = `${os ?? ''}/${architecture ?? ''}`;
  if (architecture !== undefined && os !== undefined && made !== platform)
    throw new Error(`it is made for ${shown(made)}, and this machine is ${platform}`);
}

/** The layers of an image by their content, the lowest first. Throws an Error that ends a sentence. */
export function diffIdsOf(config: string): readonly string[] {
  const parsed = parse(config, Config, 'its configuration');
  checkPlatform(parsed);
  const { rootfs } = parsed;
  if (rootfs.diff_ids.length > mostLayers)
    throw new Error(
      `it has ${rootfs.diff_ids.length} layers, more than the ${mostLayers} that an image may have`,
    );
  if (rootfs.diff_ids.length === 0) throw new Error('it has no files');
  return rootfs.diff_ids.map(hexOf);
}

/** What a layer looks like depends on those below it; so a layer is shared by images of one scope that have the same below it (OCI's chain id). */
export function chainIds(diffIds: readonly string[], scope: string): readonly string[] {
  let chain = '';
  const chains = diffIds.map(
    (diffId) => (chain = chain === '' ? diffId : sha256(`sha256:${chain} sha256:${diffId}`)),
  );
  return chains.map((each) => sha256(`${scope} ${each}`));
}

export const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/**
 * The packed layers of the image in an OCI layout, the lowest first, and its configuration. Throws an Error that ends a sentence, also for a
 * layer of which there is only an address elsewhere.
 */
export async function readLayout(
  layout: string,
): Promise<{ readonly config: string; readonly blobs: readonly Blob[] }> {
  const index = parse(await readBounded(join(layout, 'index.json')), Index, 'its index');
  const blob = (digest: string) => join(layout, 'blobs/sha256', hexOf(digest));
  const manifest = parse(await readBounded(blob(index.manifests[0]?.digest ?? '')), Manifest, 'its manifest');
  const blobs = manifest.layers.map(({ digest, size }) => ({ digest: hexOf(digest), size }));
  for (const { digest } of manifest.layers)
    if (!existsSync(blob(digest)))
      throw new Error('one of its layers is not in the registry, only an address of it');
  return { config: await readBounded(blob(manifest.config.digest)), blobs };
}

function parse<Schema extends TSchema>(text: string, schema: Schema, what: string): Static<Schema> {
  const value: unknown = parseJson(text, what);
  if (!Value.Check(schema, value)) throw new Error(`${what} is not one of an OCI image`);
  return value;
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${what} is not JSON`);
  }
}

async function readBounded(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = await file.stat();
    if (size > mostBytes) throw new Error(`a description of it has ${size} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
