import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import { type RunningFleet, startFleetOnCluster } from '#cli/fleet/start-fleet.ts';
import type { PreflightReport } from '#cli/preflight/report.ts';
import type { Cluster } from '#infra/cluster/api.ts';
import { importImages } from '#infra/cluster/images/import.ts';
import { apiPort, hubAddress } from '#infra/cluster/plan.ts';
import { buildImage } from '#infra/images/build.ts';
import { type AppliedFleet, applyFleet } from '#test/support/applied-fleet.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { runCorral } from '#test/support/command-line.ts';
import { apiCallsOf } from '#test/support/controller-metrics.ts';
import { fleetFolders } from '#test/support/fleet.ts';

const environment = (image: string) => `
name: shell
sandbox:
  image: ${image}
  cpu: { request: 10m, limit: "1" }
  memory: { request: 32Mi, limit: 128Mi }
  disk: 64Mi
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 2, max: 8 }
`;

/** Sandboxes have another address for the API server than we. */
const asPodsSeeIt = `https://${hubAddress}:${apiPort}`;

let cluster: Cluster;
let applied: AppliedFleet;
let fleet: RunningFleet;
let root = '';
beforeAll(async () => {
  cluster = await clusterOfTest();
  const { archive, name } = await buildImage('bare');
  await Promise.all(cluster.nodes.map((node) => importImages(cluster, node, [archive])));
  applied = await applyFleet(`pre-${process.pid}`);
  const folders = await fleetFolders({ shell: environment(name) });
  root = folders.root;
  fleet = await startFleetOnCluster(folders, {
    file: applied.clusterFile,
    kubeconfig: await applied.kubeconfigAs('controller', asPodsSeeIt),
  });
});
afterAll(async () => {
  await fleet.stop();
  await applied[Symbol.asyncDispose]();
  await rm(root, { recursive: true });
});

test('on a cluster that enforces no policy, preflight says that sandboxes are open and what they reach', async () => {
  const gateway = ['--url', fleet.gatewayUrl, '--key', fleet.apiKey, '--hold', '0'];
  const kubeconfig = ['--kubeconfig', await applied.kubeconfigAs('controller', asPodsSeeIt)];
  const { exitCode, printed } = await runCorral(['preflight', 'shell', '--json', ...kubeconfig, ...gateway]);
  const report = JSON.parse(printed) as PreflightReport;
  expect(report.checks.filter(({ ok }) => !ok).map(({ what }) => what)).toEqual(['egress']);
  expect(exitCode).toBe(exitCodes.notInOrder);
  expect(report.egress['shell']).toEqual({
    state: 'open',
    tried: [
      { what: 'the API server', address: '10.250.0.1:6443', seen: 'connected' },
      { what: 'another sandbox', address: expect.stringMatching(/:8911$/) as string, seen: 'connected' },
    ],
  });
});

test('the controller’s own role was enough for all of it', async () => {
  const calls = await apiCallsOf(fleet.controllerUrl);
  expect(calls.length).toBeGreaterThan(0);
  expect(calls.filter(({ code }) => code === '401' || code === '403')).toEqual([]);
});
