import { Binding } from '#services/sandboxd/binding.ts';
import type { RawAnswer } from '#services/sandboxd/calls/answer.ts';
import { Journal } from '#services/sandboxd/calls/journal.ts';
import type { JournalEntry } from '#services/sandboxd/calls/journal-entry.ts';
import type { Artifact } from '#src/grading/artifacts.ts';
import { type Owner, rolloutKey } from '#src/model/rollout.ts';
import {
  type BindRequest,
  type CallAnswer,
  type CallRequest,
  type Ending,
  type GradeTurn,
  type Identity,
  protocolVersion,
} from '#src/protocol/sandboxd/wire.ts';
import type { Scheduler } from '../engine/scheduler.ts';
import { backendFailedExit } from '../environment.ts';
import type { Backend } from '../processes/backend.ts';
import type { Story } from '../engine/story.ts';
import { runOf } from './command.ts';
import type { Execution, Life, Truth } from './truth.ts';

/**
 * Simulated commands print one line, and a rollout has a dozen calls at most. So there is much less room than in sandboxd: for the latest
 * answers, which are fewer, for those of the product's own calls, and for one call that runs.
 */
export const lastKept = 3;
const printedBytes = 512;
const answerBytes = 1_100;
const limits = {
  bytes: (lastKept + 3) * answerBytes + 2 * printedBytes + 1_024,
  lastKept,
  waiting: 1_000,
  calls: 10_000,
};

export type DaemonWorld = {
  readonly scheduler: Scheduler;
  readonly truth: Truth;
  readonly story: Story;
  readonly backend: Pick<Backend, 'isDown'>;
  /** The sandbox has used up its memory: all its processes are gone. */
  readonly exhausted: (sandbox: string) => void;
  /** A grader begins in a sandbox of its own. */
  readonly graderBegins: (sandbox: string) => void;
};

/**
 * One life of a sandboxd: its production binding and journal over commands that only take time. It runs until it is
 * killed or expires, and then nothing of it is left.
 */
export class Daemon {
  readonly sandbox: string;
  readonly boot: string;
  journal: Journal;
  readonly files = new Map<string, string>();
  probed = false;
  protected readonly binding = new Binding();
  readonly #world: DaemonWorld;
  readonly #life: Life;
  readonly #ends = new Map<string, Promise<unknown>>();
  readonly #onEnd = new Set<() => void>();
  readonly #strikes = new Map<Execution, () => void>();
  #alive = true;

