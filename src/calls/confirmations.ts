import type { CallId } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { SandboxLink, SandboxTarget } from '../ports/sandbox-link.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';

export type ConfirmationDeps = {
  readonly link: Pick<SandboxLink, 'confirm'>;
  readonly clock: Clock;
  /** Told when one could not be sent; nobody waits for it. */
  readonly onTrouble: (error: unknown) => void;
};

/**
 * A request for each call would cost gateway and sandboxd 1.5 ms together. The journal has time: the bytes of an answer that
 * is stored already are in nobody's way until it is nearly full. Longer than most models think between two calls, so that a
 * rollout's next call is confirmed with the one before, and that a burst of first calls is over when theirs are.
 */
const gatherMs = 10_000;
/**
 * A journal holds 8 MiB and the largest call reserves 2 MiB of it, so that with 1 MiB a gateway five gateways may gather
 * for the same sandbox before a call has to wait for room, and then it waits until the first of them sends.
 */
const gatherBytes = 1024 * 1024;
/** What sandboxd counts for an answer beside its output; it bounds the calls of one batch to 1,024. */
const overheadBytes = 1024;
const sendMs = 10_000;

type Batch = {
  readonly calls: CallId[];
  keptBytes: number;
  readonly full: AbortController;
  readonly sent: Promise<void>;
};

/**
 * Tells sandboxd which answers are stored, so that its journal may let go of their bytes. Those of one sandbox are
 * gathered and sent together. One that is lost is not sent again: its bytes are freed with the sandbox.
 */
export class Confirmations {
  readonly #deps: ConfirmationDeps;
  /** What is being gathered, by sandbox and boot. */
  readonly #gathering = new Map<string, Batch>();
  readonly #sending = new Set<Promise<void>>();

  constructor(deps: ConfirmationDeps) {
    this.#deps = deps;
  }

  /** To be called when the answer is stored. */
  add(target: SandboxTarget, call: CallId, answer: Pick<CallAnswer, 'stdout' | 'stderr'>): void {
    const name = `${target.sandbox} ${target.boot}`;
    const batch = this.#gathering.get(name) ?? this.#open(name, target);
    batch.calls.push(call);
    batch.keptBytes += keptBytes(answer);
    if (batch.keptBytes >= gatherBytes) this.#complete(name, batch);
  }

  /** Sends the rest; resolves when it has arrived or was given up. */
  async close(): Promise<void> {
    for (const [name, batch] of this.#gathering) this.#complete(name, batch);
    await Promise.all(this.#sending);
  }

  #open(name: string, target: SandboxTarget): Batch {
    const full = new AbortController();
    const calls: CallId[] = [];
    const sent = this.#deps.clock.sleep(gatherMs, full.signal).then(() => {
      if (this.#gathering.get(name)?.calls === calls) this.#gathering.delete(name);
      return this.#deps.link.confirm(target, calls, AbortSignal.timeout(sendMs));
    });
    const batch = { calls, keptBytes: 0, full, sent: sent.catch(this.#deps.onTrouble) };
    this.#gathering.set(name, batch);
    this.#sending.add(batch.sent);
    void batch.sent.finally(() => this.#sending.delete(batch.sent));
    return batch;
  }

  /** Nothing is added to it any more. */
  #complete(name: string, batch: Batch): void {
    this.#gathering.delete(name);
    batch.full.abort();
  }
}

/** As sandboxd counts it: raw bytes, not the text made of them. */
function keptBytes({ stdout, stderr }: Pick<CallAnswer, 'stdout' | 'stderr'>): number {
  return stdout.totalBytes - stdout.cutBytes + stderr.totalBytes - stderr.cutBytes + overheadBytes;
}
