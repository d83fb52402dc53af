import { blameOf } from '#src/failure/codes.ts';
import type { Environment } from '#src/model/environment.ts';
import { runId } from '#src/model/ids.ts';
import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { PartReason, RolloutEvent } from '#src/ports/event-log.ts';
import { CommandError } from '../command-error.ts';
import type { Connection } from '../gateway/connection.ts';
import type { Making } from '../stories/making.ts';
import { makingOfOne, type OfRun } from '../stories/one-tenant.ts';
import { anyTenant, type LogOptions, readLog } from '../stories/read-log.ts';
import { itemTextName, type StudiedCall, type StudiedRollout, type Subject } from './rollout.ts';

type Verdict = Extract<RolloutEvent, { kind: 'verdict' }>;
type Settled = Extract<RolloutEvent, { kind: 'call_settled' }>;

type Draft = {
  readonly id: string;
  readonly environment: string;
  readonly calls: Map<string, Settled>;
  readonly commands: Map<string, string>;
  verdict: Verdict | null;
  voided: boolean;
};

/** A hundred steps of 512; a draft of a hundred calls is some 50 KB. */
const mostRollouts = 50_000;

/** Rollouts of a run as the study reads them, made of events in whatever order they come, and however often. */
export class RunDrafts {
  readonly #drafts = new Map<string, Draft>();
  readonly #finished: Finished[] = [];

