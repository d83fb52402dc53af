import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { kubectl } from '../../../infra/cluster/api.ts';
import type { Cluster } from '../../../infra/cluster/api.ts';
import type { CallMeasure } from '../../../src/adapters/kubernetes/api/calls.ts';
import { controllerGrants } from '../../../src/adapters/kubernetes/manifests/access.ts';
import { describeSandboxProvider } from '../../contract/sandbox-provider.ts';
import { applyFleet } from '../../support/applied-fleet.ts';
import type { AppliedFleet } from '../../support/applied-fleet.ts';
import { clusterOfTest } from '../../support/cluster.ts';
import { joinClusterProvider, killSandboxd } from '../../support/cluster-provider.ts';

let cluster: Cluster;
let applied: AppliedFleet;
let calls: readonly CallMeasure[] = [];
beforeAll(async () => {
  cluster = await clusterOfTest();
  applied = await applyFleet(cluster, `rbac-${process.pid}`);
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
  const granted = Object.entries({ ...controllerGrants.inNamespace, ...controllerGrants.inCluster });
  const all = granted.flatMap(([resource, verbs]) => verbs.map((verb) => `${verb} ${resource}`));
  expect([...used].toSorted()).toEqual(all.toSorted());
});

const askAs = async (account: 'controller' | 'gateway', args: readonly string[]) =>
  kubectl(cluster, [`--kubeconfig=${await applied.kubeconfigAs(account)}`, ...args]);
const sandboxes = () => ['-n', applied.namespace];
const home = () => ['-n', applied.home];

describe('the API server refuses', () => {
  it.each<[string, readonly string[], () => readonly string[]]>([
    ["the sandboxes' secrets", ['get', 'secrets'], sandboxes],
    ["its own namespace's secrets", ['get', 'secrets'], home],
    ["its own namespace's pods", ['get', 'pods'], home],
    ['pods of all namespaces', ['get', 'pods', '-A'], () => []],
    ['a command inside a sandbox', ['create', '--raw', '/api/v1/namespaces/x/pods/p/exec', '-f', '-'], home],
    ['a change of a node', ['label', 'nodes', '--all', 'mine=1'], () => []],
    ['a right for itself', ['create', 'rolebinding', 'more', '--clusterrole=admin', '--user=me'], sandboxes],
  ])('a controller %s', async (_what, args, where) => {
    await expect(askAs('controller', [...args, ...where()])).rejects.toThrow(/forbidden/i);
  });

  it.each<[string, readonly string[]]>([
    ["the sandboxes' pods", ['get', 'pods']],
    ["the sandboxes' secrets", ['get', 'secrets']],
    ['the nodes', ['get', 'nodes']],
  ])('a gateway %s', async (_what, args) => {
    await expect(askAs('gateway', [...args, ...sandboxes()])).rejects.toThrow(/Forbidden/);
  });
});
