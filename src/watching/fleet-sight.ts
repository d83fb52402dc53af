import { type EnvironmentCatalog, isOpenTemplate } from '../model/environment.ts';
import { environmentName, type EnvironmentName, type TemplateDigest } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { FleetMemory, StateServer } from '../ports/fleet/server.ts';
import type { LaunchBoard, ShownLaunch } from '../ports/launch-queue.ts';
import type { FleetReading, FleetWatch, HeardProcess, WatchedTemplate } from '../ports/fleet/watch.ts';

/** Three words of which none came. */
const silentAfterMs = 6_000;

export const isSilent = ({ state, silentMs }: HeardProcess): boolean =>
  state !== 'left' && silentMs > silentAfterMs;

/** The fleet at one moment, with what its templates are called. */
export type FleetSight = FleetReading & {
  readonly environments: ReadonlyMap<TemplateDigest, EnvironmentName>;
  readonly memory: { readonly usedBytes: number; readonly limitBytes: number | null };
  readonly server: StateServer | null;
  /** The newest, each with how long it has been in its state. */
  readonly launches: readonly (ShownLaunch & { readonly agoMs: number })[];
};

type SightPorts = {
  readonly watch: Pick<FleetWatch, 'read'>;
  readonly memory: Pick<FleetMemory, 'usage'>;
  readonly server: () => Promise<StateServer | null>;
  readonly catalog: Pick<EnvironmentCatalog, 'all' | 'byVersion'>;
  readonly board: Pick<LaunchBoard, 'recent'>;
  readonly clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
};

/** As many as a screen has room for; each costs Redis one command more. */
const mostLaunches = 15;

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

async function look({ watch, memory, server, catalog, board, clock }: SightPorts): Promise<FleetSight> {
  const own = templatesOf(catalog);
  const [reading, usage, redis, recent] = await Promise.all([
    watch.read([...own.keys()]),
    memory.usage(),
    server(),
    board.recent(mostLaunches),
  ]);
  const nowMs = clock.nowMs();
  const launches = recent.map((one) => Object.assign(one, { agoMs: Math.max(0, nowMs - one.atMs) }));
  const named = reading.templates.flatMap((template) => {
    const name = own.get(template.template) ?? nameOf(template, catalog);
    return name === undefined ? [] : [[template.template, name] as const];
  });
  return { ...reading, environments: new Map(named), memory: usage, server: redis, launches };
}

/** Templates that rows and demands make are not known before a rollout comes. */
function templatesOf(catalog: SightPorts['catalog']): ReadonlyMap<TemplateDigest, EnvironmentName> {
  const named = new Map<TemplateDigest, EnvironmentName>();
  for (const { name, template, graderTemplate } of catalog.all()) {
    if (!isOpenTemplate(template)) named.set(template.digest, name);
    if (graderTemplate !== undefined && !isOpenTemplate(graderTemplate))
      named.set(graderTemplate.digest, ofGraders(name));
  }
  return named;
}

const ofGraders = (name: EnvironmentName) => environmentName(`${name} (grader)`);

function nameOf({ environment, chosenFor, isGraders }: WatchedTemplate, catalog: SightPorts['catalog']) {
  const name = environment ?? (chosenFor === null ? undefined : catalog.byVersion(chosenFor)?.name);
  return name !== undefined && isGraders ? ofGraders(name) : name;
}

/** What a person follows with his eyes. */
const leastRestMs = 1_000;

/** Watching takes at most this share of Redis' time, over all gateways that are asked. */
const shareOfRedis = 0.05;

/**
 * How long after a reading has begun the next may begin, in milliseconds. Each gateway reads for itself, so each has its part of
 * the share.
 */
export const restAfter = (costMs: number, gateways: number): number =>
  Math.max(leastRestMs, (costMs / shareOfRedis) * Math.max(1, gateways));

export type Paced<Reading> = {
  readonly reading: Reading;
  /** How old it is. */
  readonly ageMs: number;
  /** When a newer one can be had. */
  readonly nextInMs: number;
};

type PacedOptions<Reading> = {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly read: () => Promise<Reading>;
  readonly restMs: (reading: Reading) => number;
};

/**
 * However many ask, and however often: one reading at a time, and the next after the rest that it asks for. Until then
 * everybody gets the last one, with its age; or the error that it ended with, after which there is a rest as well.
 */
export class PacedReading<Reading> {
  readonly #options: PacedOptions<Reading>;
  #last: { readonly begunMs: number; readonly restMs: number; readonly get: () => Reading } | null = null;
  #underWay: Promise<void> | null = null;

  constructor(options: PacedOptions<Reading>) {
    this.#options = options;
  }

  /** Throws what reading threw. */
  async get(): Promise<Paced<Reading>> {
    const { clock } = this.#options;
    const isDue = this.#last === null || clock.monotonicMs() - this.#last.begunMs >= this.#last.restMs;
    if (isDue) await (this.#underWay ??= this.#read());
    if (this.#last === null) throw new Error('a reading ended without a result');
    const { begunMs, restMs, get } = this.#last;
    const ageMs = clock.monotonicMs() - begunMs;
    return { reading: get(), ageMs, nextInMs: Math.max(0, restMs - ageMs) };
  }

  async #read(): Promise<void> {
    const { clock, read, restMs } = this.#options;
    const begunMs = clock.monotonicMs();
    try {
      const reading = await read();
      this.#last = { begunMs, restMs: restMs(reading), get: () => reading };
    } catch (thrown) {
      // Nobody knows what it cost: at least, it is not asked more than half of the time.
      const tookMs = clock.monotonicMs() - begunMs;
      const rethrow = () => {
        throw thrown;
      };
      this.#last = { begunMs, restMs: Math.max(leastRestMs, 2 * tookMs), get: rethrow };
    } finally {
      this.#underWay = null;
    }
  }
}
