import { createHash } from 'node:crypto';
import type { SandboxId } from '#src/model/ids.ts';

/** What a pod may be called, and at most as long as a host name. */
const plainName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The pod's name, from the sandbox's id alone: a create whose answer was lost finds the pod it made, and a removal
 * needs nothing but the id. Our own ids are such names already; another one is hashed.
 */
export function podName(sandbox: SandboxId): string {
  if (plainName.test(sandbox)) return sandbox;
  return `sandbox-${createHash('sha256').update(sandbox).digest('hex').slice(0, 40)}`;
}
