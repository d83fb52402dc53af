import { EventEmitter } from 'node:events';
import type { SandboxId } from '../../src/model/ids.ts';
import { LinkError } from '../../src/ports/sandbox-link.ts';
import type { LinkTrouble, SandboxLink, SandboxTarget } from '../../src/ports/sandbox-link.ts';
import { protocolVersion } from '../../src/protocol/sandboxd/wire.ts';
import type {
  BindRequest,
  CallAnswer,
  CallRequest,
  Identity,
  JournalCall,
  WireOwner,
} from '../../src/protocol/sandboxd/wire.ts';

/** What the fake's "command" does; the default prints its last argument. */
export type Behaviour = (request: CallRequest) => CallAnswer | Promise<CallAnswer>;

type Entry = {
  readonly digest: string;
  readonly label: string;
  readonly answer: Promise<CallAnswer>;
  state: JournalCall['state'];
};

type Life = {
  boot: string;
  owner: WireOwner | null;
  label: string | null;
  probed: boolean;
  readonly journal: Map<string, Entry>;
  readonly files: Map<string, Uint8Array>;
};

/**
 * Sandboxes in memory that keep sandboxd's promises: first bind wins for life, a call id runs once, another boot runs
 * nothing. Counts what ran; can be told the next trouble of a method, and can be killed.
 */
export class FakeSandboxLink implements SandboxLink {
  readonly ran: string[] = [];
  readonly binds: string[] = [];
  /** The calls of each confirmation, in order. */
  readonly confirmed: string[][] = [];
  behaviour: Behaviour = (request) => answering({ stdout: lastArgument(request) });
  readonly #lives = new Map<string, Life>();
  readonly #cuts = new EventEmitter().setMaxListeners(0);
  readonly #troubles: { readonly method: keyof SandboxLink; readonly trouble: LinkTrouble }[] = [];

  start(sandbox: SandboxId, boot: string, { probed = true } = {}): void {
    const fresh = { owner: null, label: null, probed, journal: new Map(), files: new Map() };
    this.#lives.set(sandbox, { boot, ...fresh });
  }

  kill(sandbox: SandboxId): void {
    this.#lives.delete(sandbox);
  }

  /** Breaks every connection to it that waits for a call's answer; what runs goes on. */
  cut(sandbox: SandboxId): void {
    this.#cuts.emit(sandbox);
  }

  failNext(method: keyof SandboxLink, trouble: LinkTrouble): void {
    this.#troubles.push({ method, trouble });
  }

