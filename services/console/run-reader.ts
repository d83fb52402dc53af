import { indexFileOf } from '#cli/stories/index-file.ts';
import { followRun } from '#cli/stories/follow-run.ts';
import { openEventIndex } from '#src/adapters/event-index/event-index.ts';
import { parseEvent } from '#src/adapters/event-log/event-lines.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { EventIndex } from '#src/ports/event-index.ts';
import type { Log } from '#src/ports/log.ts';
import type { RunAnswer } from '#src/protocol/console/run.ts';
import { errorFields } from '#src/platform/logging.ts';
import { type Digest, digestOf } from '#src/reports/digest/digest.ts';
import type { RunView } from '#src/reports/digest/view.ts';
import { FoundRollouts } from '#src/reports/findings/collect.ts';
import type { Missing } from '#src/reports/rollout-story.ts';
import type { Session } from './sessions.ts';

export type RunReaderDeps = {
  readonly gatewayUrl: string;
  readonly stateFolder: string;
  readonly clock: Clock;
  readonly log: Log;
};

/** Logs are read on at most so often. */
const followEveryMs = 2_000;
/** A digest may take a twentieth of this process' time. */
const digestRest = 20;
/** A first reading of a large run takes minutes; a page shows meanwhile what there is. */
const firstAnswerMs = 1_500;
/** Lines between two turns of the event loop. */
const linesAtOnce = 1_000;

/** One run as one key may read it: its index is read on, its rollouts are in memory, its digest is made again after changes. */
export class RunReader {
  readonly run: string;
  readonly #session: Session;
  readonly #deps: RunReaderDeps;
  readonly #index: EventIndex;
  readonly #found = new FoundRollouts();
  #mark = 0;
  #missing: readonly Missing[] = [];
  #following: Promise<void> | null = null;
  #followedAtMs = Number.NEGATIVE_INFINITY;
  #digested: {
    readonly digest: Digest;
    readonly view: RunView;
    readonly atMs: number;
    readonly costMs: number;
  };
  #rev = 0;
  #isChanged = false;
  usedAtMs: number;

  private constructor(session: Session, run: string, index: EventIndex, deps: RunReaderDeps) {
    this.run = run;
    this.#session = session;
    this.#deps = deps;
    this.#index = index;
    this.usedAtMs = deps.clock.monotonicMs();
    // What is made of nothing says nothing about the cost of a run.
    this.#digested = { ...this.#makeDigest(), costMs: 0 };
  }

  static async open(session: Session, run: string, deps: RunReaderDeps): Promise<RunReader> {
    const connection = { url: deps.gatewayUrl, key: session.key, run: null };
    const place = { state: deps.stateFolder, variables: {} };
    const index = await openEventIndex(indexFileOf(connection, run, place, deps.clock.nowMs()));
    return new RunReader(session, run, index, deps);
  }

  /** Reads on if it is time, and returns what there is. */
  async read(): Promise<RunAnswer> {
    await this.#readOn();
    this.#digestIfTime();
    return { ...this.#digested.digest, run: this.run, rev: this.#rev, reading: this.#following !== null };
  }

  /** What the last digest was made of. */
  async view(): Promise<{
    readonly view: RunView;
    readonly rev: number;
    readonly missing: readonly Missing[];
  }> {
    await this.#readOn();
    this.#digestIfTime();
    return { view: this.#digested.view, rev: this.#rev, missing: this.#missing };
  }

  /** As it was last counted. */
  get worstFinding(): string | null {
    return this.#digested.digest.findings[0]?.title ?? null;
  }

  linesOf(key: RolloutKey): readonly string[] {
    return this.#index.linesOf(key);
  }

  /** Resolves when nothing of it is under way any more. */
  async close(): Promise<void> {
    await this.#following;
    this.#index.close();
  }

  async #readOn(): Promise<void> {
    const { clock } = this.#deps;
    this.usedAtMs = clock.monotonicMs();
    if (clock.monotonicMs() - this.#followedAtMs < followEveryMs && this.#following === null) return;
    this.#following ??= this.#follow();
    await Promise.race([this.#following, clock.sleep(firstAnswerMs)]);
    await this.#take();
  }

  async #follow(): Promise<void> {
    try {
      const missing = await followRun(this.#session.gateway.client, this.run, this.#index);
      this.#noteMissing(missing ?? [tooOld]);
      await this.#take();
    } catch (thrown) {
      this.#deps.log.warn('run cannot be followed', { run: this.run, ...errorFields(thrown) });
      this.#noteMissing([{ ...tooOld, why: 'it does not answer' }]);
    } finally {
      this.#followedAtMs = this.#deps.clock.monotonicMs();
      this.#following = null;
    }
  }

  #noteMissing(missing: readonly Missing[]): void {
    this.#isChanged ||= JSON.stringify(missing) !== JSON.stringify(this.#missing);
    this.#missing = missing;
  }

  /** What the index has that is not in memory yet. */
  async #take(): Promise<void> {
    for (;;) {
      const lines = this.#index.after(this.#mark, linesAtOnce);
      for (const { mark, line } of lines) {
        this.#mark = mark;
        const event = parseEvent(line);
        if (event !== null) this.#found.add(event);
      }
      this.#isChanged ||= lines.length > 0;
      if (lines.length < linesAtOnce) return;
      await this.#deps.clock.sleep(0);
    }
  }

  #digestIfTime(): void {
    const { atMs, costMs } = this.#digested;
    if (!this.#isChanged || this.#deps.clock.monotonicMs() - atMs < costMs * digestRest) return;
    this.#isChanged = false;
    this.#rev += 1;
    this.#digested = this.#makeDigest();
  }

  #makeDigest() {
    const { clock } = this.#deps;
    const startedMs = clock.monotonicMs();
    const made = digestOf({
      rollouts: this.#found.all,
      voided: this.#found.voided,
      missing: [...this.#missing.map(({ keeper, why }) => ({ keeper, why })), ...leftOut(this.#found)],
    });
    const atMs = clock.monotonicMs();
    return { ...made, atMs, costMs: atMs - startedMs };
  }
}

const tooOld: Missing = {
  keeper: 'the gateway',
  heardAtMs: null,
  told: 'nothing',
  why: 'it does not list its logs',
};

const leftOut = ({ isWhole }: FoundRollouts) =>
  isWhole ? [] : [{ keeper: 'the console', why: 'the run has more rollouts than it shows' }];
