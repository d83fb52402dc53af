import { type Command, Option } from 'commander';
import { Value } from 'typebox/value';
import { stringify } from 'yaml';
import { manifests } from '#src/adapters/kubernetes/manifests/manifests.ts';
import { loadCluster } from '#src/environments/load-cluster.ts';
import { Name } from '#src/environments/schema/parts.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { CommandError } from '../command-error.ts';
import { withApi } from '../installation/api.ts';
import { makeSecret, type SecretKind, secretKinds } from '../installation/secrets.ts';
import { sweep } from '../installation/sweep.ts';
import type { Terminal } from '../print/terminal.ts';

type ManifestOptions = {
  readonly file: string;
  readonly fleet: string;
  readonly home: string;
  readonly json: boolean;
};

export function addClusterCommand(program: Command, terminal: Terminal): void {
  const cluster = program.command('cluster').description('what a fleet on Kubernetes needs from its cluster');
  cluster
    .command('manifests')
    .description('print what to create before the fleet starts, for "kubectl apply -f -"')
    .requiredOption('--file <file>', 'the operator’s file about the cluster')
    .requiredOption('--fleet <name>', 'name of the fleet, as in CORRAL_FLEET')
    .option('--home <namespace>', 'where the fleet’s own processes run', 'corral')
    .option('--json', 'print a List in JSON instead of YAML', false)
    .action((options: ManifestOptions) => printManifests(options, terminal));
  addInstallationCommands(cluster, terminal);
}

async function printManifests(
  { file, fleet, home, json }: ManifestOptions,
  terminal: Terminal,
): Promise<void> {
  for (const name of [fleet, home]) if (!isName(name)) throw badName(name);
  const cluster = await loadCluster(file);
  if (cluster.namespace === home) throw sharedNamespace(home);
  const objects = manifests({ ...cluster, fleet, home });
  terminal.result(json ? JSON.stringify(listOf(objects), null, 2) : yamlOf(objects));
}

const listOf = (items: readonly object[]) => ({ apiVersion: 'v1', kind: 'List', items });

const yamlOf = (objects: readonly object[]): string =>
  objects
    .map((object) => stringify(object, { singleQuote: true, aliasDuplicateObjects: false }))
    .join('---\n')
    .trimEnd();

const isName = (text: string): boolean => Value.Check(Name, text);

const badName = (text: string) =>
  notGood(`not a good name: ${text}`, 'give at most 63 lower-case letters, digits and dashes');

const sharedNamespace = (name: string) =>
  notGood(
    `the fleet’s processes and its sandboxes cannot share the namespace ${name}, which is closed to all but sandboxes`,
    'name another one with --home, or in the cluster file',
  );

const notGood = (said: string, next: string) => new CommandError(said, 'yours', next);

type PlaceOptions = { readonly fleet: string; readonly home: string };
type SecretsOptions = PlaceOptions & { readonly kind: readonly SecretKind[] };
type SweepOptions = PlaceOptions & { readonly sandboxes?: string; readonly kind: readonly SecretKind[] };

/** What jobs of the Helm chart do before an installation and after its end; who applies manifests may do the same by hand. */
function addInstallationCommands(cluster: Command, terminal: Terminal): void {
  withPlace(cluster.command('secrets'))
    .description('create the missing Secrets of a fleet; existing Secrets never change')
    .addOption(kinds('which').default([...secretKinds]))
    .action((options: SecretsOptions) => makeSecrets(options, terminal));

  withPlace(cluster.command('sweep'))
    .description('remove what a fleet leaves behind once its own pods are gone')
    .option(
      '--sandboxes <namespace>',
      'namespace to remove sandboxes from (default: that namespace is removed as a whole)',
    )
    .addOption(kinds('Secrets that go, too').default([]))
    .action(({ sandboxes, kind, ...place }: SweepOptions) =>
      withApi(async (api) => {
        const plan = { ...place, sandboxes: sandboxes ?? null, kinds: kind };
        for (const line of await sweep(api, plan, systemClock)) terminal.result(line);
      }),
    );
}

const withPlace = (command: Command): Command =>
  command
    .requiredOption('--fleet <name>', 'name of the fleet, as in CORRAL_FLEET')
    .option('--home <namespace>', 'where the fleet’s own processes run', 'corral');

const kinds = (description: string) => new Option('--kind <kind...>', description).choices(secretKinds);

async function makeSecrets({ kind, ...place }: SecretsOptions, terminal: Terminal): Promise<void> {
  await withApi(async (api) => {
    for (const one of kind) {
      const { name, state } = await makeSecret(api, place, one, systemRandom);
      terminal.result(`secret ${name} ${state}`);
    }
  });
}
