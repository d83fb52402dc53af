import { run } from '#infra/cluster/machine/run.ts';

/**
 * Asks the cluster that KUBECONFIG names, ours or a user's own: tests that break no node need no more of it. Returns
 * kubectl's stdout; throws with its stderr.
 */
export const kubectl = (args: readonly string[], stdin = ''): Promise<string> =>
  run(['kubectl', ...args], { stdin });

/** Until then pods are refused. */
export async function untilPodsAreAccepted(namespace: string): Promise<void> {
  await kubectl(['wait', '--for=create', 'serviceaccount/default', '-n', namespace, '--timeout=30s']);
}
