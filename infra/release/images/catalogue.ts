import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { payloadLayout } from '#src/protocol/sandboxd/payload-layout.ts';
import type { Architecture } from '#src/protocol/sandboxd/system-call-filter.ts';
import { exampleEnvironments } from '#infra/images/catalogue.ts';
import { fileEntry, layer, tree } from '#infra/images/contents/tree.ts';
import type { Image, ImageConfig } from '#infra/images/oci/archive.ts';
import type { Entry } from '#infra/images/oci/tar.ts';
import type { DebianPackage } from '../debian.ts';
import type { Origin } from '../origin.ts';
import { localRoot, localRootLayer } from './local-root.ts';
import { nodeRuntime, type Runtime, runtimeLayer, text } from './runtime-base.ts';

export const releasedImages = ['corral', 'corral-sandboxd', 'corral-local'] as const;
export type ReleasedImage = (typeof releasedImages)[number];

/** The first ran the tests; the second was only started in an emulator. */
export const tested: readonly Architecture[] = ['x64'];

export type Ingredients = {
  readonly architecture: Architecture;
  readonly origin: Origin;
  readonly cacheDir: string;
  /** Folder of the distribution. */
  readonly distribution: string;
};

/** An image, and the packages of Debian in it. */
export type Recipe = { readonly image: Image; readonly debian: readonly DebianPackage[] };

const makers: Readonly<Record<ReleasedImage, (from: Ingredients) => Promise<Recipe>>> = {
  corral: services,
  'corral-sandboxd': sandboxd,
  'corral-local': local,
};

/** What is in an image of the release. The first layer of each is its base: nothing of Corral, and the same until Node or Debian change. */
export async function releaseImage(name: ReleasedImage, from: Ingredients): Promise<Recipe> {
  const { image, debian } = await makers[name](from);
  const config = { ...image.config, Labels: labelsOf(name, from) };
  return { image: { ...image, name, architecture: from.architecture, config }, debian };
}

const labelsOf = (name: string, { architecture, origin }: Ingredients) => ({
  'org.opencontainers.image.title': name,
  'org.opencontainers.image.version': origin.version,
  'org.opencontainers.image.revision': origin.revision,
  'org.opencontainers.image.licenses': 'Apache-2.0',
  'dev.corral.tested': String(tested.includes(architecture)),
});

const runtimeOf = ({ architecture, origin, cacheDir }: Ingredients): Promise<Runtime> =>
  nodeRuntime({ architecture, revision: origin.revision, cacheDir });

const serviceUser = '65532:65532';

const image = (layers: readonly (readonly Entry[])[], config: ImageConfig): Image => ({
  name: '',
  layers: layers.map(layer),
  config,
});

/** Gateway, controller and command line; which of them runs is the container's argument. */
async function services(from: Ingredients): Promise<Recipe> {
  const runtime = await runtimeOf(from);
  const config = {
    Entrypoint: ['node'],
    Cmd: ['gateway.mjs'],
    Env: ['PATH=/usr/local/bin:/usr/bin:/bin', 'NODE_ENV=production'],
    WorkingDir: '/app',
    User: serviceUser,
  };
  const app = [...(await tree(from.distribution, 'app')), await exampleForClusters()];
  return { image: image([runtimeLayer(runtime), app], config), debian: runtime.debian.packages };
}

/** Of Docker Hub, or of whatever mirror the nodes ask in its place. */
const imageOfExample = 'busybox:1.37.0';

async function exampleForClusters(): Promise<Entry> {
  const yaml = await readFile(join(exampleEnvironments, 'shell.yaml'), 'utf8');
  const inImage = yaml
    .replace('corral.local/bare:dev', imageOfExample)
    .replace('../../../schemas/', '../schemas/');
  return text('app/environments/shell.yaml', inImage);
}

/** The payload, at the root: mounted as a volume, or copied by its own Node. */
async function sandboxd(from: Ingredients): Promise<Recipe> {
  const runtime = await runtimeOf(from);
  return {
    image: image([payloadRuntime(runtime), await payloadCode(from)], {}),
    debian: runtime.debian.packages,
  };
}

function payloadRuntime({ node, libraries, loader, ...rest }: Runtime): readonly Entry[] {
  const notices = runtimeLayer({ node, libraries, loader, ...rest }).filter(({ path }) =>
    /^(?:usr\/share\/doc|var\/lib\/dpkg)\//.test(path),
  );
  return [
    fileEntry(node.file, payloadLayout.node, true),
    fileEntry(loader.file, payloadLayout.loader, true),
    ...[...libraries].map(([name, file]) => fileEntry(file, join(payloadLayout.libraries, name), true)),
    ...notices,
  ];
}

async function payloadCode({ distribution, architecture }: Ingredients): Promise<readonly Entry[]> {
  const native = (await tree(join(distribution, 'native'), payloadLayout.code))
    .filter(({ path }) => path.endsWith(`-${architecture}`))
    .map((entry) => moved(entry, entry.path.slice(0, -`-${architecture}`.length)));
  return [
    ...(await tree(join(distribution, 'sandboxd'), payloadLayout.code)),
    ...native,
    { kind: 'link', path: payloadLayout.daemon, to: join('..', payloadLayout.node) },
  ];
}

const moved = (entry: Entry, path: string): Entry => ({ ...entry, path });

/** A volume: keys, the certificate and logs stay with it. */
const localState = '/var/lib/corral';

/** The whole fleet, for a machine that has podman or Docker and nothing else. */
async function local(from: Ingredients): Promise<Recipe> {
  const { architecture, origin, cacheDir, distribution } = from;
  const runtime = await runtimeOf(from);
  const root = await localRoot({ architecture, revision: origin.revision, cacheDir });
  const node = fileEntry(runtime.node.file, 'usr/local/bin/node', true);
  const license = fileEntry(runtime.node.license, 'usr/share/doc/nodejs/LICENSE', false);
  const layers = [
    [...(await localRootLayer(root)), node, license],
    [...(await tree(distribution, 'usr/lib/corral')), corralCommand],
  ];
  return {
    image: image(layers, {
      // Tini ends what processes of sandboxes leave behind.
      Entrypoint: ['tini', '--', 'corral', 'up', '--host', '0.0.0.0', '--first-key'],
      Env: [
        'PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
        'CORRAL_IN_CONTAINER=1',
        `CORRAL_STATE=${localState}`,
      ],
      WorkingDir: '/',
      ExposedPorts: { '8700/tcp': {} },
      Volumes: { [localState]: {} },
    }),
    debian: root.packages,
  };
}

const corralCommand: Entry = {
  kind: 'text',
  path: 'usr/local/bin/corral',
  mode: 0o755,
  text: '#!/bin/sh\nexec node /usr/lib/corral/corral.mjs "$@"\n',
};
