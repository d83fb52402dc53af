import type { Evidence } from '../failure/failure.ts';
import type {
  ArtifactsRequest,
  BindReply,
  BindRequest,
  CallAnswer,
  CallRequest,
  Compared,
  ContentsRequest,
  FilePlace,
  FileReply,
  Identity,
  ListingRequest,
  OutputStream,
  PrepareReply,
  ProbeDepth,
  ProbeReply,
  ScreenReply,
  StdinReply,
  StreamLine,
  StreamOffsets,
} from '../protocol/sandboxd/wire.ts';
import type { BootId, CallId, SandboxId } from '../model/ids.ts';
import type { RolloutKey, SandboxAddress } from '../model/rollout.ts';

/** `call`: the caller's own id of it, by which it is written once however often it is sent. */
export type FileIn = FilePlace & { readonly call?: CallId };
/**
 * More than `mostBytes` are refused before the first. `reportsLeftOut`, of an archive: what cannot be read is left out and reported at its
 * end; without it that refuses the archive.
 */
export type FileOut = FilePlace & { readonly mostBytes: number; readonly reportsLeftOut?: boolean };

/** At most `maxStdinBytes`, after `offset` others; with `isLast` nothing follows. `waitMs`: how long it may wait for room. */
export type StdinIn = {
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
  readonly waitMs: number;
};

/** Which sandboxd to speak to. `boot: null` only where it is being learnt (identity, probe before ready). */
export type SandboxTarget = {
  readonly sandbox: SandboxId;
  readonly address: SandboxAddress;
  readonly boot: BootId | null;
  /** The rollout that calls and files are for: a sandbox of another refuses them. */
  readonly owner?: RolloutKey;
};

/**
 * Why sandboxd gave no answer. `not_sent`: no connection was made, nothing ran. `maybe_sent`: the connection broke
 * after bytes may have left; only the journal knows. `other_boot` / `other_sandbox`: somebody else lives there.
 * `struck`: it did answer, but its machine was short of memory, disk or a limit of the kernel meanwhile, so that the answer proves nothing.
 */
export type LinkTrouble =
  | { readonly kind: 'not_sent'; readonly detail: string }
  | { readonly kind: 'maybe_sent'; readonly detail: string }
  | { readonly kind: 'other_boot'; readonly boot: string | null }
  | { readonly kind: 'other_sandbox' }
  | {
      readonly kind: 'struck';
      readonly detail: string;
      readonly cause: 'node_out_of_memory' | 'node_disk_full' | 'node_limit_used_up';
      readonly evidence: Evidence;
    }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly code: string;
      readonly message: string;
      readonly errno?: string;
      readonly exitCode?: number;
    };

/** Thrown by every method of {@link SandboxLink}; callers switch on `trouble.kind`. */
export class LinkError extends Error {
  readonly trouble: LinkTrouble;

  constructor(trouble: LinkTrouble) {
    super(
      `sandboxd: ${trouble.kind}${'detail' in trouble ? ` (${trouble.detail})` : 'message' in trouble ? ` (${trouble.message})` : ''}`,
    );
    this.name = 'LinkError';
    this.trouble = trouble;
  }
}

/**
 * A line to sandboxd in one sandbox: one method for each endpoint of `protocol/sandboxd/wire.ts`, no retries inside. `withinMs`: how long the
 * caller waits, so that the sandbox ends before it gives up (`timeLimit` of `waiting/time-limit.ts` gives both). Absent: as long as the link waits.
 */
export interface SandboxLink {
  /** `look`: a brief probe with it, where that takes no process; `probed` in the answer tells whether one has succeeded. */
  identity(target: SandboxTarget, signal: AbortSignal, look?: 'brief'): Promise<Identity>;
  prepare(
    target: SandboxTarget,
    commands: readonly (readonly string[])[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<PrepareReply>;
  probe(target: SandboxTarget, depth: ProbeDepth, signal: AbortSignal): Promise<ProbeReply>;
  bind(target: SandboxTarget, request: BindRequest, signal: AbortSignal): Promise<BindReply>;
  /** Starts the call once, or attaches; `running` when `waitMs` passed before it was done. */
  call(
    target: SandboxTarget,
    call: CallId,
    request: CallRequest,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<CallAnswer | 'running'>;
  attach(
    target: SandboxTarget,
    call: CallId,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<CallAnswer | 'running'>;
  /** These calls are settled with their answers. The next request for the rollout tells its sandbox, which may then evict them. */
  settled(target: SandboxTarget, calls: readonly CallId[]): void;
  /** Hears of calls whose answers fill a sandbox, and of which it does not know whether they are settled. */
  onUnsettled(hear: (target: SandboxTarget, calls: readonly string[]) => void): void;
  /** What was kept of a stream beside the answer. Refused as `answer_confirmed` where it is no longer there. */
  output(
    target: SandboxTarget,
    call: CallId,
    stream: OutputStream,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>>;
  /**
   * What a call with `stream` prints from these offsets on, as it prints it; the last line is `end`. A stream without it broke off, and
   * throws there.
   */
  stream(
    target: SandboxTarget,
    call: CallId,
    from: StreamOffsets,
    signal: AbortSignal,
  ): Promise<AsyncIterable<StreamLine>>;
  /** What a terminal shows, for an operator; null: the one that was opened last. */
  screen(target: SandboxTarget, terminal: number | null, signal: AbortSignal): Promise<ScreenReply>;
  /** Bytes for the stdin of a call with `openStdin`; a repeat at the same offset adds nothing. */
  stdin(target: SandboxTarget, call: CallId, piece: StdinIn, signal: AbortSignal): Promise<StdinReply>;
  cancel(target: SandboxTarget, call: CallId, signal: AbortSignal): Promise<void>;
  putFile(
    target: SandboxTarget,
    to: FileIn,
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    withinMs?: number,
  ): Promise<FileReply>;
  getFile(
    target: SandboxTarget,
    from: FileOut,
    signal: AbortSignal,
    withinMs?: number,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** What the policy has left, as tar, after everything of it was killed; no more calls are taken but grades. */
  takeArtifacts(
    target: SandboxTarget,
    request: ArtifactsRequest,
    signal: AbortSignal,
    withinMs?: number,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** Lines of what is below folders. With a turn, everything of the policy was killed before, and only grades are taken from then on. */
  list(
    target: SandboxTarget,
    request: ListingRequest,
    signal: AbortSignal,
    withinMs?: number,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** These files as tar, after a listing of the same turn. */
  contents(
    target: SandboxTarget,
    request: ContentsRequest,
    signal: AbortSignal,
    withinMs?: number,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** Removes and writes what was compared, in a sandbox where no policy was. `changes`: the head's line, then a tar. */
  putChanges(
    target: SandboxTarget,
    compared: Compared,
    changes: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    withinMs?: number,
  ): Promise<FileReply>;
}
