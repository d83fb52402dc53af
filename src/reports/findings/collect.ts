import { blameOf } from '#src/failure/codes.ts';
import { isIdText } from '#src/model/ids.ts';
import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import type { FoundCall, FoundLoss, FoundRollout } from './runs.ts';

type Verdict = Extract<RolloutEvent, { kind: 'verdict' }>;
type LoggedCall = FoundCall & {
  readonly id: string;
  readonly startedAtMs: number;
  readonly tookMs: number | null;
  readonly outputBytes: number;
};

/** A rollout as events tell it, with what only people look at. */
export type LoggedRollout = Omit<FoundRollout, 'calls'> & {
  readonly key: RolloutKey;
  readonly environment: string;
  readonly version: string;
  readonly calls: readonly LoggedCall[];
};

type Draft = {
  readonly key: RolloutKey;
  environment: string;
  version: string;
  readonly calls: Map<string, LoggedCall>;
  /** Commands of calls that were lost with their sandbox. */
  readonly commands: Map<string, string>;
  verdict: Verdict | null;
  isVoided: boolean;
  /** What was made of it; null after another event. */
  made: readonly LoggedRollout[] | null;
};

/** Some 10 KB each. */
export const mostFoundRollouts = 20_000;

/** Makes rollouts for findings of events, in whatever order they come, and however often. */
export class FoundRollouts {
  readonly #drafts = new Map<RolloutKey, Draft>();
  readonly #most: number;
  readonly #finished: LoggedRollout[] = [];
  #voided = 0;
  #isWhole = true;

  constructor(most: number = mostFoundRollouts) {
    this.#most = most;
  }

  /** False after an event of a rollout that had no room. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  add(event: RolloutEvent): void {
    if (ownerOf(event.key).role !== 'policy') return;
    const draft = this.#drafts.get(event.key) ?? this.#begin(event.key);
    if (draft !== null) note(draft, event);
  }

  /** It has had its last event, and does not count as one of too many. */
  finish(key: RolloutKey): void {
    const draft = this.#drafts.get(key);
    if (draft !== undefined) this.#finished.push(...foundIn([draft]));
    if (draft?.isVoided === true) this.#voided += 1;
    this.#drafts.delete(key);
  }

  /** How many rollouts a caller voided. */
  get voided(): number {
    return (
      this.#voided +
      this.#drafts
        .values()
        .filter(({ isVoided }) => isVoided)
        .toArray().length
    );
  }

  /** Without rollouts that a caller voided. */
  get all(): readonly LoggedRollout[] {
    return [...this.#finished, ...foundIn([...this.#drafts.values()])];
  }

  #begin(key: RolloutKey): Draft | null {
    if (this.#drafts.size >= this.#most) {
      this.#isWhole = false;
      return null;
    }
    const draft = { ...emptyDraft, key, calls: new Map(), commands: new Map() };
    this.#drafts.set(key, draft);
    return draft;
  }
}

const emptyDraft = { environment: '', version: '', verdict: null, isVoided: false, made: null };

const foundIn = (drafts: readonly Draft[]): readonly LoggedRollout[] =>
  drafts.filter(({ isVoided }) => !isVoided).flatMap((draft) => (draft.made ??= rolloutOf(draft)));

function note(draft: Draft, event: RolloutEvent): void {
  draft.made = null;
  [draft.environment, draft.version] = [event.environment, event.version];
  if (event.kind === 'rollout_voided') draft.isVoided = true;
  if (event.kind === 'verdict') draft.verdict = fullerOf(draft.verdict, event);
  if (event.kind === 'lost_command') draft.commands.set(event.call, event.command);
  if (event.kind !== 'call_settled') return;
  const { call, tool, startedAtMs, durationMs: tookMs, outputBytes } = event.summary;
  // What a trainer runs is no habit of the policy.
  if (tool === 'exec' || !isIdText(call)) return;
  const asked = event.lastCommand === '' ? null : event.lastCommand;
  const { blame } = event;
  draft.calls.set(call, { id: call, tool, arguments: asked, blame, startedAtMs, tookMs, outputBytes });
}

/** The same verdict comes with its why and without. */
function fullerOf(one: Verdict | null, other: Verdict): Verdict {
  if (one === null || other.atMs > one.atMs) return other;
  return other.atMs === one.atMs ? { ...one, ...other } : one;
}

/** Returns nothing if no event dates the rollout. */
function rolloutOf({ calls, commands, verdict, ...draft }: Draft): readonly LoggedRollout[] {
  const { key, environment, version } = draft;
  const inOrder = [...calls.values()].toSorted((one, other) => one.startedAtMs - other.startedAtMs);
  const openedAtMs = verdict?.openedAtMs ?? inOrder[0]?.startedAtMs ?? verdict?.atMs;
  if (openedAtMs === undefined) return [];
  const { rollout, attempt } = ownerOf(key);
  return [
    {
      key,
      environment,
      version,
      id: attempt === 1 ? rollout : `${rollout} (attempt ${attempt})`,
      item: verdict?.why?.itemId ?? null,
      openedAtMs,
      endedAtMs: verdict?.atMs ?? null,
      score: verdict?.verdict.kind === 'scorable' ? verdict.score : null,
      loss: lossOf(verdict),
      calls: inOrder.map((call) => withCommand(call, commands.get(call.id))),
      parts: verdict?.why?.parts ?? [],
    },
  ];
}

const withCommand = (call: LoggedCall, lost: string | undefined): LoggedCall =>
  call.arguments !== null || lost === undefined ? call : { ...call, arguments: lost };

function lossOf(verdict: Verdict | null): FoundLoss | null {
  if (verdict?.verdict.kind !== 'discard') return null;
  const { code, cause = null } = verdict.verdict;
  const { node, last_right_at_ms: rightAtMs } = verdict.evidence;
  return {
    code,
    blame: blameOf(code),
    cause,
    suspected: verdict.suspected !== null,
    node: typeof node === 'string' ? node : null,
    ...(code === 'judge_suspect' && typeof rightAtMs === 'number' && { judgeRightAtMs: rightAtMs }),
  };
}
