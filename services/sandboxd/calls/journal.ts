import {
  type CallAnswer,
  type CallRequest,
  type Identity,
  mostUnsettled,
} from '#src/protocol/sandboxd/wire.ts';
import { WireError } from '../wire-error.ts';
import { answerBytes, cancelledAnswer, lateAnswer, type RawAnswer, reservedBytes } from './answer.ts';
import { JournalEntry } from './journal-entry.ts';
import type { LiveCall } from './live-call.ts';
import { StdinRoom } from './stdin-room.ts';

type JournalLimits = {
  /** Answers kept and room reserved for those to come. */
  readonly bytes: number;
  /** So many of the latest answers are never evicted. */
  readonly lastKept: number;
  /** Calls received that wait for room. */
  readonly waiting: number;
  /** Call ids in one life. */
  readonly calls: number;
};

/**
 * Runs a call. It never rejects: whatever goes wrong with a command is an ending. A mistake of our own in there ends this
 * process, and a lost sandbox is the honest answer to it. `live`: what follows it while it runs. `leftMs` returns how long it may
 * still wait for its turn. `late`: it waited for longer, so nothing ran.
 */
export type StartCall = (
  callId: string,
  request: CallRequest,
  cancel: AbortSignal,
  leftMs: () => number,
  live: LiveCall | null,
) => Promise<RawAnswer | 'late'>;

/**
 * Every call by its id, so that it runs at most once however often it is sent:
 *
 *   received   waits for room; nothing has run
 *   running    started once; repeats attach
 *   done       the answer is kept and every repeat gets the same one; fleet state has the call's outcome once it is `settled`
 *   evicted    it was settled, and made way for newer ones: only id and digest stay
 *
 *   received → running → done → evicted, and received → done when it is cancelled before it ran. What was not done
 *   when this life ended is never done. A call that waits until its rollout's time is over does not start: it is forgotten, and
 *   its gateway asks fleet state whether that time was extended. If it was not, the call is sent once more, as late, and
 *   received → done. So a queue, which a policy can make as long as it likes, adds no time to its rollout.
 *
 * Kept bytes are bounded. A running call has the most that it may keep reserved, so that the bound holds when it ends. An answer is
 * evicted only if room is needed and it is settled, the oldest first, and never one of the latest.
 */
export class Journal {
  readonly #entries = new Map<string, JournalEntry>();
  readonly #limits: JournalLimits;
  readonly #start: StartCall;
  readonly #nowMs: () => number;
  readonly #stdinRoom = new StdinRoom();
  /** Those whose answers are kept, in the order in which they ended. */
  #answered: JournalEntry[] = [];
  #usedBytes = 0;
  #graded = false;
  #abandoned = false;

  /** `nowMs`: of a clock that only goes forward. */
  constructor(limits: JournalLimits, start: StartCall, nowMs: () => number) {
    this.#limits = limits;
    this.#start = start;
    this.#nowMs = nowMs;
  }

  /** Takes a new call or finds a known one. Throws `call_conflict`, `answer_confirmed`, `graded`, `calls_used_up` or `journal_full`. */
  receive(callId: string, request: CallRequest): JournalEntry {
    const known = this.#entries.get(callId);
    const entry = known === undefined ? this.#add(callId, request) : matching(known, request.digest);
    this.#boundStart(entry, request.startWithinMs);
    this.#startWhatFits();
    return entry;
  }

  #add(callId: string, request: CallRequest): JournalEntry {
    if (request.action.kind === 'grade') this.beginGrading();
    else this.requireUngraded();
    this.#requireSpace();
    const entry = new JournalEntry(callId, request, this.#nowMs, this.#stdinRoom);
    this.#entries.set(callId, entry);
    return entry;
  }

