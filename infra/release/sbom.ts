import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { repository } from '../payload/repository.ts';
import { type DebianPackage, suite } from './debian.ts';
import type { Origin } from './origin.ts';

const run = promisify(execFile);

type Component = { readonly 'bom-ref': string; readonly purl: string };
type Bom = {
  readonly metadata: { readonly component: object; readonly tools: unknown };
  readonly components: readonly Component[];
};

export type Contents = {
  /** By image: the packages of Debian in it, of all architectures. */
  readonly debian: Readonly<Record<string, readonly DebianPackage[]>>;
  readonly node: { readonly version: string };
};

/** CycloneDX 1.5, as text: npm's packages that are bundled, Node, and Debian's packages in images. The same contents give the same text. */
export async function sbom(origin: Origin, { debian, node }: Contents): Promise<string> {
  const options = [
    '--sbom-format=cyclonedx',
    '--package-lock-only',
    '--omit=dev',
    '--omit=optional',
    '--omit=peer',
  ];
  const { stdout } = await run('npm', ['sbom', ...options], { cwd: repository, maxBuffer: 1 << 28 });
  const { metadata, components, ...rest } = JSON.parse(stdout) as Bom;
  const bom = {
    ...rest,
    serialNumber: `urn:uuid:${uuidOf(origin.revision)}`,
    metadata: {
      ...metadata,
      timestamp: new Date(origin.madeAtS * 1000).toISOString(),
      lifecycles: [{ phase: 'build' }],
      component: { ...metadata.component, name: 'corral', type: 'application' },
    },
    components: [...components, nodeComponent(node.version), ...debianComponents(debian)],
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

/** npm draws one at random. */
function uuidOf(revision: string): string {
  const hex = createHash('sha256').update(`corral ${revision}`).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

const nodeComponent = (version: string) => ({
  'bom-ref': `node@${version}`,
  type: 'application',
  name: 'node',
  version,
  purl: `pkg:generic/node@${version}`,
  licenses: [{ license: { id: 'MIT' } }],
});

function debianComponents(images: Contents['debian']): readonly Component[] {
  const found = new Map<string, { readonly one: DebianPackage; readonly images: Set<string> }>();
  for (const [image, packages] of Object.entries(images)) {
    for (const one of packages) {
      const { name, version, architecture } = one;
      const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=${suite}`;
      const known = found.get(purl) ?? { one, images: new Set() };
      known.images.add(image);
      found.set(purl, known);
    }
  }
  return [...found]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([purl, { one, images: within }]) => ({
      'bom-ref': purl,
      type: 'library',
      name: one.name,
      version: one.version,
      purl,
      properties: [...within].map((value) => ({ name: 'corral:image', value })),
    }));
}
