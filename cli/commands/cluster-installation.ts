import { type Command, Option } from 'commander';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { withApi } from '../installation/api.ts';
import { makeSecret, type SecretKind, secretKinds } from '../installation/secrets.ts';
import { sweep } from '../installation/sweep.ts';
import type { Terminal } from '../print/terminal.ts';

type PlaceOptions = { readonly fleet: string; readonly home: string };
type SecretsOptions = PlaceOptions & { readonly kind: readonly SecretKind[] };
type SweepOptions = PlaceOptions & { readonly sandboxes?: string; readonly kind: readonly SecretKind[] };

/** What jobs of the Helm chart do before an installation and after its end; who applies manifests may do the same by hand. */
export function addInstallationCommands(cluster: Command, terminal: Terminal): void {
  withPlace(cluster.command('secrets'))
    .description('make the Secrets of a fleet that are not there yet, and never change one')
    .addOption(kinds('which').default([...secretKinds]))
    .action((options: SecretsOptions) => makeSecrets(options, terminal));

  withPlace(cluster.command('sweep'))
    .description('remove what a fleet leaves behind once its own pods are gone')
    .option('--sandboxes <namespace>', 'where sandboxes are left (default: that namespace goes as a whole)')
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
