import type { Environment } from '../model/environment.ts';
import type { Clock } from '../ports/clock.ts';
import type { KeptText } from '../ports/fleet/calls.ts';
import type { KeepCallText } from '../ports/kept-rollouts.ts';
import type { Tracked } from './work.ts';

/** Where call texts go, and how secrets are removed from them before. */
export type CallTexts = {
  readonly keep: KeepCallText;
  readonly redact: (environment: Environment, text: string) => string;
};

type KeepDeps = { readonly texts?: CallTexts; readonly clock: Pick<Clock, 'nowMs'> };

/**
 * Keeps what a call asked for and returned when it settles, because a rollout that is discarded never reaches a grader. Set-up and
 * the trainer's own commands are kept as well: they explain what the policy found. `output` is null if its sandbox was lost.
 */
export function keepCallText(
  { texts, clock }: KeepDeps,
  { key, environment, call, tool, said }: Tracked,
  output: KeptText | null,
): void {
  if (texts === undefined || environment.keep !== 'all' || (said === null && output === null)) return;
  const clean = (kept: KeptText, measure: (text: string) => number): KeptText => {
    const text = texts.redact(environment, kept.text);
    return { text, whole: kept.whole - measure(kept.text) + measure(text) };
  };
  texts.keep({
    atMs: clock.nowMs(),
    key,
    environment: environment.name,
    version: environment.version,
    call,
    tool,
    arguments: said && clean(said, (text) => Buffer.byteLength(text)),
    output: output && clean(output, (text) => text.length),
  });
}