  add(event: RolloutEvent): boolean {
    const draft = this.#drafts.get(event.key) ?? draftOf(event);
    if (!this.#drafts.has(event.key)) {
      if (this.#drafts.size >= mostRollouts) return false;
      this.#drafts.set(event.key, draft);
    }
    if (event.kind === 'call_settled') draft.calls.set(event.summary.call, event);
    if (event.kind === 'lost_command') draft.commands.set(event.call, event.command);
    if (event.kind === 'rollout_voided') draft.voided = true;
    if (event.kind === 'verdict') draft.verdict = laterOf(draft.verdict, event);
    return true;
  }

  /** It has had its last event: its events are forgotten, and it does not count as one of too many. */
  finish(key: RolloutKey): void {
    const draft = this.#drafts.get(key);
    if (draft !== undefined) this.#finished.push(finished(draft));
    this.#drafts.delete(key);
  }

  get environments(): readonly string[] {
    return [...new Set(this.#all.map(({ environment }) => environment))].toSorted();
  }

  /** Without voided rollouts. */
  rolloutsOf(environment: string): readonly StudiedRollout[] {
    return this.#all
      .filter((one) => one.environment === environment && !one.voided)
      .map(({ rollout }) => rollout)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  voidedOf(environment: string): number {
    return this.#all.filter((one) => one.environment === environment && one.voided).length;
  }

  /** What each part of its grader gave, by rollout id. */
  get parts(): ReadonlyMap<string, readonly PartReason[]> {
    return new Map(this.#all.map(({ rollout }) => [rollout.id, rollout.parts]));
  }

  get #all(): readonly Finished[] {
    return [...this.#finished, ...[...this.#drafts.values()].map(finished)];
  }
}

type Finished = Pick<Draft, 'environment' | 'voided'> & { readonly rollout: StudiedRollout };

const finished = (draft: Draft): Finished => ({
  environment: draft.environment,
  voided: draft.voided,
  rollout: rolloutOf(draft),
});

/** The same verdict may be told with its why and without. */
function laterOf(one: Verdict | null, other: Verdict): Verdict {
  if (one === null || other.atMs > one.atMs) return other;
  return other.atMs === one.atMs ? { ...one, ...other } : one;
}

function draftOf({ key, environment }: RolloutEvent): Draft {
  const { rollout, attempt } = ownerOf(key);
  const id = attempt === 1 ? rollout : `${rollout} (attempt ${attempt})`;
  return { id, environment, calls: new Map(), commands: new Map(), verdict: null, voided: false };
}

function rolloutOf({ id, calls, commands, verdict }: Draft): StudiedRollout {
  const settled = [...calls.values()].toSorted((a, b) => a.summary.startedAtMs - b.summary.startedAtMs);
  const why = verdict?.why;
  return {
    id,
    item: why === undefined ? null : (why.itemId ?? itemTextName(why.item)),
    calls: settled.map((event) => callOf(event, commands.get(event.summary.call))),
    tookMs: tookMsOf(verdict),
    parts: why?.parts ?? [],
    writtenTokens: null,
    ended: endOf(verdict, settled),
  };
}

/** The log keeps how much a call printed, not what. */
function callOf({ summary, lastCommand }: Settled, sent: string | undefined): StudiedCall {
  const command = lastCommand === '' ? (sent ?? null) : lastCommand;
  return {
    tool: summary.tool,
    arguments: command,
    outputBytes: summary.outputBytes,
    outputTokens: null,
    tookMs: summary.durationMs === null ? null : summary.durationMs + summary.waitedMs,
  };
}

function tookMsOf(verdict: Verdict | null): number | null {
  if (verdict?.openedAtMs === undefined) return null;
  return Math.max(0, verdict.atMs - verdict.openedAtMs);
}

function endOf(verdict: Verdict | null, calls: readonly Settled[]): StudiedRollout['ended'] {
  if (verdict === null) return { kind: 'ungraded' };
  if (verdict.verdict.kind === 'discard') {
    const { code } = verdict.verdict;
    const failed = calls.find(({ summary }) => summary.outcome === 'infrastructure_failure');
    const at = failed?.summary.tool ?? 'the rollout';
    return { kind: 'lost', loss: { at, code, blame: blameOf(code) } };
  }
  return verdict.score === null ? { kind: 'ungraded' } : { kind: 'scored', score: verdict.score };
}

export type RunRead = { readonly subject: Subject; readonly missing: readonly string[] };

/** A run as it was recorded: in the file that is named, else as its fleet tells it. */
export async function readRun(options: LogOptions, ofRun: OfRun, environment: string): Promise<RunRead> {
  const { run } = ofRun;
  const wanted = anyTenant(runId(run), null);
  const read = await readLog(options, wanted, process.env, () => making(new RunDrafts(), ofRun));
  const { told: drafts, missing, hasWhy } = read;
  // What a gateway tells of all events at once is without why; of the verdicts alone it is with it.
  const more = hasWhy === true ? [] : await readWhys(options, ofRun, drafts);
  const rollouts = drafts.rolloutsOf(environment);
  if (rollouts.length === 0) throw notThere(run, environment, drafts);
  const told = [...missing, ...more].map(({ keeper, why }) => `${keeper}: ${why}`);
  const voided = drafts.voidedOf(environment);
  if (voided > 0)
    told.push(`the run: ${voided} voided ${voided === 1 ? 'rollout is' : 'rollouts are'} left out`);
  return { subject: { name: run, what: 'run', rollouts }, missing: [...new Set(told)] };
}

const making = (drafts: RunDrafts, ofRun: OfRun): Making<RunDrafts> =>
  makingOfOne(ofRun, {
    add: (event) => drafts.add(event),
    finish: (key) => drafts.finish(key),
    made: () => drafts,
    most: `${mostRollouts} rollouts`,
  });

async function readWhys(options: LogOptions, ofRun: OfRun, drafts: RunDrafts) {
  const wanted = { ...anyTenant(runId(ofRun.run), null), verdicts: true as const };
  return (await readLog(options, wanted, process.env, () => making(drafts, ofRun))).missing;
}

function notThere(run: string, environment: string, drafts: RunDrafts): CommandError {
  const there = drafts.environments;
  const said =
    drafts.voidedOf(environment) > 0
      ? `every rollout of ${environment} in the run ${run} is voided`
      : there.length === 0
        ? `nothing is logged of the run ${run}`
        : `the run ${run} has no rollout of ${environment}: it is of ${there.join(', ')}`;
  return new CommandError(said, 'yours', 'check the name, or give the log with --events; see “corral runs”');
}

/** The grader's parts of what was just played, where it has any: the addresses of a trainer tell the score alone. */
export async function withParts(
  subjects: readonly Subject[],
  played: {
    readonly connection: Connection;
    readonly run: string;
    readonly known: Environment | undefined;
    readonly traceIdOf: (id: string) => string;
  },
): Promise<readonly Subject[]> {
  const { known, connection, run, traceIdOf } = played;
  if (known !== undefined && !isComposed(known.grader.kind)) return subjects;
  const drafts = new RunDrafts();
  await readWhys({ ...connection, run }, { run, tenant: undefined }, drafts);
  const { parts } = drafts;
  return subjects.map((subject) => ({
    ...subject,
    rollouts: subject.rollouts.map((one) => ({ ...one, parts: parts.get(traceIdOf(one.id)) ?? [] })),
  }));
}

const isComposed = (kind: string): boolean => ['gate', 'weighted', 'penalty'].includes(kind);
