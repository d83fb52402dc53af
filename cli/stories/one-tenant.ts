import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import { CommandError } from '../command-error.ts';
import type { Making } from './making.ts';

/** A run by its name, and whose: undefined if one tenant alone has a run of this name. */
export type OfRun = { readonly run: string; readonly tenant: string | undefined };

/** Whether a rollout is of this run. Throws at the second tenant that has a run of this name, unless one is named. */
export function ofOneTenant({ run, tenant }: OfRun): (key: RolloutKey) => boolean {
  let only = tenant;
  return (key) => {
    const owner = ownerOf(key);
    if (owner.run !== run || (tenant !== undefined && owner.tenant !== tenant)) return false;
    only ??= owner.tenant;
    if (owner.tenant !== only) throw severalTenants(run, [only, owner.tenant]);
    return true;
  };
}

/** As {@link ofOneTenant}, of events: those of other tenants are passed over. */
export function makingOfOne<Made>(ofRun: OfRun, making: Making<Made>): Making<Made> {
  const isOfRun = ofOneTenant(ofRun);
  return {
    ...making,
    add: (event: RolloutEvent, line?: string) => !isOfRun(event.key) || making.add(event, line),
  };
}

const severalTenants = (run: string, tenants: readonly string[]) =>
  new CommandError(
    `tenants ${tenants.join(' and ')} each have a run ${run}: one mean over both says nothing`,
    'yours',
    'name one with --tenant',
  );