  constructor(world: DaemonWorld, sandbox: string, boot: string) {
    this.#world = world;
    this.sandbox = sandbox;
    this.boot = boot;
    this.#life = world.truth.born(sandbox, boot);
    this.journal = this.emptyJournal();
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Tells when this life is over; returns how to stop listening. */
  onEnd(tell: () => void): () => void {
    this.#onEnd.add(tell);
    return () => this.#onEnd.delete(tell);
  }

  end(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#world.truth.ended(this.#life, this.#world.scheduler.nowMs);
    for (const tell of this.#onEnd) tell();
  }

  /** The machine has no memory left, and its kernel kills what commands of this sandbox run. False: none did. */
  strike(): boolean {
    const running = [...this.#strikes].filter(([{ ending }]) => ending === null);
    for (const [, strike] of running) strike();
    return running.length > 0;
  }

  identity(): Identity {
    const { scheduler } = this.#world;
    return {
      sandbox: this.sandbox,
      boot: this.boot,
      protocol: protocolVersion,
      state: this.binding.state,
      isolation: 'two-user',
      owner: this.binding.owner,
      expiresInMs: this.binding.expiresInMs(scheduler.nowMs),
      label: this.binding.label,
      probed: this.probed,
      filesPut: this.files.size,
      keepsStdin: true,
      calls: this.journal.list(),
    };
  }

  bind(request: BindRequest): Identity {
    const { scheduler, truth } = this.#world;
    const isFirst = this.accept(request);
    truth.bound(this.#life, ownerText(request.owner));
    if (!isFirst) return this.identity();
    this.#world.story.tell(this.sandbox, `bound to ${ownerText(request.owner)}`);
    scheduler.after(request.expiresInMs, this.sandbox, 'expires', () => this.end());
    return this.identity();
  }

  /** Starts a call once or finds it; `settled` resolves when it is over. */
  receive(call: string, request: CallRequest): JournalEntry {
    return this.journal.receive(call, { ...request, keepBytes: printedBytes });
  }

  find(call: string): JournalEntry {
    return this.journal.find(call);
  }

  hasEvicted(call: string): boolean {
    return this.journal.stateOf(call) === 'evicted';
  }

  requireBound(asker: string | undefined): void {
    this.binding.requireBound(asker);
  }

  put(path: string, text: string): void {
    const { scheduler, truth } = this.#world;
    this.files.set(path, text);
    truth.uploads.push({ sandbox: this.sandbox, boot: this.boot, path, text, atMs: scheduler.nowMs });
  }

  /** Resolves when the call is over. */
  async over(entry: JournalEntry): Promise<void> {
    await this.#ends.get(entry.callId);
  }

  answerOf(entry: JournalEntry): CallAnswer | 'running' {
    return entry.decoded() ?? 'running';
  }

  protected emptyJournal(kept = lastKept): Journal {
    const { scheduler } = this.#world;
    return new Journal(
      { ...limits, lastKept: kept },
      (call, request, cancel) => this.#run(call, request, cancel),
      () => scheduler.nowMs,
    );
  }

  /** True for the first bind. Throws `bound_elsewhere`. */
  protected accept(request: BindRequest): boolean {
    return this.binding.bind(request, this.#world.scheduler.nowMs);
  }

  #run(call: string, request: CallRequest, cancel: AbortSignal): Promise<RawAnswer> {
    const { scheduler, truth } = this.#world;
    const run = runOf(request, this.sandbox);
    const startedMs = scheduler.nowMs;
    const owner = ownerText(this.binding.owner);
    const execution = {
      owner,
      call,
      sandbox: this.sandbox,
      boot: this.boot,
      tool: request.label ?? '',
      token: run.token,
      timeoutMs: request.timeoutMs,
      startedMs,
      ending: null as Ending | null,
      endedMs: null as number | null,
      broke: false,
      struck: false,
    };
    truth.started(execution);
    const rollout = request.action.kind === 'grade' ? request.action.rollout : undefined;
    if (rollout !== undefined)
      truth.told({ owner, sandbox: this.sandbox, boot: this.boot, rollout, atMs: startedMs });
    this.#world.story.tell(this.sandbox, `starts ${call}`);
    const ended = new Promise<RawAnswer>((resolve) => {
      const finish = (ending: Ending | 'exhausts') => {
        if (!this.#alive || execution.ending !== null) return;
        if (ending === 'exhausts') return this.#exhaust(execution);
        Object.assign(execution, { ending, endedMs: scheduler.nowMs });
        truth.changes += 1;
        const answer = rawAnswer(call, run.token, ending, scheduler.nowMs - startedMs);
        if (execution.struck)
          Object.assign(answer.evidence, { outOfMemoryKills: 1, memoryLackedBy: 'machine' });
        resolve(request.action.kind === 'grade' ? { ...answer, ...this.gradeOf(call, rollout) } : answer);
      };
      this.#strikes.set(execution, () => {
        execution.struck = true;
        finish(killed);
      });
      const reached = () => finish(this.#withBackend(execution.tool, run.ending));
      scheduler.after(run.lastsMs, this.sandbox, `ends ${call}`, reached);
      cancel.addEventListener('abort', () => finish({ kind: 'cancelled' }), { once: true });
    });
    this.#ends.set(call, ended);
    if (this.binding.owner?.role === 'grader') this.#world.graderBegins(this.sandbox);
    return ended;
  }

  /** A tool that needs a backend which is down reports that, if it comes to its own end. */
  #withBackend(tool: string, ending: Ending | 'exhausts'): Ending | 'exhausts' {
    const isHit = tool.startsWith('look') && this.#world.backend.isDown();
    if (!isHit || ending === 'exhausts' || ending.kind !== 'exited') return ending;
    return { kind: 'exited', exitCode: backendFailedExit };
  }

  protected gradeOf(
    _call: string,
    rollout: string | undefined,
  ): Partial<Pick<RawAnswer, 'grade' | 'ending'>> {
    return { grade: this.#grade(rollout) };
  }

  /**
   * The simulated grader's score is how many of the model's calls this very daemon has run, so that a score taken in
   * another sandbox than the calls' own shows. Where it works in a sandbox of its own it is told by what was taken out of
   * theirs, and has nothing to go by without that.
   */
  #grade(rollout: string | undefined): GradeTurn {
    const isElsewhere = this.binding.owner?.role === 'grader';
    const score = isElsewhere ? (this.files.get(callsFile) ?? null) : String(this.#callsOfModel());
    return { kind: 'ran', score, ...(rollout !== undefined && { toldRollout: true }) };
  }

  /** What a grader elsewhere is to see. From here on nothing else runs. */
  leftBehind(turn: number): readonly Artifact[] {
    this.journal.beginGrading();
    this.#world.story.tell(this.sandbox, `gives its artifacts to turn ${turn}`);
    return [
      { path: callsFile, executable: false, mtimeS: 0, bytes: Buffer.from(String(this.#callsOfModel())) },
    ];
  }

  /** A file that a judge is to see. */
  attached(path: string): readonly Artifact[] {
    return [{ path, executable: false, mtimeS: 0, bytes: Buffer.from('drawn') }];
  }

  /** Those that ran. Ids with a space are the product's own calls. */
  #callsOfModel(): number {
    const ran = this.journal.list().filter(({ callId }) => this.#ends.has(callId));
    return ran.filter(({ callId }) => !callId.includes(' ')).length;
  }

  /** Its calls never end: nobody is left who could tell. */
  #exhaust(execution: Execution): void {
    execution.broke = true;
    this.#world.truth.changes += 1;
    this.#world.story.tell(this.sandbox, `${execution.call} uses up its memory`);
    this.#world.exhausted(this.sandbox);
  }
}

/** Where the simulated policy leaves what it did. */
const callsFile = 'calls';

/** As a shell tells of what it waited for. */
const killed: Ending = { kind: 'exited', exitCode: 137 };

/** A sandbox's owner as the key of the rollout; empty when nobody's. */
export function ownerText(owner: { readonly rollout: string } | null): string {
  return owner === null ? '' : rolloutKey(owner as Owner);
}

function rawAnswer(callId: string, token: string, ending: Ending, durationMs: number): RawAnswer {
  const printed = Buffer.from(token);
  const nothing = { head: Buffer.alloc(0), tail: Buffer.alloc(0), totalBytes: 0 };
  const evidence = { durationMs, outOfMemoryKills: 0, escapedProcesses: 0, backgroundProcesses: 0 };
  return {
    callId,
    ending,
    stdout: { ...nothing, head: printed, totalBytes: printed.length },
    stderr: nothing,
    evidence,
  };
}
