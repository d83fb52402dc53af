import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Cluster } from '#infra/cluster/api.ts';
import type { CallMeasure } from '#src/adapters/kubernetes/api/calls.ts';
import { controllerGrants } from '#src/adapters/kubernetes/manifests/manifests.ts';
import { describeSandboxProvider } from '#test/contract/sandbox-provider.ts';
import { type AppliedFleet, applyFleet } from '#test/support/applied-fleet.ts';
import { joinClusterProvider, killSandboxd } from '#test/support/cluster-provider.ts';
import { clusterOfTest } from '#test/support/cluster.ts';

let cluster: Cluster;
let applied: AppliedFleet;
let calls: readonly CallMeasure[] = [];
beforeAll(async () => {
  cluster = await clusterOfTest();
  applied = await applyFleet(`role-${process.pid}`);
});
afterAll(() => applied[Symbol.asyncDispose]());

describeSandboxProvider("pods of a real cluster, with the controller's own role", async () => {
  const kubeconfig = await applied.kubeconfigAs('controller');
  const joined = await joinClusterProvider(cluster, kubeconfig, applied);
  calls = joined.measures;
  return { ...joined, killFromOutside: killSandboxd };
});

test('the provider was refused nothing, and used everything that its role grants', () => {
  expect(calls.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
  const used = new Set(calls.map(({ verb, resource }) => `${verb} ${resource}`));
  // Of events it may only list, here as in `default`, where an end for memory sends it.
  const granted = Object.entries({ ...controllerGrants.inNamespace, ...controllerGrants.inCluster });
  const all = granted.flatMap(([resource, verbs]) => verbs.map((verb) => `${verb} ${resource}`));
  expect([...used].toSorted()).toEqual(all.toSorted());
});
