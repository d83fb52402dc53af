// So that a program whose `lib` lacks `await using` still compiles with these types.
/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Corral: one sandbox for each rollout, and an infrastructure failure is never a zero.
 *
 *     await using rollout = new Rollout('shell', { item: row });
 *     const { stdout } = await rollout.exec('make test');
 *     const { score } = await rollout.grade({ output_text: stdout });
 */
export { Client, type ClientOptions, type PrewarmItem } from './client.ts';
export {
  CorralError,
  Discarded,
  type Failure,
  Lost,
  Misuse,
  Refused,
  RequirementsUnmet,
  Unavailable,
} from './errors.ts';
export type { Gap, Output } from './events.ts';
export type { CallResult, Grade, Limits, Opened, Outcome, Verdict } from './results.ts';
export {
  type CallOptions,
  type ExecOptions,
  type Refusal,
  Rollout,
  type RolloutOptions,
  type SetupOption,
  type StreamOptions,
} from './rollout.ts';
export { Running } from './streaming.ts';
export { formatToolTypes, type ToolArguments, type TrainingJob } from './tool-types.ts';
export { version } from './version.ts';
