import { basename } from 'node:path';
import { dataDigestOf } from '#src/environments/digest.ts';
import { treeDigest } from '#src/environments/tree-digest.ts';
import { Failure } from '#src/failure/failure.ts';
import type { DataBuild, Template } from '#src/model/environment.ts';
import type { DataDigest } from '#src/model/ids.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import type { DataState } from '#src/protocol/node/parts.ts';
import { bytesBelow, type DataCache, type Found, UnfitData } from './cache.ts';
import { type BuildSite, buildUserOf, runBuild } from './run-build.ts';

/**
 * Data that environments' programs make: once on this machine, for all sandboxes.
 *
 *   building ── made ──▶ ready
 *      └──── failed ──▶ failed ── asked for again a minute later ──▶ building
 *
 * A sandbox is not accepted before its data is ready. Whoever asks meanwhile waits a little, and is then told how far
 * it is (`unschedulable`: ask again). A program that fails is its author's fault and stays so until he fixes it, which makes
 * another digest; it is tried again all the same, because a full disk looks like his fault too.
 */
export type BuiltData = {
  /** The template with folders of this machine in place of what is built. Throws `setup_failed` and `unschedulable`. */
  placed(template: Template): Promise<Template>;
  states(): readonly DataState[];
  /** Ends what is being built and forgets it. */
  stop(): Promise<void>;
};

export type BuiltDataOptions = {
  readonly cache: DataCache;
  readonly site: BuildSite;
  readonly clock: Clock;
  readonly log: Log;
};

type Entry = {
  readonly build: DataBuild;
  state: DataState['state'];
  readonly startedAtMs: number;
  endedAtMs: number | null;
  bytes: number;
  failure: Failure | null;
  folder: string;
  done: Promise<void>;
};

/** Within what a client of node waits for an answer, with room. */
const patienceMs = 5_000;
const againAfterMs = 60_000;
const progressEveryMs = 1_000;
const toldEveryMs = 5_000;
/** What fills a disk is no index; more than this wants a disk that an operator has thought about. */
const mostBytes = 16 * 1024 ** 3;
/** Of a log, in a sentence that trainers and operators read. */
const toldCharacters = 1_500;

const collectEveryMs = 3_600_000;
/** Long after the last sandbox that may have it: a life is a day at most, and a warm pool is renewed within hours. */
const unusedMs = 14 * 24 * 3_600_000;

export function createBuiltData({ cache, site, clock, log }: BuiltDataOptions): BuiltData {
  const entries = new Map<DataDigest, Entry>();
  const stopping = new AbortController();

  const begin = (build: DataBuild): Entry => {
    const started = clock.monotonicMs();
    const entry: Entry = {
      build,
      state: 'building',
      startedAtMs: started,
      endedAtMs: null,
      bytes: 0,
      failure: null,
      folder: '',
      done: Promise.resolve(),
    };
    entries.set(build.digest, entry);
    entry.done = obtain(entry)
      .then(
        ({ folder, bytes }) => void Object.assign(entry, { state: 'ready', folder, bytes }),
        (thrown: unknown) =>
          void Object.assign(entry, { state: 'failed', failure: failureOf(build, thrown) }),
      )
      .finally(() => (entry.endedAtMs = clock.monotonicMs()));
    return entry;
  };

  const obtain = async (entry: Entry): Promise<Found> => {
    const { digest } = entry.build;
    const found = await cache.find(digest);
    if (found !== null) return found;
    const unlock = await cache.lock(digest, stopping.signal);
    try {
      // Another process may have made it while this one waited.
      return (await cache.find(digest)) ?? (await make(entry));
    } finally {
      await unlock();
    }
  };

  const make = async (entry: Entry): Promise<Found> => {
    const { build } = entry;
    const said = { command: commandText(build), digest: build.digest };
    log.info('data is being built', said);
    checkInputs(build);
    const folder = await cache.begin(build.digest, buildUserOf(site));
    try {
      await buildIn(folder, entry);
      const seconds = secondsOf(entry);
      const found = await cache.publish(build.digest, seconds);
      log.info('data is built', { ...said, seconds, bytes: found.bytes });
      return found;
    } catch (thrown) {
      await cache.abandon(build.digest);
      throw thrown;
    }
  };

  const buildIn = async (folder: string, entry: Entry): Promise<void> => {
    const { build } = entry;
    const ended = new AbortController();
    const tooLarge = new AbortController();
    const watching = watch(entry, folder, tooLarge, ended.signal);
    const signal = AbortSignal.any([stopping.signal, tooLarge.signal]);
    const end = await runBuild(build, folder, site, signal).finally(() => ended.abort());
    await watching;
    if (end.kind === 'failed') throw new BuildFailed(end.why, end.lastWords);
    // What it has read must be what it is published as.
    checkInputs(build);
  };

  const watch = async (entry: Entry, folder: string, tooLarge: AbortController, ended: AbortSignal) => {
    let toldAtMs = clock.monotonicMs();
    while (!ended.aborted) {
      await clock.sleep(progressEveryMs, ended);
      entry.bytes = await bytesBelow(folder);
      if (entry.bytes > mostBytes) tooLarge.abort(`wrote more than ${mostBytes / 1024 ** 3} GiB`);
      if (ended.aborted || clock.monotonicMs() - toldAtMs < toldEveryMs) continue;
      toldAtMs = clock.monotonicMs();
      log.info('data is being built', {
        command: commandText(entry.build),
        seconds: secondsOf(entry),
        bytes: entry.bytes,
      });
    }
  };

  const secondsOf = ({ startedAtMs, endedAtMs }: Entry) =>
    Math.round(((endedAtMs ?? clock.monotonicMs()) - startedAtMs) / 100) / 10;

  const isOver = ({ state, endedAtMs }: Entry) =>
    state === 'failed' && clock.monotonicMs() - (endedAtMs ?? 0) > againAfterMs;

  const folderOf = async (build: DataBuild): Promise<string> => {
    const known = entries.get(build.digest);
    const entry = known === undefined || isOver(known) ? begin(build) : known;
    if (entry.state === 'building') {
      const answered = new AbortController();
      await Promise.race([entry.done, clock.sleep(patienceMs, answered.signal)]);
      answered.abort();
    }
    if (entry.failure !== null) throw entry.failure;
    if (entry.state === 'building') throw stillBuilding(build, secondsOf(entry), entry.bytes);
    void cache.touch(build.digest);
    return entry.folder;
  };

  const collecting = collect({ cache, clock, log, entries, signal: stopping.signal });

  return {
    placed: async (template) => {
      if (!template.data.some((folder) => 'build' in folder)) return template;
      const data = await Promise.all(
        template.data.map(async (folder) =>
          'build' in folder ? { source: await folderOf(folder.build), target: folder.target } : folder,
        ),
      );
      return { ...template, data };
    },
    states: () =>
      [...entries.values()].map((entry) => ({
        digest: entry.build.digest,
        argv: [...entry.build.argv],
        state: entry.state,
        seconds: secondsOf(entry),
        bytes: entry.bytes,
        message: entry.failure?.message ?? null,
      })),
    stop: async () => {
      stopping.abort('was stopped with this node');
      await Promise.all([...entries.values()].map(({ done }) => done));
      await collecting;
    },
  };
}

