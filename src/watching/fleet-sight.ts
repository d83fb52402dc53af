import { type EnvironmentCatalog, isOpenTemplate } from '../model/environment.ts';
import { environmentName, type EnvironmentName, type TemplateDigest } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { FleetMemory } from '../ports/fleet/memory.ts';
import type { StateServer } from '../ports/fleet/server.ts';
import type { FleetReading, FleetWatch, HeardProcess, WatchedTemplate } from '../ports/fleet/watch.ts';
import { PacedReading, restAfter } from './paced-reading.ts';

/** Three words of which none came. */
const silentAfterMs = 6_000;

export const isSilent = ({ state, silentMs }: HeardProcess): boolean =>
  state !== 'left' && silentMs > silentAfterMs;

/** The fleet at one moment, with what its templates are called. */
export type FleetSight = FleetReading & {
  readonly environments: ReadonlyMap<TemplateDigest, EnvironmentName>;
  readonly memory: { readonly usedBytes: number; readonly limitBytes: number | null };
  readonly server: StateServer | null;
};

export type SightPorts = {
  readonly watch: Pick<FleetWatch, 'read'>;
  readonly memory: Pick<FleetMemory, 'usage'>;
  readonly server: () => Promise<StateServer | null>;
  readonly catalog: Pick<EnvironmentCatalog, 'all' | 'byVersion'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
};

/** The fleet for whoever asks, read no more often than Redis can bear. Errors as in `claims.ts`. */
export function watchFleet(ports: SightPorts): PacedReading<FleetSight> {
  return new PacedReading({
    clock: ports.clock,
    read: () => look(ports),
    restMs: ({ costMs, processes }) => restAfter(costMs, processes.filter(isGateway).length),
  });
}

const isGateway = (process: HeardProcess) =>
  process.kind === 'gateway' && process.state !== 'left' && !isSilent(process);

async function look({ watch, memory, server, catalog }: SightPorts): Promise<FleetSight> {
  const own = templatesOf(catalog);
  const [reading, usage, redis] = await Promise.all([watch.read([...own.keys()]), memory.usage(), server()]);
  const named = reading.templates.flatMap((template) => {
    const name = own.get(template.template) ?? nameOf(template, catalog);
    return name === undefined ? [] : [[template.template, name] as const];
  });
  return { ...reading, environments: new Map(named), memory: usage, server: redis };
}

/** Those of environments whose rows name their images are not known before a row comes. */
function templatesOf(catalog: SightPorts['catalog']): ReadonlyMap<TemplateDigest, EnvironmentName> {
  const named = new Map<TemplateDigest, EnvironmentName>();
  for (const { name, template, graderTemplate } of catalog.all()) {
    if (!isOpenTemplate(template)) named.set(template.digest, name);
    if (graderTemplate !== undefined) named.set(graderTemplate.digest, environmentName(`${name} (grader)`));
  }
  return named;
}

const nameOf = ({ environment, chosenFor }: WatchedTemplate, catalog: SightPorts['catalog']) =>
  environment ?? (chosenFor === null ? undefined : catalog.byVersion(chosenFor)?.name);
