import type { CallAnswer, CallRequest } from '#src/protocol/sandboxd/wire.ts';
import { decodeAnswer, type RawAnswer } from './answer.ts';
import { LiveCall } from './live-call.ts';
import type { StdinRoom } from './stdin-room.ts';

type State =
  | { readonly kind: 'received'; readonly request: CallRequest }
  | { readonly kind: 'running'; readonly request: CallRequest; readonly stop: AbortController }
  | {
      readonly kind: 'done';
      readonly answer: RawAnswer;
      readonly endedAtMs: number;
      readonly settled: boolean;
    }
  | { readonly kind: 'evicted' };

/** One call in the journal, whose states `journal.ts` describes. A request is forgotten when its call is done. */
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

  /** Whether fleet state has the call's outcome, and the call has an answer. */
  get settled(): boolean {
    return this.#state.kind === 'evicted' || (this.#state.kind === 'done' && this.#state.settled);
  }

  /** For how long its call has been done; null: it is not, or its answer is gone. */
  get doneForMs(): number | null {
    return this.#state.kind === 'done' ? this.#nowMs() - this.#state.endedAtMs : null;
  }

  /** As it is sent now. Null: it is not done. */
  decoded(): CallAnswer | null {
    const state = this.#state;
    if (state.kind !== 'done') return null;
    return { ...decodeAnswer(state.answer, this.#nowMs() - state.endedAtMs), settled: state.settled };
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
    this.#state = { kind: 'done', answer, endedAtMs: this.#nowMs(), settled: false };
    this.#end();
  }

  settle(): void {
    if (this.#state.kind === 'done') this.#state = { ...this.#state, settled: true };
  }

  evict(): void {
    this.#state = { kind: 'evicted' };
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
