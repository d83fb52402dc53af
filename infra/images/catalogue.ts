import { join } from 'node:path';
import { buildDistribution } from '../distribution/distribution.ts';
import { buildPayload } from '../payload/payload.ts';
import { formerPlaces } from '#src/protocol/sandboxd/payload-layout.ts';
import { busyboxRoot } from './contents/busybox.ts';
import { dataFolders } from './contents/data-folders.ts';
import { program } from './contents/program.ts';
import { layer, tree } from './contents/tree.ts';
import type { Image } from './oci/archive.ts';
import type { Entry } from './oci/tar.ts';

/** Of the images that are made here; `corral.local` is nobody's registry, so none is asked for them. */
export const imageNames = {
  corral: 'corral.local/corral:dev',
  sandboxd: 'corral.local/sandboxd:dev',
  bare: 'corral.local/bare:dev',
  demo: 'corral.local/demo:dev',
  redis: 'corral.local/redis:dev',
} as const;

export type ImageName = keyof typeof imageNames;

/** One to try in a cluster: other machines have other programs, so it names an image. */
export const exampleEnvironments = join(import.meta.dirname, 'environments');
/** Where pods expect the payload in an image that brings it along, unless cluster.yaml names another folder. */
const payloadPlace = formerPlaces.payload.slice(1);
/** Nobody in particular, and not root: what services need is given to them as mounted files. */
const serviceUser = '65532:65532';

/**
 * Gateway, controller and command line in one image: they share most modules, a node pulls it once, and a fleet cannot run two
 * versions by mistake. Which of them runs is the container's argument.
 */
export async function corralImage(cacheDir: string): Promise<Image> {
  const { dir } = await buildDistribution(cacheDir);
  return {
    name: imageNames.corral,
    layers: [
      layer([...(await program(process.execPath, 'usr/local/bin/node')), ...etc]),
      layer([...(await tree(dir, 'app')), ...(await tree(exampleEnvironments, 'app/environments'))]),
    ],
    config: {
      Entrypoint: ['node'],
      Cmd: ['gateway.mjs'],
      Env: ['PATH=/usr/local/bin:/usr/bin:/bin', 'NODE_ENV=production'],
      WorkingDir: '/app',
      User: serviceUser,
    },
  };
}

/** The payload and nothing else, at the root: mounted as a volume, or copied by its own Node. */
export async function sandboxdImage(cacheDir: string): Promise<Image> {
  return { name: imageNames.sandboxd, layers: [layer(await payload(cacheDir, ''))], config: {} };
}

/** The smallest image with sandboxd baked in: busybox, and the payload as one layer more. */
export async function bareImage(cacheDir: string): Promise<Image> {
  return {
    name: imageNames.bare,
    layers: [layer(await busyboxRoot()), layer(await payload(cacheDir, payloadPlace))],
    config: { Cmd: ['sh'], Env: ['PATH=/bin'] },
  };
}

/** What the rollouts of `npm run demo` run in: the same, and the repositories that its tasks are about. */
export async function demoImage(cacheDir: string): Promise<Image> {
  const { layers } = await bareImage(cacheDir);
  const repositories = layer(await dataFolders('environments/code-edit-planning.yaml'));
  return {
    name: imageNames.demo,
    layers: [...layers, layer(await ownPrograms()), repositories],
    config: { Cmd: ['sh'], Env: ['PATH=/usr/bin:/bin'] },
  };
}

/** This machine's Redis, for a fleet in pods where no registry can be asked. Who installs a fleet brings their own. */
export async function redisImage(): Promise<Image> {
  const programs = await Promise.all(
    ['/usr/bin/redis-server', '/usr/bin/redis-cli'].map((path) => program(path)),
  );
  return {
    name: imageNames.redis,
    layers: [layer([...programs.flat(), ...etc])],
    config: { Entrypoint: ['redis-server'], Env: ['PATH=/usr/bin'], User: serviceUser },
  };
}

/**
 * The gallery's environments count on what Debian's grep and sort can, and busybox' shell prefers its own: with these, a
 * rollout's commands print in a pod what they print on this machine.
 */
async function ownPrograms(): Promise<readonly Entry[]> {
  const programs = [program('/bin/sh', 'bin/sh'), program('/bin/grep'), program('/usr/bin/sort')];
  return (await Promise.all(programs)).flat();
}

const etc: readonly Entry[] = [
  { kind: 'folder', path: 'tmp', mode: 0o1777 },
  { kind: 'text', path: 'etc/passwd', mode: 0o644, text: 'corral:x:65532:65532:corral:/tmp:/sbin/nologin\n' },
];

async function payload(cacheDir: string, target: string): Promise<readonly Entry[]> {
  const { dir } = await buildPayload(cacheDir);
  return tree(dir, target);
}
