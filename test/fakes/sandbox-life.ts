import { Binding } from '#services/sandboxd/binding.ts';
import { awaitAnswer, Journal } from '#services/sandboxd/calls/journal.ts';
import type { RawAnswer } from '#services/sandboxd/calls/answer.ts';
import { Uploads } from '#services/sandboxd/uploads.ts';
import { pieceOf } from '#services/sandboxd/command/capture.ts';
import { WireError } from '#services/sandboxd/wire-error.ts';
import {
  type BindRequest,
  type CallAnswer,
  type CallRequest,
  type FileReply,
  type GradeTurn,
  type Identity,
  type OutputStream,
  protocolVersion,
  type StdinReply,
  type StreamLine,
  type StreamOffsets,
} from '#src/protocol/sandboxd/wire.ts';
import type { FileIn, StdinIn } from '#src/ports/sandbox-link.ts';

/** As sandboxd's own. */
const journalLimits = { bytes: 8 * 1024 * 1024, lastKept: 16, waiting: 256, calls: 4096 };

export type RunCall = (call: string, request: CallRequest) => Promise<CallAnswer>;

/**
 * One life of a sandboxd without a process: its production binding and journal, over files in memory and commands that
 * are a function. Throws what sandboxd answers with.
 */
export class SandboxLife {
  readonly boot: string;
  readonly files = new Map<string, Uint8Array>();
  readonly #sandbox: string;
  readonly #binding = new Binding();
  readonly #journal: Journal;
  readonly #uploads = new Uploads(100);
  #filesPut = 0;
  #probed: boolean;

  constructor(sandbox: string, boot: string, probed: boolean, run: RunCall) {
    this.#sandbox = sandbox;
    this.boot = boot;
    this.#probed = probed;
    this.#journal = new Journal(
      journalLimits,
      (call, request, cancel) => started(call, request, run(call, request), cancel),
      () => performance.now(),
    );
  }

  identity(): Identity {
    return {
      sandbox: this.#sandbox,
      boot: this.boot,
      protocol: protocolVersion,
      state: this.#binding.state,
      isolation: 'two-user',
      owner: this.#binding.owner,
      expiresInMs: this.#binding.expiresInMs(performance.now()),
      label: this.#binding.label,
      probed: this.#probed,
      filesPut: this.#filesPut,
      keepsStdin: true,
      calls: this.#journal.list(),
    };
  }

  prepare() {
    this.#binding.requireUnbound();
    return { ok: true, durationMs: 1 } as const;
  }

  probe() {
    this.#probed = true;
    return { ok: true, durationMs: 1 } as const;
  }

  /** True for the first. */
  bind(request: BindRequest): boolean {
    return this.#binding.bind(request, performance.now());
  }

  call(
    call: string,
    request: CallRequest,
    waitMs: number,
    gone: AbortSignal,
  ): Promise<CallAnswer | 'running'> {
    return awaitAnswer(this.#bound().receive(call, request), waitMs, gone);
  }

  attach(call: string, waitMs: number, gone: AbortSignal): Promise<CallAnswer | 'running'> {
    return awaitAnswer(this.#bound().find(call), waitMs, gone);
  }

  /** Nothing of a command's output is there before its end. */
  stream(call: string, from: StreamOffsets): AsyncIterable<StreamLine> {
    return linesOf(this.#bound().findStream(call), { ...from });
  }

  stdin(call: string, { waitMs, ...piece }: StdinIn, gone: AbortSignal): Promise<StdinReply> {
    const { stdin } = this.#bound().findStream(call).live;
    if (stdin === null) throw new WireError('invalid_request', 'its stdin is not open');
    return stdin.take({ ...piece, bytes: Buffer.from(piece.bytes) }, waitMs, gone);
  }

  /** Throws where it is bound to another than who is meant. */
  requireOwner(asker: string): void {
    if (this.#binding.state === 'bound') this.#binding.requireBound(asker);
  }

  settle(calls: readonly string[]): void {
    this.#journal.settle(calls);
  }

  cancel(call: string): void {
    this.#bound().cancel(call);
  }

  async put(to: FileIn, bytes: Uint8Array): Promise<FileReply> {
    this.#bound().requireUngraded();
    return this.#uploads.once(to.call ?? null, to, async () => {
      this.#filesPut += 1;
      this.files.set(to.path, bytes);
      return { bytes: bytes.length };
    });
  }

  get(path: string): Uint8Array {
    this.#binding.requireBound(undefined);
    const bytes = this.files.get(path);
    if (bytes === undefined) throw new WireError('file_error', `${path}: no such file`, 'ENOENT');
    return bytes;
  }

  /** Those of the files that are named, or lie in a folder that is. */
  take(paths: readonly string[]) {
    this.#bound().beginGrading();
    const isWanted = (path: string) =>
      paths.some((wanted) => path === wanted || path.startsWith(`${wanted.replace(/\/$/, '')}/`));
    const files = [...this.files].filter(([path]) => isWanted(path));
    const missing = paths.find((wanted) => !files.some(([path]) => path.startsWith(wanted)));
    if (missing !== undefined) throw new WireError('file_error', `${missing} is not there`, 'ENOENT');
    return files.map(([path, bytes]) => ({ path, executable: false, mtimeS: 0, bytes: Buffer.from(bytes) }));
  }

  #bound(): Journal {
    this.#binding.requireBound(undefined);
    return this.#journal;
  }
}

