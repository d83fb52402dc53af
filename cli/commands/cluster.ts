import type { Command } from 'commander';
import { Value } from 'typebox/value';
import { stringify } from 'yaml';
import { manifests } from '#src/adapters/kubernetes/manifests/manifests.ts';
import { loadCluster } from '#src/environments/load-cluster.ts';
import { Name } from '#src/environments/schema/parts.ts';
import { CommandError } from '../command-error.ts';
import type { Terminal } from '../print/terminal.ts';
import { addInstallationCommands } from './cluster-installation.ts';

type ManifestOptions = {
  readonly file: string;
  readonly fleet: string;
  readonly home: string;
  readonly json: boolean;
};

export function addClusterCommand(program: Command, terminal: Terminal): void {
  const cluster = program.command('cluster').description('what a fleet on Kubernetes needs of its cluster');
  cluster
    .command('manifests')
    .description('print what is to be created before the fleet starts, for "kubectl apply -f -"')
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
