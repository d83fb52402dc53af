import type { PodView } from '#src/adapters/kubernetes/fleet/pod-view.ts';
import { sandboxId, templateDigest } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';

/** A sandbox's pod that runs on node-1; `changes` override. */
export function fakePodView(changes: Partial<PodView> = {}): PodView {
  return {
    sandbox: sandboxId('sandbox-1'),
    template: templateDigest('template-a'),
    phase: 'running',
    address: sandboxAddress('http://10.0.0.7:8911'),
    createdAtMs: 0,
    owner: null,
    expiresAtMs: null,
    uid: 'uid-1',
    node: 'node-1',
    tolerations: [],
    startedAtMs: 0,
    trouble: null,
    marked: null,
    killedForMemoryAtMs: null,
    memoryPromised: true,
    ending: { cause: 'deleted', evidence: { podUid: 'uid-1' } },
    ...changes,
  };
}

export const startingView = (changes: Partial<PodView> = {}): PodView =>
  fakePodView({ phase: 'starting', address: null, ...changes });
