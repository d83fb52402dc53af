import type { CallAnswer, CallRequest, Identity } from '#src/protocol/sandboxd/wire.ts';
import { WireError } from '../wire-error.ts';
import {
  answerBytes,
  cancelledAnswer,
  decodeAnswer,
  lateAnswer,
  type RawAnswer,
  reservedBytes,
} from './answer.ts';
import { LiveCall } from './live-call.ts';
import { StdinRoom } from './stdin-room.ts';

type JournalLimits = {
  /** Answers kept and room reserved for those to come. */
  readonly bytes: number;
  /** Calls received that wait for room. */
  readonly waiting: number;
  /** Call ids in one life, confirmed ones included. */
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
 *   done       the answer is kept and every repeat gets the same one
 *   confirmed  somebody else has stored it: only id and digest stay
 *
 *   received → running → done → confirmed, and received → done when it is cancelled before it ran. What was not done
 *   when this life ended is never done. A call that waits until its rollout's time is over does not start: it is forgotten, and
 *   its gateway asks fleet state whether that time was extended. If it was not, the call is sent once more, as late, and
 *   received → done. So a queue, which a policy can make as long as it likes, adds no time to its rollout.
 *
 * Kept bytes are bounded. A running call has the most that it may keep reserved, so that the bound holds when it ends.
 */
export class Journal {
  readonly #entries = new Map<string, JournalEntry>();
  readonly #limits: JournalLimits;
  readonly #start: StartCall;
  readonly #nowMs: () => number;
  readonly #stdinRoom = new StdinRoom();
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
    if (startWithinMs === 0 && entry.state === 'received')
      this.#endUnstarted(entry, lateAnswer(entry.callId));
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

  /** Throws `unknown_call` or `answer_confirmed`. */
  find(callId: string): JournalEntry {
    return unconfirmed(this.#known(callId));
  }

  /** A call that streams, also after its answer was confirmed. Throws `unknown_call`, or `invalid_request` if it does not stream. */
  findStream(callId: string): JournalEntry & { readonly live: LiveCall } {
    const entry = this.#known(callId);
    if (entry.streams()) return entry;
    throw new WireError('invalid_request', `call ${callId} was not sent as a stream`);
  }

  /** Throws `unknown_call`, or `invalid_request` while one of them runs, and then has done nothing. Again is fine. */
  confirm(callIds: readonly string[]): void {
    const entries = callIds.map((callId) => requireOver(this.#known(callId)));
    for (const entry of entries) {
      if (entry.answer !== null) this.#usedBytes -= answerBytes(entry.answer);
      entry.confirm();
    }
    this.#startWhatFits();
  }

  /** Ends a call; one that is done stays as it is. Throws `unknown_call`. */
  cancel(callId: string): void {
    const entry = this.#known(callId);
    if (entry.state !== 'received') return entry.cancel();
    this.#endUnstarted(entry, cancelledAnswer(callId));
  }

  #endUnstarted(entry: JournalEntry, answer: RawAnswer): void {
    this.#usedBytes += answerBytes(answer);
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
    return [...this.#entries.values()].map(({ callId, state, digest, label }) => ({
      callId,
      state,
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
    throw new WireError('journal_full', `${waiting} calls wait for room; confirm answers that are stored`);
  }

  #waiting(): readonly JournalEntry[] {
    return [...this.#entries.values()].filter((entry) => entry.state === 'received');
  }

  /** First come, first served: a large call at the head is not overtaken for ever by small ones. */
  #startWhatFits(): void {
    if (this.#abandoned) return;
    for (const entry of this.#timely()) {
      const neededBytes = reservedBytes(entry.request);
      if (this.#usedBytes + neededBytes > this.#limits.bytes) return;
      this.#usedBytes += neededBytes;
      void this.#run(entry, neededBytes);
    }
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
      this.#usedBytes += answerBytes(answer);
      entry.finish(answer);
    }
    this.#startWhatFits();
  }
}

function matching(entry: JournalEntry, digest: string): JournalEntry {
  if (entry.digest !== digest) {
    throw new WireError('call_conflict', `call ${entry.callId} was received with other arguments`);
  }
  return unconfirmed(entry);
}

function requireOver(entry: JournalEntry): JournalEntry {
  if (entry.state === 'done' || entry.state === 'confirmed') return entry;
  throw new WireError('invalid_request', `call ${entry.callId} is not done: nothing to confirm`);
}

function unconfirmed(entry: JournalEntry): JournalEntry {
  if (entry.state !== 'confirmed') return entry;
  throw new WireError(
    'answer_confirmed',
    `call ${entry.callId} is done and its answer was confirmed as stored`,
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

type State =
  | { readonly kind: 'received'; readonly request: CallRequest }
  | { readonly kind: 'running'; readonly request: CallRequest; readonly stop: AbortController }
  | { readonly kind: 'done'; readonly answer: RawAnswer; readonly endedAtMs: number }
  | { readonly kind: 'confirmed' };

/** One call in the journal; its states are told above. A request is forgotten when its call is done. */
export class JournalEntry {
  readonly callId: string;
  readonly digest: string;
  readonly label: string;
  /** On the journal's clock; a call that has not started by then does not start. */
  startByMs = Infinity;
  /** Null if it does not stream. */
  readonly live: LiveCall | null;
  readonly #finished = new EventTarget();
  readonly #nowMs: () => number;
  #state: State;

  constructor(callId: string, request: CallRequest, nowMs: () => number, stdinRoom: StdinRoom) {
    this.#nowMs = nowMs;
    this.callId = callId;
    this.digest = request.digest;
    this.label = request.label ?? '';
    this.live = request.stream === true ? new LiveCall(request.action, stdinRoom) : null;
    this.#state = { kind: 'received', request };
  }

  streams(): this is JournalEntry & { readonly live: LiveCall } {
    return this.live !== null;
  }

  get state(): State['kind'] {
    return this.#state.kind;
  }

  get answer(): RawAnswer | null {
    return this.#state.kind === 'done' ? this.#state.answer : null;
  }

  /** As it is sent now. Null: it is not done. */
  decoded(): CallAnswer | null {
    const state = this.#state;
    return state.kind === 'done' ? decodeAnswer(state.answer, this.#nowMs() - state.endedAtMs) : null;
  }

  get request(): CallRequest {
    if (this.#state.kind === 'received' || this.#state.kind === 'running') return this.#state.request;
    throw new Error(`call ${this.callId} is over`);
  }

  /** Returns the signal that ends it early. */
  begin(): AbortSignal {
    const stop = new AbortController();
    this.#state = { kind: 'running', request: this.request, stop };
    return stop.signal;
  }

  cancel(): void {
    if (this.#state.kind === 'running') this.#state.stop.abort();
  }

  finish(answer: RawAnswer): void {
    this.#state = { kind: 'done', answer, endedAtMs: this.#nowMs() };
    this.#end();
  }

  confirm(): void {
    this.#state = { kind: 'confirmed' };
  }

  /** Ends the waits for an answer: this entry gets none. */
  forget(): void {
    this.#end();
  }

  #end(): void {
    this.live?.end();
    this.#finished.dispatchEvent(new Event('finished'));
  }

  /** Also when `waitMs` passed, the asker went away, or the call was forgotten first. */
  finishedWithin(waitMs: number, gone: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const over = new AbortController();
      const settle = () => {
        over.abort();
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(settle, waitMs);
      this.#finished.addEventListener('finished', settle, { signal: over.signal });
      gone.addEventListener('abort', settle, { signal: over.signal });
    });
  }
}
