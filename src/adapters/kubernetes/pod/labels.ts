import { createHash } from 'node:crypto';
import type { V1ObjectMeta } from '@kubernetes/client-node';
import type { Template } from '#src/model/environment.ts';
import { sandboxId, type SandboxId, templateDigest, type TemplateDigest } from '#src/model/ids.ts';
import { type Owner, ownerOf, rolloutKey, type RolloutKey } from '#src/model/rollout.ts';

/*
 * What a pod says of itself, so that it can be found, judged and removed by the API server's own list alone. Labels are
 * for selecting and hold 63 characters of a narrow alphabet; annotations are for reading and hold what the ids really are.
 */

export const labelKeys = {
  /** Which fleet made it: what lists and watches select by. */
  fleet: 'corral.dev/fleet',
  /** The beginning of the template's digest. */
  template: 'corral.dev/template',
  /** What the network policies select by. */
  network: 'corral.dev/network',
  /** `true` once a rollout has it. */
  claimed: 'corral.dev/claimed',
  managedBy: 'app.kubernetes.io/managed-by',
  name: 'app.kubernetes.io/name',
} as const;

const annotationKeys = {
  sandbox: 'corral.dev/sandbox',
  /** The whole digest. */
  template: 'corral.dev/template-digest',
  /** `tenant/run/rollout/attempt/role`, each part percent-encoded. */
  owner: 'corral.dev/owner',
  /** When it may be removed, as people and `date` read it. */
  expires: 'corral.dev/expires',
} as const;

/** An autoscaler may move a sandbox that is nobody's and must wait for one that is somebody's. */
const scaleDown = {
  clusterAutoscaler: 'cluster-autoscaler.kubernetes.io/safe-to-evict',
  karpenter: 'karpenter.sh/do-not-disrupt',
} as const;

/** A label's value is at most this long; a digest's beginning tells templates apart as well as the whole. */
const templateLabelLength = 40;

type Metadata = Pick<V1ObjectMeta, 'annotations' | 'labels'>;

/** Of a pod at its creation, when nobody owns it. */
export function createdMarks(fleet: string, sandbox: SandboxId, template: Template) {
  return {
    labels: {
      [labelKeys.name]: 'sandbox',
      [labelKeys.managedBy]: 'corral',
      [labelKeys.fleet]: fleet,
      [labelKeys.template]: template.digest.slice(0, templateLabelLength),
      [labelKeys.network]: template.network,
    },
    annotations: {
      [annotationKeys.sandbox]: sandbox,
      [annotationKeys.template]: template.digest,
      // Without it a pod that no controller owns keeps its node from being scaled down.
      [scaleDown.clusterAutoscaler]: 'true',
    },
  };
}

/** Selects a fleet's sandboxes and nothing else of the namespace. */
export function fleetSelector(fleet: string): string {
  return `${labelKeys.managedBy}=corral,${labelKeys.fleet}=${fleet}`;
}

/**
 * The one patch of a pod's life, a JSON merge patch, after a rollout got it: whose it is, that autoscalers leave it
 * alone, and when the kubelet ends it if nobody else did. `podStartMs` is the pod's `status.startTime`, from which the
 * kubelet counts.
 */
export function ownerPatch(owner: Owner, expiresAtMs: number, podStartMs: number) {
  return {
    metadata: {
      labels: { [labelKeys.claimed]: 'true' },
      annotations: {
        [annotationKeys.owner]: rolloutKey(owner),
        [annotationKeys.expires]: new Date(expiresAtMs).toISOString(),
        [scaleDown.clusterAutoscaler]: 'false',
        [scaleDown.karpenter]: 'true',
      },
    },
    spec: { activeDeadlineSeconds: deadlineSeconds(expiresAtMs, podStartMs) },
  };
}

/** sandboxd ends itself at expiry and says so; the kubelet comes after it, for a sandboxd that cannot. */
const afterExpiryMs = 30_000;

/** The API server takes no larger number, and no rollout lasts 68 years. */
const longestSeconds = 2 ** 31 - 1;

function deadlineSeconds(expiresAtMs: number, podStartMs: number): number {
  const seconds = Math.ceil((expiresAtMs + afterExpiryMs - podStartMs) / 1000);
  return Math.min(Math.max(1, seconds), longestSeconds);
}

/** What a pod of ours says of itself; null where it is none: somebody else's pod with our label. */
export function readMarks({ annotations = {} }: Metadata): PodMarks | null {
  const sandbox = annotations[annotationKeys.sandbox];
  const template = annotations[annotationKeys.template];
  if (sandbox === undefined || template === undefined) return null;
  return {
    sandbox: sandboxId(sandbox),
    template: templateDigest(template),
    owner: readOwner(annotations[annotationKeys.owner]),
    expiresAtMs: readTime(annotations[annotationKeys.expires]),
  };
}

type PodMarks = {
  readonly sandbox: SandboxId;
  readonly template: TemplateDigest;
  readonly owner: Owner | null;
  readonly expiresAtMs: number | null;
};

/** Null where nobody owns it, or somebody wrote there who does not know how. */
function readOwner(text: string | undefined): Owner | null {
  if (text === undefined) return null;
  try {
    return ownerOf(text as RolloutKey);
  } catch {
    return null;
  }
}

function readTime(text: string | undefined): number | null {
  const timeMs = Date.parse(text ?? '');
  return Number.isNaN(timeMs) ? null : timeMs;
}

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
