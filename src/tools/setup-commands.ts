import { fillPlaceholders, itemFieldOf } from '../model/placeholder.ts';
import type { Environment } from '../model/environment.ts';
import type { Item } from '../model/grader.ts';
import type { ExecAction } from '../protocol/sandboxd/wire.ts';
import { exposedItem, itemVariables } from './exposed-item.ts';

/**
 * The environment's setup for one task, in order, ready to run as the policy's user. Throws `Failure('item_missing')`
 * when the row lacks an exposed field, also where no command names it.
 */
export function setupCommands(
  environment: Pick<Environment, 'name' | 'expose' | 'setup'>,
  item: Item | null,
): readonly ExecAction[] {
  const exposed = exposedItem(environment, item);
  const env = itemVariables(exposed);
  const valueOf = (name: string) => exposed[itemFieldOf(name) ?? ''] ?? '';
  return environment.setup.commands.map((argv) => ({
    kind: 'exec',
    argv: argv.map((element) => fillPlaceholders(element, valueOf)),
    env,
  }));
}
