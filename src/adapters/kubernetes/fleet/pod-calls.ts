import type { V1Pod } from '@kubernetes/client-node';
import { Failure } from '#src/failure/failure.ts';
import type { SandboxId } from '#src/model/ids.ts';
import { type Answer, refusal } from '../api/answer.ts';
import type { Api, ApiCall } from '../api/calls.ts';
import { podName } from '../pod/labels.ts';

/** The calls that change or read one pod, by its sandbox. Throw `Failure`. */
export type PodCalls = {
  /** The pod as the server has it; `exists`: one of that name is there already. */
  create(sandbox: SandboxId, pod: V1Pod): Promise<unknown>;
  read(sandbox: SandboxId): Promise<unknown>;
  /** Merge patch; of that very pod, if `uid` is in it. */
  patch(sandbox: SandboxId, patch: object): Promise<void>;
  remove(sandbox: SandboxId, removal: Removal): Promise<void>;
};

export type Removal = {
  /** Of the pod that is meant: another one of its name stays. Null: whichever has the name. */
  readonly uid: string | null;
  /** Without waiting for its node, which may never answer. */
  readonly atOnce: boolean;
};

export const exists = Symbol('a pod of that name exists');

export function createPodCalls(api: Api, namespace: string): PodCalls {
  const collection = `/api/v1/namespaces/${namespace}/pods`;
  const ask = (verb: ApiCall['verb'], sandbox: SandboxId, body?: object) =>
    api.call({
      verb,
      resource: 'pods',
      path: `${collection}/${podName(sandbox)}`,
      ...(body === undefined ? {} : { body }),
    });

  return {
    create: async (sandbox, pod) => {
      const answer = await api.call({ verb: 'create', resource: 'pods', path: collection, body: pod });
      if (answer.status === 409 && nameTaken(answer)) return exists;
      return accepted(answer, `create the pod of sandbox ${sandbox}`);
    },
    read: async (sandbox) => {
      const answer = await ask('get', sandbox);
      return answer.status === 404 ? null : accepted(answer, `read the pod of sandbox ${sandbox}`);
    },
    patch: async (sandbox, patch) => {
      const answer = await ask('patch', sandbox, patch);
      if (!isGone(answer)) accepted(answer, `label the pod of sandbox ${sandbox}`);
    },
    remove: async (sandbox, removal) => {
      const answer = await ask('delete', sandbox, deleteOptions(removal));
      if (!isGone(answer)) accepted(answer, `delete the pod of sandbox ${sandbox}`);
    },
  };
}

function deleteOptions({ uid, atOnce }: Removal): object {
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    // Nothing else hangs on a pod of ours, so there is nothing to wait for.
    propagationPolicy: 'Background',
    ...(atOnce ? { gracePeriodSeconds: 0 } : {}),
    ...(uid === null ? {} : { preconditions: { uid } }),
  };
}

/** It is not there, or (409) another pod has its name, which is the same to who meant that one. */
const isGone = ({ status }: Answer) => status === 404 || status === 409;

// The API server also says 409 of a quota that somebody else counts at this moment: that is no pod of ours.
function nameTaken({ value }: Answer): boolean {
  return typeof value === 'object' && value !== null && 'reason' in value && value.reason === 'AlreadyExists';
}

function accepted(answer: Answer, what: string): unknown {
  if (answer.status < 300) return answer.value;
  if (answer.status !== 409) throw refusal(what, answer);
  throw new Failure('provider_unavailable', `the Kubernetes API was asked to ${what} too early: try again`, {
    retryAfterMs: 500,
    cause: refusal(what, answer),
  });
}
