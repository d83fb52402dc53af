import {
  changedTimings,
  type TimingChanges,
  timingDifferences,
  type TimingSettings,
} from '../model/timings.ts';
import type { ProcessWord } from '../ports/fleet/watch.ts';
import type { Log } from '../ports/log.ts';

const notCompared = 'the timings of this process are not compared with those of the fleet yet';

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

  /** `others`: those of a running process that do not fit these; null: there is no such process, so fleet state has noted these. */
  compared(others: TimingChanges | null): void {
    const before = this.#reason;
    this.#reason = others === null ? null : this.#explain(others);
    if (this.#reason === before) return;
    if (this.#reason !== null) this.#log.error('other timings than the fleet', { why: this.#reason });
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
