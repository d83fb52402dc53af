import type { V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import { bakedData, type ImageFolder, type Template } from '#src/model/environment.ts';
import type { PodSettings } from '#src/model/cluster.ts';
import { graderMountPoint, payloadMountPoint } from '#src/protocol/sandboxd/payload-layout.ts';

/** Where things are inside; environments rely on the first two. The image's own content there is hidden. */
export const places = {
  workspace: '/workspace',
  temporary: '/tmp',
  payload: payloadMountPoint,
  /** Graders' own disk; sandboxd closes it to the policy before the first command. */
  grader: graderMountPoint,
} as const;

/**
 * Disk that is gone with the pod. Each may be filled up to the template's whole disk, and both together with what the
 * image's own folders take are held to it by the container's limit.
 */
export function writableVolumes({ diskBytes, folders = [], shmBytes }: Template): readonly V1Volume[] {
  const sizeLimit = String(diskBytes);
  return [
    { name: 'workspace', emptyDir: { sizeLimit } },
    { name: 'tmp', emptyDir: { sizeLimit } },
    { name: 'grader', emptyDir: { sizeLimit } },
    ...folders.map((_, index) => ({ name: folderName(index), emptyDir: { sizeLimit } })),
    ...sharedMemory(shmBytes, (bytes) => ({
      name: 'shm',
      emptyDir: { medium: 'Memory', sizeLimit: String(bytes) },
    })),
  ];
}

/** A container has 64 MiB of it anyway. More is a volume, which counts within the container's memory. */
const sharedMemory = <Part>(shmBytes: number | undefined, partOf: (bytes: number) => Part): readonly Part[] =>
  shmBytes === undefined ? [] : [partOf(shmBytes)];

export function writableMounts({ folders = [], shmBytes }: Template): readonly V1VolumeMount[] {
  return [
    { name: 'workspace', mountPath: places.workspace },
    { name: 'tmp', mountPath: places.temporary },
    { name: 'grader', mountPath: places.grader },
    ...folders.map((mountPath, index) => ({ name: folderName(index), mountPath })),
    ...sharedMemory(shmBytes, () => ({ name: 'shm', mountPath: '/dev/shm' })),
  ];
}

/**
 * Data is an image's, which the kubelet pulls once for a node and mounts for every pod: the same layers, read-only, in the
 * node's page cache once. What is baked is a layer of the sandbox's own image and there already.
 */
export const dataVolumes = (
  { data }: Template,
  { imagePullPolicy }: Pick<PodSettings, 'imagePullPolicy'>,
): readonly V1Volume[] =>
  pulled(data).map(({ image }, index) => ({
    name: dataName(index),
    image: { reference: image, pullPolicy: imagePullPolicy },
  }));

export const dataMounts = ({ data }: Template): readonly V1VolumeMount[] =>
  pulled(data).map(({ target }, index) => ({ name: dataName(index), mountPath: target, readOnly: true }));

const pulled = (data: Template['data']): readonly ImageFolder[] =>
  data.filter((folder) => 'image' in folder).filter(({ image }) => image !== bakedData);

const dataName = (index: number) => `data-${index}`;
const folderName = (index: number) => `folder-${index}`;