  async identity(target: SandboxTarget): Promise<Identity> {
    return identityOf(target.sandbox, this.#life('identity', { ...target, boot: null }));
  }

  async prepare() {
    return { ok: true, durationMs: 1 } as const;
  }

  async probe() {
    return { ok: true, durationMs: 1 } as const;
  }

  async bind(target: SandboxTarget, request: BindRequest): Promise<Identity> {
    const life = this.#life('bind', target);
    if (life.owner !== null && life.owner.rollout !== request.owner.rollout) {
      throw refused(409, 'bound_elsewhere');
    }
    if (life.owner === null) this.binds.push(target.sandbox);
    life.owner = request.owner;
    life.label ??= request.label ?? '';
    return identityOf(target.sandbox, life);
  }

  async call(
    target: SandboxTarget,
    call: string,
    request: CallRequest,
    _waitMs: number,
    signal: AbortSignal,
  ): Promise<CallAnswer> {
    const life = this.#life('call', target);
    if (life.owner === null) throw refused(409, 'not_bound');
    const known = life.journal.get(call);
    if (known !== undefined && known.digest !== request.digest) throw refused(409, 'call_conflict');
    if (known?.state === 'confirmed') throw refused(410, 'answer_confirmed');
    if (known !== undefined) return this.#stillAlive(target, known.answer, signal);
    this.ran.push(call);
    const answer = Promise.resolve(this.behaviour(request));
    const { digest, label = '' } = request;
    const entry: Entry = { digest, label, answer, state: 'running' };
    life.journal.set(call, entry);
    void answer.then(
      () => void (entry.state = 'done'),
      () => undefined,
    );
    return this.#stillAlive(target, answer, signal);
  }

  async attach(
    target: SandboxTarget,
    call: string,
    _waitMs: number,
    signal: AbortSignal,
  ): Promise<CallAnswer> {
    const known = this.#life('attach', target).journal.get(call);
    if (known === undefined) throw refused(404, 'unknown_call');
    if (known.state === 'confirmed') throw refused(410, 'answer_confirmed');
    return this.#stillAlive(target, known.answer, signal);
  }

  async confirm(target: SandboxTarget, calls: readonly string[]): Promise<void> {
    const life = this.#life('confirm', target);
    for (const call of calls) {
      const entry = life.journal.get(call);
      if (entry !== undefined) entry.state = 'confirmed';
    }
    this.confirmed.push([...calls]);
  }

  async cancel(): Promise<void> {}

  async quiesce(target: SandboxTarget) {
    this.#life('quiesce', target);
    return { killed: 0, survivors: 0 };
  }

  async putFile(target: SandboxTarget, path: string, body: AsyncIterable<Uint8Array>) {
    const life = this.#life('putFile', target);
    const bytes = Buffer.concat(await Array.fromAsync(body));
    life.files.set(path, bytes);
    return { bytes: bytes.length };
  }

  async getFile(target: SandboxTarget, path: string): Promise<AsyncIterable<Uint8Array>> {
    const bytes = this.#life('getFile', target).files.get(path);
    if (bytes === undefined) throw refused(422, 'file_error', 'ENOENT');
    return (async function* () {
      yield bytes;
    })();
  }

  /** An answer that its sandbox did not live to send never arrives. */
  async #stillAlive(
    target: SandboxTarget,
    answer: Promise<CallAnswer>,
    signal: AbortSignal,
  ): Promise<CallAnswer> {
    const cutOff = new Promise<never>((_resolve, reject) => {
      const cut = () => reject(new LinkError({ kind: 'maybe_sent', detail: 'aborted' }));
      if (signal.aborted) cut();
      signal.addEventListener('abort', cut, { once: true });
      this.#cuts.once(target.sandbox, cut);
    });
    const answered = await Promise.race([answer, cutOff]);
    if (!this.#lives.has(target.sandbox))
      throw new LinkError({ kind: 'maybe_sent', detail: 'connection reset' });
    return answered;
  }

  #life(method: keyof SandboxLink, target: SandboxTarget): Life {
    const at = this.#troubles.findIndex((planned) => planned.method === method);
    const [planned] = at === -1 ? [] : this.#troubles.splice(at, 1);
    if (planned !== undefined) throw new LinkError(planned.trouble);
    const life = this.#lives.get(target.sandbox);
    if (life === undefined) throw new LinkError({ kind: 'not_sent', detail: 'connection refused' });
    if (target.boot !== null && target.boot !== life.boot) {
      throw new LinkError({ kind: 'other_boot', boot: life.boot });
    }
    return life;
  }
}

export function answering(over: {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly ending?: CallAnswer['ending'];
  readonly outOfMemoryKills?: number;
}): CallAnswer {
  const { stdout = '', stderr = '', ending = { kind: 'exited', exitCode: 0 }, outOfMemoryKills = 0 } = over;
  const evidence = { durationMs: 1, outOfMemoryKills, escapedProcesses: 0, backgroundProcesses: 0 };
  return { callId: '', ending, stdout: captured(stdout), stderr: captured(stderr), evidence };
}

function captured(text: string) {
  return { head: text, tail: '', totalBytes: Buffer.byteLength(text), cutBytes: 0 };
}

function lastArgument({ action }: CallRequest): string {
  return action.kind === 'exec' ? (action.argv.at(-1) ?? '') : JSON.stringify(action.arguments);
}

function identityOf(sandbox: SandboxId, life: Life): Identity {
  return {
    sandbox,
    boot: life.boot,
    protocol: protocolVersion,
    state: life.owner === null ? 'unbound' : 'bound',
    isolation: 'two-user',
    owner: life.owner,
    expiresInMs: life.owner === null ? null : 7_200_000,
    label: life.label,
    probed: life.probed,
    filesPut: life.files.size,
    calls: [...life.journal].map(([callId, { digest, label, state }]) => ({ callId, digest, label, state })),
  };
}

function refused(status: number, code: string, errno?: string): LinkError {
  return new LinkError({
    kind: 'refused',
    status,
    code,
    message: code,
    ...(errno === undefined ? {} : { errno }),
  });
}
