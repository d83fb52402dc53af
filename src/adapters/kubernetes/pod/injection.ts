import type { V1Container, V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import type { PodSettings } from '#src/model/cluster.ts';
import type { Template } from '#src/model/environment.ts';
import { formerPlaces, payloadLayout, payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import { containerSecurity, type Users } from './users.ts';
import { places } from './volumes.ts';

/** What a pod has so that the payload is at its mount point when sandboxd starts. */
export type Injected = {
  readonly payload: string;
  readonly volumes: readonly V1Volume[];
  readonly mounts: readonly V1VolumeMount[];
  readonly initContainers: readonly V1Container[];
  /** Where the kubelet mounts the file for the container's last words; null: at its usual path. */
  readonly lastWords: string | null;
};

const volumeName = 'corral';
const readOnlyMount: V1VolumeMount = { name: volumeName, mountPath: places.payload, readOnly: true };

export function injectSandboxd(
  { sandboxd, imagePullPolicy }: Pick<PodSettings, 'sandboxd' | 'imagePullPolicy'>,
  users: Users,
  { memory }: Pick<Template, 'memory'>,
): Injected {
  switch (sandboxd.kind) {
    case 'baked':
      return {
        payload: sandboxd.folder ?? formerPlaces.payload,
        volumes: [],
        mounts: [],
        initContainers: [],
        lastWords: null,
      };
    case 'image_volume': {
      const image = { reference: sandboxd.image, pullPolicy: imagePullPolicy };
      return {
        payload: places.payload,
        volumes: [{ name: volumeName, image }],
        mounts: [readOnlyMount],
        initContainers: [],
        lastWords: null,
      };
    }
    case 'init_container':
      return {
        payload: places.payload,
        volumes: [{ name: volumeName, emptyDir: {} }],
        mounts: [readOnlyMount],
        initContainers: [copier(sandboxd.image, imagePullPolicy, users, memory.limitBytes)],
        lastWords: `${closedFolder}/last-words`,
      };
  }
}

/** The payload image holds nothing but the payload, at its root: Node itself must copy. */
function copier(
  image: string,
  imagePullPolicy: string,
  users: Users,
  sandboxLimitBytes: number,
): V1Container {
  return {
    name: 'copy-sandboxd',
    image,
    imagePullPolicy,
    command: [...payloadNodeArgv(''), '--eval', copyScript],
    volumeMounts: [{ name: volumeName, mountPath: places.payload }],
    securityContext: containerSecurity(users),
    resources: copierResources(sandboxLimitBytes),
  };
}

/**
 * The kubelet makes a file for a container's last words, open to all: on the node's disk, and counted for no pod. Its mount point is
 * in a folder that no user may enter. The sandbox has no privilege to enter it nevertheless, and mounts the volume read-only, so
 * it cannot open it either, with any of its ids.
 */
const closedFolder = `${places.payload}/closed`;

/** What an image of another version has not, its sandboxd needs not. */
const copied = [payloadLayout.libraries, payloadLayout.node, payloadLayout.code];
const copyScript = `for (const name of ${JSON.stringify(copied)}) if (fs.existsSync('/' + name)) fs.cpSync('/' + name, '${places.payload}/' + name, { recursive: true })
if (!fs.existsSync('${closedFolder}')) { fs.mkdirSync('${closedFolder}'); fs.writeFileSync('${closedFolder}/last-words', ''); fs.chmodSync('${closedFolder}', 0) }`;

/** The copy of the payload counts as the pod's own: 130 MB, and some room. So does what it leaves in the page cache. */
export const copiedPayloadBytes = 192 * 1024 * 1024;

/**
 * It runs before the sandbox's own container, so that small requests cost nothing. A pod's limit of memory is the larger one
 * of its two containers, and the pages of the copy stay charged to the pod. With a limit above the sandbox's by those pages,
 * a sandbox always reaches its own limit first, and the kernel counts that as the sandbox's own.
 */
const copierResources = (sandboxLimitBytes: number) => ({
  requests: { cpu: '50m', memory: '64Mi' },
  limits: { cpu: '1', memory: String(sandboxLimitBytes + copiedPayloadBytes) },
});
