import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kubectl } from '../../../infra/cluster/api.ts';
import type { Cluster } from '../../../infra/cluster/api.ts';
import { run } from '../../../infra/cluster/machine/run.ts';
import { ownerPatch } from '../../../src/adapters/kubernetes/pod/labels.ts';
import { podFor } from '../../../src/adapters/kubernetes/pod/pod.ts';
import { loadCluster } from '../../../src/environments/load-cluster.ts';
import { fakeOwner } from '../../fakes/rollout-record.ts';
import { podRequest } from '../../fakes/pod-request.ts';
import { clusterOfTest } from '../../support/cluster.ts';
import { scriptOf } from '../../support/documented-commands.ts';

const repository = join(import.meta.dirname, '../../..');
const fleet = `page-${process.pid}`;
const sandboxes = `${fleet}-sandboxes`;

let cluster: Cluster;
let folder = '';
beforeAll(async () => {
  cluster = await clusterOfTest();
  folder = await mkdtemp(join(tmpdir(), 'corral-page-'));
  await writeFile(join(folder, 'cluster.yaml'), `{ namespace: ${sandboxes}, sandboxd: baked }`);
});
afterAll(() => rm(folder, { recursive: true }));

/** kubectl waits until both namespaces are gone, with all that is in them. */
const sectionMs = 100_000;

/** The commands of one section, as an operator pastes them. */
async function runSection(title: string): Promise<string> {
  const page = await readFile(join(repository, 'docs/operators.md'), 'utf8');
  const [, section = ''] = page.split(`\n## ${title}\n`);
  const script = scriptOf(section.split('\n## ')[0] ?? '', true);
  expect(script).not.toBe('');
  const path = [join(repository, 'bin'), cluster.programs, process.env['PATH'] ?? ''].join(':');
  const env = {
    ...process.env,
    PATH: path,
    KUBECONFIG: cluster.kubeconfig,
    FLEET: fleet,
    SANDBOXES: sandboxes,
  };
  return run(['sh', '-eu'], { cwd: folder, env, stdin: script, timeoutMs: sectionMs });
}

/** As a controller makes it and a rollout gets it; whether it runs is nobody's question here. */
async function createSandbox(): Promise<void> {
  const settings = { ...(await loadCluster(join(folder, 'cluster.yaml'))), fleet };
  const inNamespace = ['-n', sandboxes];
  await kubectl(cluster, ['wait', '--for=create', 'serviceaccount/default', ...inNamespace, '--timeout=30s']);
  const pod = podFor(podRequest(), settings);
  await kubectl(cluster, ['create', '-f', '-'], JSON.stringify(pod));
  const patch = JSON.stringify(ownerPatch(fakeOwner(), Date.parse('2027-01-01T00:00:00Z'), Date.now()));
  const name = pod.metadata?.name ?? '';
  await kubectl(cluster, ['patch', 'pod', name, ...inNamespace, '--type=merge', '-p', patch]);
}

test('the operators’ page creates a fleet’s objects, shows who has which pod, and removes all of it', async () => {
  expect(await runSection('What is created in it')).toContain(
    `networkpolicy.networking.k8s.io/${fleet}-sandboxes created`,
  );
  await createSandbox();

  const seen = await runSection('Looking inside');
  const { tenant, run: trainingRun, rollout } = fakeOwner();
  expect(seen).toMatch(
    new RegExp(`${podRequest().sandbox}.*${tenant}/${trainingRun}/${rollout}.*2027-01-01`),
  );

  expect(await runSection('Remove it without a trace')).toContain(`namespace "${sandboxes}" deleted`);
  const kinds = 'namespaces,clusterroles,clusterrolebindings,pods';
  expect(await kubectl(cluster, ['get', kinds, '-A', '-l', `corral.dev/fleet=${fleet}`, '-o', 'name'])).toBe(
    '',
  );
}, 240_000);
