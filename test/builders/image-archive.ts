import { createHash } from 'node:crypto';
import { endOfTar, tarHeader, tarPadding, type TarEntry } from '#src/protocol/sandboxd/tar.ts';

/** An entry of a test's archive; what is left out is what most files have. */
export type Entry = Partial<TarEntry> & {
  readonly path: string;
  readonly text?: string;
  /** The type in the header, in place of the kind's. */
  readonly type?: string;
  /** The mode with all its bits. */
  readonly wholeMode?: number;
};

/** A tar with these entries, in this order, owned by root. */
export function tarOf(...entries: readonly Entry[]): Buffer {
  const parts = entries.flatMap(({ text = '', type, wholeMode, ...given }) => {
    const bytes = Buffer.byteLength(text);
    const kind = given.kind ?? 'file';
    const mode = kind === 'folder' ? 0o755 : 0o644;
    const header = Buffer.from(tarHeader({ kind, mode, mtimeS: 1_700_000_000, bytes, ...given }));
    if (type !== undefined) header.write(type, 156);
    if (wholeMode !== undefined) header.write(wholeMode.toString(8).padStart(7, '0'), 100);
    return [resummed(header), Buffer.from(text), tarPadding(bytes)];
  });
  return Buffer.concat([...parts, endOfTar]);
}

/** With the sum that belongs to what stands there now. */
function resummed(header: Buffer): Buffer {
  header.fill(' ', 148, 156);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

const folder = (path: string) => ({ path, kind: 'folder' }) as const;

/** As `docker save` writes an image, with its manifest last. */
export function savedImage(config: object, layers: readonly Buffer[], ...others: readonly Entry[]): Buffer {
  const names = layers.map((_, index) => `layer-${index}/layer.tar`);
  const manifest = [{ Config: 'config.json', RepoTags: ['task:1'], Layers: names }];
  return rawTar(
    ...names.map((path, index) => ({ path, bytes: layers[index] ?? Buffer.alloc(0) })),
    { path: 'config.json', bytes: Buffer.from(JSON.stringify(config)) },
    { path: 'manifest.json', bytes: Buffer.from(JSON.stringify(manifest)) },
    ...others.map(({ path, text = '' }) => ({ path, bytes: Buffer.from(text) })),
  );
}

/** As an OCI layout has an image for two machines, with a note on how it was built, each in its own blob. */
export function ociLayout(config: object, layers: readonly Buffer[]): Buffer {
  const blobs = new Map<string, Buffer>();
  const put = (bytes: Buffer) => {
    const digest = createHash('sha256').update(bytes).digest('hex');
    blobs.set(`blobs/sha256/${digest}`, bytes);
    return { digest: `sha256:${digest}`, size: bytes.length };
  };
  const putJson = (value: object) => put(Buffer.from(JSON.stringify(value)));
  const image = putJson({ config: putJson(config), layers: layers.map(put) });
  const other = putJson({ config: putJson({ config: { User: 'other' } }), layers: [] });
  const here = process.arch === 'x64' ? 'amd64' : 'arm64';
  const index = putJson({
    manifests: [
      { ...other, platform: { os: 'linux', architecture: 's390x' } },
      { ...image, platform: { os: 'linux', architecture: here } },
      { ...other, platform: { os: 'unknown', architecture: 'unknown' } },
    ],
  });
  return rawTar(
    ...[...blobs].map(([path, bytes]) => ({ path, bytes })),
    { path: 'oci-layout', bytes: Buffer.from('{"imageLayoutVersion":"1.0.0"}') },
    { path: 'index.json', bytes: Buffer.from(JSON.stringify({ manifests: [index] })) },
  );
}

function rawTar(...files: readonly { readonly path: string; readonly bytes: Buffer }[]): Buffer {
  const parts = files.flatMap(({ path, bytes }) => [
    tarHeader({ path, kind: 'file', mode: 0o644, mtimeS: 0, bytes: bytes.length }),
    bytes,
    tarPadding(bytes.length),
  ]);
  return Buffer.concat([...parts, endOfTar]);
}

export { folder };
