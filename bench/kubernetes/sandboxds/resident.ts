import type { V1Pod } from '@kubernetes/client-node';

/** What a pod says of the sandboxd that would run in it. */
export type Resident = {
  readonly uid: string;
  /** Null while the pod has none. */
  readonly address: string | null;
  /** The container's variables: sandboxd's whole configuration. */
  readonly env: Readonly<Record<string, string>>;
};

/** Objects come from our own provider's pods, so their shape is known; null for one without a container. */
export function residentOf(object: unknown): Resident | null {
  const { metadata, spec, status } = object as V1Pod;
  const [container] = spec?.containers ?? [];
  if (metadata?.uid === undefined || container === undefined) return null;
  const entries = (container.env ?? []).map(({ name, value = '' }) => [name, value] as const);
  return { uid: metadata.uid, address: status?.podIP ?? null, env: Object.fromEntries(entries) };
}