async function* linesOf(
  entry: ReturnType<Journal['findStream']>,
  at: Record<OutputStream, number>,
): AsyncIterable<StreamLine> {
  while (!entry.live.isOver) await entry.live.next();
  for (const stream of ['stdout', 'stderr'] as const) {
    const { answer } = entry;
    const piece = answer === null ? null : pieceOf(answer[stream], at[stream], Number.MAX_SAFE_INTEGER);
    if (piece !== null && 'bytes' in piece)
      yield { stream, at: at[stream], base64: piece.bytes.toString('base64') };
  }
  yield { end: true };
}

/** A command that was started: to its own end, or until it is cancelled. */
async function started(
  call: string,
  { binary }: CallRequest,
  answer: Promise<CallAnswer>,
  cancel: AbortSignal,
): Promise<RawAnswer> {
  const cancelled = new Promise<CallAnswer>((resolve) => {
    const stop = () => resolve(answering({ ending: { kind: 'cancelled' } }));
    cancel.addEventListener('abort', stop, { once: true });
  });
  const { stdout, stderr, ...rest } = await Promise.race([answer, cancelled]);
  return { ...rest, callId: call, stdout: raw(stdout), stderr: raw(stderr), ...(binary && { binary }) };
}

const raw = ({ head, tail, totalBytes }: CallAnswer['stdout']) => ({
  head: Buffer.from(head),
  tail: Buffer.from(tail),
  totalBytes,
});

/** What a command answers; by default it ends well and prints nothing. */
export function answering(over: {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly ending?: CallAnswer['ending'];
  readonly outOfMemoryKills?: number;
  readonly mirrors?: CallAnswer['evidence']['mirrors'];
  readonly grade?: GradeTurn;
}): CallAnswer {
  const { stdout = '', stderr = '', ending = { kind: 'exited', exitCode: 0 }, outOfMemoryKills = 0 } = over;
  const mirrors = over.mirrors === undefined ? {} : { mirrors: over.mirrors };
  const evidence = {
    durationMs: 1,
    outOfMemoryKills,
    escapedProcesses: 0,
    backgroundProcesses: 0,
    ...mirrors,
  };
  const graded = over.grade === undefined ? {} : { grade: over.grade };
  return { callId: '', ending, stdout: captured(stdout), stderr: captured(stderr), evidence, ...graded };
}

function captured(text: string) {
  return { head: text, tail: '', totalBytes: Buffer.byteLength(text), cutBytes: 0 };
}

/** What repeats of a call have in common: all but for how long ago it ended, and whether it is settled by now. */
export function withoutAge(answer: CallAnswer | 'running'): CallAnswer | 'running' {
  if (answer === 'running') return answer;
  const { settled: _, ...same } = answer;
  return { ...same, evidence: { ...answer.evidence, endedAgoMs: 0 } };
}