  /** The latest request has fleet state's latest word. */
  #boundStart(entry: JournalEntry, startWithinMs: number | undefined): void {
    entry.startByMs = startWithinMs === undefined ? Infinity : this.#nowMs() + startWithinMs;
    if (startWithinMs === 0 && entry.state === 'received') this.#keep(entry, lateAnswer(entry.callId));
  }

  /** From now on no other kind of call is taken. */
  beginGrading(): void {
    this.#graded = true;
  }

  /** From the first grade on the policy's part is over: what it did then would be graded by the next turn. Throws `graded`. */
  requireUngraded(): void {
    if (this.#graded)
      throw new WireError('graded', 'the rollout is being graded: nothing else may run any more');
  }

  /** Null: it never came, or was forgotten before it started. */
  stateOf(callId: string): JournalEntry['state'] | null {
    return this.#entries.get(callId)?.state ?? null;
  }

  /** Throws `unknown_call` or `answer_confirmed`. */
  find(callId: string): JournalEntry {
    return kept(this.#known(callId));
  }

  /** A call that streams, also after its answer was evicted. Throws `unknown_call`, or `invalid_request` if it does not stream. */
  findStream(callId: string): JournalEntry & { readonly live: LiveCall } {
    const entry = this.#known(callId);
    if (entry.streams()) return entry;
    throw new WireError('invalid_request', `call ${callId} was not sent as a stream`);
  }

  /** Fleet state has the outcomes of these calls. A call that is not known or not done is passed over; again is fine. */
  settle(callIds: readonly string[]): void {
    for (const callId of callIds) this.#entries.get(callId)?.settle();
    this.#startWhatFits();
  }

  /**
   * The calls whose answers take up room and that no gateway has reported as settled, the oldest first. A gateway reports it with its next
   * request, and may never send one. Empty while there is enough room.
   */
  unsettled(): readonly string[] {
    if (this.#usedBytes < this.#limits.bytes / 2) return [];
    return this.#answered
      .filter((entry) => isCallers(entry) && isLeft(entry))
      .slice(0, mostUnsettled)
      .map(({ callId }) => callId);
  }

  /** Ends a call; one that is done stays as it is. Throws `unknown_call`. */
  cancel(callId: string): void {
    const entry = this.#known(callId);
    if (entry.state !== 'received') return entry.cancel();
    this.#keep(entry, cancelledAnswer(callId));
  }

  #keep(entry: JournalEntry, answer: RawAnswer): void {
    this.#usedBytes += answerBytes(answer);
    this.#answered.push(entry);
    entry.finish(answer);
  }

  /**
   * Ends what runs, starts nothing more, and tells nobody: this life is over before its calls are. They were not
   * cancelled, and whoever waits must find out that we are gone, by a connection that breaks.
   */
  abandon(): void {
    this.#abandoned = true;
    for (const entry of this.#entries.values()) entry.cancel();
  }

  list(): Identity['calls'] {
    return [...this.#entries.values()].map(({ callId, state, settled, digest, label }) => ({
      callId,
      state: settled || state === 'evicted' ? 'confirmed' : state,
      digest,
      label,
    }));
  }

  #known(callId: string): JournalEntry {
    const entry = this.#entries.get(callId);
    if (entry === undefined)
      throw new WireError('unknown_call', `no call ${callId} was received in this life`);
    return entry;
  }

  #requireSpace(): void {
    if (this.#entries.size >= this.#limits.calls)
      throw new WireError('calls_used_up', `${this.#entries.size} calls were received: no further is taken`);
    const waiting = this.#waiting().length;
    if (waiting < this.#limits.waiting) return;
    throw new WireError('journal_full', `${waiting} calls wait for room`);
  }

  #waiting(): readonly JournalEntry[] {
    return [...this.#entries.values()].filter((entry) => entry.state === 'received');
  }

  /** First come, first served: a large call at the head is not overtaken for ever by small ones. */
  #startWhatFits(): void {
    if (this.#abandoned) return;
    for (const entry of this.#timely()) {
      const neededBytes = reservedBytes(entry.request);
      this.#evictFor(neededBytes);
      if (this.#usedBytes + neededBytes > this.#limits.bytes) return;
      this.#usedBytes += neededBytes;
      void this.#run(entry, neededBytes);
    }
  }

  #evictFor(neededBytes: number): void {
    if (this.#usedBytes + neededBytes <= this.#limits.bytes) return;
    for (const entry of this.#evictable()) {
      if (this.#usedBytes + neededBytes <= this.#limits.bytes) break;
      if (entry.answer !== null) this.#usedBytes -= answerBytes(entry.answer);
      entry.evict();
    }
    this.#answered = this.#answered.filter(({ answer }) => answer !== null);
  }

  /** What ended before the latest answers of a caller; the second run of one of these ended after it. */
  #evictable(): readonly JournalEntry[] {
    const callers = this.#answered.filter(isCallers);
    const before = callers.length - this.#limits.lastKept;
    if (before < 0) return [];
    const firstKept = callers[before];
    const end = firstKept === undefined ? this.#answered.length : this.#answered.indexOf(firstKept);
    return this.#answered.slice(0, end).filter(({ settled }) => settled);
  }

  /** Those that wait and may still start. The others are forgotten, and need not wait for room to be told so. */
  #timely(): readonly JournalEntry[] {
    const waiting = this.#waiting();
    for (const entry of waiting) if (this.#isLate(entry)) this.#forget(entry);
    return waiting.filter((entry) => !this.#isLate(entry));
  }

  #isLate(entry: JournalEntry): boolean {
    return this.#leftMs(entry) <= 0;
  }

  #leftMs({ startByMs }: JournalEntry): number {
    return startByMs - this.#nowMs();
  }

  #forget(entry: JournalEntry): void {
    this.#entries.delete(entry.callId);
    entry.forget();
  }

  async #run(entry: JournalEntry, neededBytes: number): Promise<void> {
    const leftMs = () => this.#leftMs(entry);
    const answer = await this.#start(entry.callId, entry.request, entry.begin(), leftMs, entry.live);
    if (this.#abandoned) return;
    this.#usedBytes -= neededBytes;
    if (answer === 'late') {
      this.#forget(entry);
    } else {
      this.#keep(entry, answer);
    }
    this.#startWhatFits();
  }
}

function matching(entry: JournalEntry, digest: string): JournalEntry {
  if (entry.digest !== digest) {
    throw new WireError('call_conflict', `call ${entry.callId} was received with other arguments`);
  }
  return kept(entry);
}

/** A gateway settles an answer in less. */
const settledWithinMs = 5_000;

/** Our own calls, and the second runs of others, have ids with a space. */
const isCallers = ({ callId }: JournalEntry): boolean => !callId.includes(' ');

const isLeft = ({ settled, doneForMs }: JournalEntry): boolean =>
  !settled && (doneForMs ?? 0) >= settledWithinMs;

function kept(entry: JournalEntry): JournalEntry {
  if (entry.state !== 'evicted') return entry;
  throw new WireError(
    'answer_confirmed',
    `call ${entry.callId} is settled, and its answer made way for others`,
  );
}

/** Waits for an answer. `running` when `waitMs` passed, the asker went away, or the call was forgotten before it started. */
export async function awaitAnswer(
  entry: JournalEntry,
  waitMs: number,
  gone: AbortSignal,
): Promise<CallAnswer | 'running'> {
  if (entry.answer === null) await entry.finishedWithin(waitMs, gone);
  return entry.decoded() ?? 'running';
}
