import { posix } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import { isReserved, longestSocketPath } from '../bwrap/places.ts';

/** Refuses, with `start_failed`, what can never start on this host; the sentence says what to change. */
export function checkRequest({ sandbox, template }: CreateRequest, socketPath: string): void {
  const { image, network, data, folders = [], placement } = template;
  if (image.kind === 'image') {
    refuse(
      `this machine's sandboxes cannot be made from the image ${image.reference}: use {host: true} or a rootfs folder, or run on a cluster`,
      { image: image.reference },
    );
  }
  if (network !== 'none') {
    refuse(`network "${network}" is not offered on this machine: only "none" is`, { network });
  }
  if (placement.runtimeClass !== null) {
    refuse(
      `runtime_class ${placement.runtimeClass} is a cluster's: this machine has bubblewrap, and an environment that relies on more must not start here`,
      { runtimeClass: placement.runtimeClass },
    );
  }
  const pulled = data.find((folder) => 'image' in folder);
  if (pulled !== undefined) {
    refuse(
      `this machine has no images, and the data at ${pulled.target} is one: give the environment image: host or rootfs:PATH, and its data a source or a build`,
      { image: pulled.image },
    );
  }
  const targets = [...data.map(({ target }) => target), ...folders];
  const hidden = targets.find((target) => isReserved(target) || posix.normalize(target) !== target);
  if (hidden !== undefined) {
    refuse(
      `nothing may be mounted at ${hidden}: it is no plain path, or every sandbox has its own things there`,
      { target: hidden },
    );
  }
  if (Buffer.byteLength(socketPath) > longestSocketPath) {
    refuse(
      `the socket of sandbox ${sandbox} would be at ${socketPath}, longer than the ${longestSocketPath} bytes the kernel takes: use a shorter CORRAL_NODE_STATE_DIR`,
      { socketPath },
    );
  }
}

function refuse(sentence: string, evidence: Readonly<Record<string, string>>): never {
  throw new Failure('start_failed', sentence, { evidence });
}
