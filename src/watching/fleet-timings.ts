import {
  changedTimings,
  type TimingChanges,
  timingDifferences,
  type TimingSettings,
} from '../model/timings.ts';
import type { ProcessWord } from '../ports/fleet/watch.ts';
import type { Log } from '../ports/log.ts';

const notCompared = 'the timings of this process are not compared with those of the fleet yet';

const releaseSkipped =
  'a gateway or controller of a release before the previous one runs, or ran in the last day: upgrade to the previous release first, ' +
  'and to this one a day later (docs/upgrade.md)';

/**
 * Whether this process has the timings of the fleet's running processes of its release. It is not ready until it has had them once, and
 * then stays ready: a process that starts with other timings takes no running one out of service.
 */
export class FleetTimings {
  readonly #own: TimingSettings;
  readonly #log: Pick<Log, 'error' | 'info'>;
  #reason: string | null = notCompared;

  constructor(own: TimingSettings, log: Pick<Log, 'error' | 'info'>) {
    this.#own = own;
    this.#log = log;
  }

  /** Why this process is not ready; null: it has agreed. */
  reason(): string | null {
    return this.#reason;
  }

  /** `others`: as `agree` of the fleet's watch returns it. */
  compared(others: TimingChanges | 'release_skipped' | null): void {
    const before = this.#reason;
    this.#reason = others === 'release_skipped' ? releaseSkipped : others && this.#explain(others);
    if (this.#reason === before) return;
    if (this.#reason !== null) this.#log.error('not in agreement with the fleet', { why: this.#reason });
    else if (before !== notCompared) this.#log.info('same timings as the fleet');
  }

  /** What this process reports of them. */
  word(): Pick<ProcessWord, 'timings' | 'replacedTimings' | 'agreed' | 'unready'> {
    const { timings, replacedTimings } = this.#own;
    return {
      timings: changedTimings(timings),
      ...(replacedTimings !== null && { replacedTimings }),
      ...(this.#reason === null ? { agreed: true } : { unready: this.#reason }),
    };
  }

  #explain(others: TimingChanges): string {
    const differences = timingDifferences(changedTimings(this.#own.timings), others).join('; ');
    return (
      `${differences}: set CORRAL_TIMINGS alike for every gateway and controller; to change the fleet's timings, ` +
      `add "replaces": ${JSON.stringify(others)} to it`
    );
  }
}