class BuildFailed extends Error {
  readonly lastWords: string;

  constructor(why: string, lastWords: string) {
    super(why);
    this.lastWords = lastWords;
  }
}

/** Inputs that changed since the environment was loaded make another digest, under which this result must not stand. */
function checkInputs({ argv, inputs, digest }: DataBuild): void {
  const digests = inputs.map((input) => {
    const tree = treeDigest(input);
    if ('trouble' in tree) throw new BuildFailed(`reads ${input}, ${tree.trouble}`, '');
    return { name: basename(input), digest: tree.digest };
  });
  if (dataDigestOf(argv, digests) === digest) return;
  throw new BuildFailed(
    'has inputs that have changed since the environment was loaded; it is loaded again within seconds',
    '',
  );
}

const commandText = ({ argv }: DataBuild): string => JSON.stringify(argv);

function failureOf(build: DataBuild, thrown: unknown): Failure {
  const isItsOwn = thrown instanceof BuildFailed || thrown instanceof UnfitData;
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  const lastWords = thrown instanceof BuildFailed ? thrown.lastWords.slice(-toldCharacters) : '';
  const said = lastWords === '' ? '' : ` Its last words: ${lastWords}`;
  const message = `the data of this environment could not be built: ${commandText(build)} ${why}.${said}`;
  // What is not the program's own end may be the machine's: ask again.
  return new Failure(isItsOwn ? 'setup_failed' : 'provider_unavailable', message, {
    evidence: { command: commandText(build), digest: build.digest },
    cause: thrown,
  });
}

const stillBuilding = (build: DataBuild, seconds: number, bytes: number) =>
  new Failure(
    'unschedulable',
    `the data of this environment is being built: ${commandText(build)}, ${seconds} s, ${bytes} bytes so far`,
    { retryAfterMs: 1_000 },
  );

type Collecting = Pick<BuiltDataOptions, 'cache' | 'clock' | 'log'> & {
  readonly entries: ReadonlyMap<DataDigest, Entry>;
  readonly signal: AbortSignal;
};

/** What this node has been asked for stays: sandboxes may have it mounted, and a removal would empty it under them. */
async function collect({ cache, clock, log, entries, signal }: Collecting): Promise<void> {
  while (!signal.aborted) {
    await Promise.all([...entries.keys()].map((digest) => cache.touch(digest)));
    try {
      const removed = await cache.collect(unusedMs, new Set(entries.keys()), clock.nowMs());
      if (removed > 0) log.info('old data removed', { count: removed });
    } catch (thrown) {
      log.error('old data could not be removed', { error: String(thrown) });
    }
    await clock.sleep(collectEveryMs, signal);
  }
}
