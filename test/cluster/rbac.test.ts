import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppliedFleet, applyFleet } from '../support/applied-fleet.ts';
import { kubectl } from '../support/kubectl.ts';

let applied: AppliedFleet;
beforeAll(async () => {
  applied = await applyFleet(`rbac-${process.pid}`);
});
afterAll(() => applied[Symbol.asyncDispose]());

const askAs = async (account: 'controller' | 'gateway', args: readonly string[]) =>
  kubectl([`--kubeconfig=${await applied.kubeconfigAs(account)}`, ...args]);
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
