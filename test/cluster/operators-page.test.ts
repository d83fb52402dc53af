import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '#infra/cluster/machine/run.ts';
import { ownerPatch } from '#src/adapters/kubernetes/pod/labels.ts';
import { podFor } from '#src/adapters/kubernetes/pod/pod.ts';
import { loadCluster } from '#src/environments/load-cluster.ts';
import { podRequest } from '../fakes/pod-request.ts';
import { fakeOwner } from '../fakes/rollout-record.ts';
import { scriptOf } from '../support/documented-commands.ts';
import { kubectl, untilPodsAreAccepted } from '../support/kubectl.ts';

const repository = join(import.meta.dirname, '../..');
const fleet = `page-${process.pid}`;
const sandboxes = `${fleet}-sandboxes`;

let folder = '';
beforeAll(async () => {
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
  const path = [join(repository, 'bin'), process.env['PATH'] ?? ''].join(':');
  const env = {
    ...process.env,
    PATH: path,
    FLEET: fleet,
    SANDBOXES: sandboxes,
  };
  return run(['sh', '-eu'], { cwd: folder, env, stdin: script, timeoutMs: sectionMs });
}

/** As a controller makes it and a rollout gets it; whether it runs is nobody's question here. */
async function createSandbox(): Promise<void> {
  const settings = { ...(await loadCluster(join(folder, 'cluster.yaml'))), fleet };
  const inNamespace = ['-n', sandboxes];
  await untilPodsAreAccepted(sandboxes);
  const pod = podFor(podRequest(), settings);
  await kubectl(['create', '-f', '-'], JSON.stringify(pod));
  const patch = JSON.stringify(ownerPatch(fakeOwner(), Date.parse('2027-01-01T00:00:00Z'), Date.now()));
  const name = pod.metadata?.name ?? '';
  await kubectl(['patch', 'pod', name, ...inNamespace, '--type=merge', '-p', patch]);
}

test('the operators’ page creates a fleet’s objects, shows who has which pod, and removes all of it', async () => {
  expect(await runSection('Created objects')).toContain(
    `networkpolicy.networking.k8s.io/${fleet}-sandboxes created`,
  );
  await createSandbox();

  const seen = await runSection('Inspect sandboxes');
  const { tenant, run: trainingRun, rollout } = fakeOwner();
  expect(seen).toMatch(
    new RegExp(`${podRequest().sandbox}.*${tenant}/${trainingRun}/${rollout}.*2027-01-01`),
  );

  expect(await runSection('Remove all objects')).toContain(`namespace "${sandboxes}" deleted`);
  const kinds = 'namespaces,clusterroles,clusterrolebindings,roles,rolebindings,pods';
  expect(await kubectl(['get', kinds, '-A', '-l', `corral.dev/fleet=${fleet}`, '-o', 'name'])).toBe('');
}, 240_000);
