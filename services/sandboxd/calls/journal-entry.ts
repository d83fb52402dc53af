import type { CallRequest } from '#src/protocol/sandboxd/wire.ts';
import type { RawAnswer } from './answer.ts';

type State =
  | { readonly kind: 'received'; readonly request: CallRequest }
  | { readonly kind: 'running'; readonly request: CallRequest; readonly stop: AbortController }
  | { readonly kind: 'done'; readonly answer: RawAnswer }
  | { readonly kind: 'confirmed' };

/** One call in the journal; its states are told there. A request is forgotten when its call is done. */
export class JournalEntry {
  readonly callId: string;
  readonly digest: string;
  readonly label: string;
  readonly #finished = new EventTarget();
  #state: State;

  constructor(callId: string, request: CallRequest) {
    this.callId = callId;
    this.digest = request.digest;
    this.label = request.label ?? '';
    this.#state = { kind: 'received', request };
  }

  get state(): State['kind'] {
    return this.#state.kind;
  }

  get answer(): RawAnswer | null {
    return this.#state.kind === 'done' ? this.#state.answer : null;
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
    this.#state = { kind: 'done', answer };
    this.#finished.dispatchEvent(new Event('finished'));
  }

  confirm(): void {
    this.#state = { kind: 'confirmed' };
  }

  /** `null` when `waitMs` passed or the asker went away first. */
  finishedWithin(waitMs: number, gone: AbortSignal): Promise<RawAnswer | null> {
    return new Promise((resolve) => {
      const over = new AbortController();
      const settle = () => {
        over.abort();
        clearTimeout(timer);
        resolve(this.answer);
      };
      const timer = setTimeout(settle, waitMs);
      this.#finished.addEventListener('finished', settle, { signal: over.signal });
      gone.addEventListener('abort', settle, { signal: over.signal });
    });
  }
}
