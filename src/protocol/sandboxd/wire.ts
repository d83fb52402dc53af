import type { BrowserTool } from './browser.ts';
import type { TerminalTool } from './terminals.ts';
import type { MirrorCounts, MirrorDoubt } from './mirror-tally.ts';

/**
 * What a gateway or controller says to sandboxd, and what comes back. Shared by both sides; no dependency, because
 * sandboxd ships into any image. Bodies are JSON but for files, which are raw bytes.
 *
 *   GET    /health                          no token: {@link Health}
 *   GET    /identity?look=                  {@link Identity}; `look=brief` before bind: as a brief probe, if that takes no process.
 *                                           `probed` tells whether it did
 *   POST   /prepare       {@link PrepareRequest}   before bind only: runs the template's `prepare`: {@link PrepareReply}
 *   POST   /probe?depth=  {@link ProbeDepth}       starts a no-op as the command's user: {@link ProbeReply}
 *   POST   /bind          {@link BindRequest}      first bind wins, for life: {@link BindReply} | 409 bound_elsewhere
 *   PUT    /calls/{id}?waitMs=  {@link CallRequest}    starts once or attaches: 200 {@link CallAnswer} | 202 {@link StillRunning}
 *   GET    /calls/{id}?waitMs=              attaches: 200 | 202 | 404 unknown_call | 410 answer_confirmed: it had to make way
 *   POST   /calls/{id}/cancel               kills the call's whole tree; it settles as `cancelled`: 202, also when done
 *   GET    /calls/{id}/output?stream=       what was kept beyond the answer, head and tail as they are | 410 answer_confirmed: it had to make way
 *   GET    /calls/{id}/stream?stdout=&stderr=  of a call with `stream`: what it prints from these offsets on, as it prints it, as lines
 *                                           of {@link StreamLine}; the last one is `end`
 *   POST   /calls/{id}/stdin?offset=&end=&waitMs=  bytes for a call with `openStdin`: {@link StdinReply}. `offset`: how many came
 *                                           before; what is known already is skipped, so a repeat is safe
 *   GET    /screen?terminal=                for an operator: the screen of a terminal, or of the one that was opened last: {@link ScreenReply}.
 *                                           It changes nothing that a grade or a loss is judged by
 *   PUT    /files?path=&user=&call=         bytes in: {@link FileReply} | 422 file_error. With `call`, once: a repeat writes nothing
 *   GET    /files?path=&user=&mostBytes=    bytes out, streamed | 422 file_error, errno EFBIG where there are more
 *   PUT    /archive, GET /archive           the same with a tar of what is below the path (`tar.ts`); without its end mark it was broken
 *                                           off in the sandbox. With `leftOut=report` what cannot be read
 *                                           is left out, and a comment at the end is {@link LeftOut}
 *   POST   /artifacts     {@link ArtifactsRequest}  kills all that lives, as a grade does, then what was left behind as tar, of
 *                                           regular files only | 422 file_error
 *   POST   /listing       {@link ListingRequest}  what is below folders, for a comparison of two sandboxes: a {@link ListingLine} a line. With a
 *                                           turn it kills all that lives first, as a grade does
 *   POST   /contents      {@link ContentsRequest}  these files as tar, after a listing of the same turn | 422 file_error
 *   PUT    /changes?below=&except=          removes and writes what a comparison found, in a sandbox without a policy, before its grade: a line
 *                                           of JSON ({@link ChangesHead}), then a tar of absolute paths: {@link FileReply} | 422 file_error.
 *                                           EPERM: what {@link Compared} leaves out is among it
 *
 * Every request but /health carries `authorization: Bearer TOKEN` and the header {@link sandboxHeader}; every one but
 * /health, /identity and /probe (where the boot id is being learnt) also {@link bootHeader}. Another sandbox answers 421
 * (an address was reused; said before the token is looked at, since the token belongs to the sandbox that was meant),
 * another boot 412 (a new life), and then nothing ran. Every answer carries both headers. What is for a rollout (calls and
 * files) says with {@link ownerHeader} for which: bound to another it is 409 bound_elsewhere, because fleet state may be
 * wrong about who lives here, after a failover, and this sandbox is not.
 *
 * A grade is a call too ({@link GradeAction}). Once one was received, or artifacts were taken, no other kind of call is taken:
 * what ran later could not be part of what was graded.
 *
 * The journal keeps answers, for repeats. Requests for a rollout say by {@link settledHeader} which of its calls are settled: fleet state has
 * their outcomes. If room is needed (8 MiB, and as much as the latest 16 answers can have), settled answers make way, the oldest
 * first, and never the latest 16. If others fill it, new calls are `received` and start when there is room, or not at
 * all when their rollout's time is over by then ({@link CallRequest.startWithinMs}), and answers name by {@link unsettledHeader} the calls
 * of which it is not known whether they are settled.
 */

/**
 * Gateways speak this version and the one before. Not the first, in which the grader worked among the policy's files: a
 * sandbox that speaks only that refuses the bind, before anything has run in it, and is replaced.
 */
export const protocolVersion = 2;

export const sandboxHeader = 'x-corral-sandbox';
export const bootHeader = 'x-corral-boot';
/** The rollout that is meant, as {@link ownerText} writes it. A gateway of before does not say. */
export const ownerHeader = 'x-corral-owner';
/**
 * For how many milliseconds its sender still waits for the answer. Transfers of files end before, so that a stall is reported by name and not
 * as a connection that broke. It shortens no command and no grader.
 */
export const remainingHeader = 'x-corral-remaining-ms';
/** Calls of the rollout that are settled with an answer: {@link callIdsText}. */
export const settledHeader = 'x-corral-settled';
/** In an answer: calls whose answers fill the journal, and of which it does not know whether they are settled. */
export const unsettledHeader = 'x-corral-unsettled';
/** In one answer; the next one names others. */
export const mostUnsettled = 8;

/** Ids of calls in a header, percent-encoded with a comma between them. */
export function callIdsText(calls: readonly string[]): string {
  return calls.map(encodeURIComponent).join(',');
}

/** At most `most` of them. What is no percent-encoding names no call. */
export function callIdsIn(header: string, most: number): readonly string[] {
  try {
    return header.split(',', most).filter(Boolean).map(decodeURIComponent);
  } catch {
    return [];
  }
}

/** In which span a gateway asks (W3C trace context); sandboxd only repeats it in its log. */
export const spanHeader = 'traceparent';

export type SandboxdError =
  | 'unauthorized' // 401
  | 'unknown_call' // 404
  | 'not_found' // 404: no such endpoint
  | 'bound_elsewhere' // 409
  | 'not_bound' // 409
  | 'already_bound' // 409: /prepare after /bind
  | 'call_conflict' // 409: same id, other digest
  | 'calls_used_up' // 409: as many calls as one life may have were received; this one never will be
  | 'graded' // 409: grading has begun, and what is asked for is no grade
  | 'expired' // 410
  | 'answer_confirmed' // 410: the call is settled, and its bytes had to make way
  | 'other_boot' // 412
  | 'payload_too_large' // 413
  | 'invalid_request' // 400
  | 'protocol_mismatch' // 400
  | 'other_sandbox' // 421
  | 'file_error' // 422: the path's own fault, as its user sees it; `errno` says which
  | 'prepare_failed' // 422: a command of `prepare`; its `exitCode`, or the `errno` with which it did not start
  | 'internal' // 500
  | 'stream_busy' // 503: the call's stream has as many readers as it may have
  | 'journal_full'; // 503: more calls than may wait for room; there is room when others have ended

/** Body of every answer that is not 2xx. */
export type SandboxdErrorBody = {
  readonly error: {
    readonly code: SandboxdError;
    readonly message: string;
    readonly errno?: string;
    readonly exitCode?: number;
  };
};

/** `single-user`: commands run under sandboxd's own id, which they could then read and signal. */
export type UserIsolation = 'two-user' | 'single-user';

export type Health = {
  readonly sandbox: string;
  readonly boot: string;
  readonly protocol: number;
  readonly state: 'unbound' | 'bound' | 'expired';
};

export type WireOwner = {
  readonly tenant: string;
  readonly run: string;
  readonly rollout: string;
  readonly attempt: number;
  readonly role: string;
};

/** `tenant/run/rollout/attempt/role`, each part percent-encoded: as fleet state names a rollout. */
export function ownerText({ tenant, run, rollout, attempt, role }: WireOwner): string {
  return [tenant, run, rollout, String(attempt), role].map(encodeURIComponent).join('/');
}

export type Identity = Health & {
  readonly isolation: UserIsolation;
  readonly owner: WireOwner | null;
  /** Time left until sandboxd ends itself; null before bind. */
  readonly expiresInMs: number | null;
  /** What the bind said beside the owner, as it was said; null before bind. */
  readonly label: string | null;
  /** A probe has succeeded in this life; it comes last in a start, so everything before it is done too. */
  readonly probed: boolean;
  /** Files put in so far. They are state that the journal does not show. */
  readonly filesPut: number;
  /** It keeps the stdin of a command open if {@link ExecAction.openStdin} says so. One of a release that is no longer supported does not say this. */
  readonly keepsStdin?: true;
  readonly calls: readonly JournalCall[];
};

export type JournalCall = {
  readonly callId: string;
  /** `confirmed`: done, and settled with an answer. */
  readonly state: 'received' | 'running' | 'done' | 'confirmed';
  readonly digest: string;
  /** As its request said; empty where it said nothing. */
  readonly label: string;
};

/** Longest {@link BindRequest.label}, in characters: names and numbers of a rollout, with room. */
export const maxBindLabel = 4096;
/** Longest {@link CallRequest.label}, in characters. */
export const maxCallLabel = 64;

/** The longest {@link BindRequest.expiresInMs}: a day; timers count to 24 of them, and no sandbox is meant to live for one. */
export const longestLifeMs = 86_400_000;

export type BindRequest = {
  readonly protocol: number;
  readonly owner: WireOwner;
  /** sandboxd kills everything and exits when this has passed. */
  readonly expiresInMs: number;
  /**
   * Kept and told in {@link Identity}, never read by sandboxd: what fleet state must know of the rollout beside its
   * owner, so that it can be written again when Redis has forgotten it. At most {@link maxBindLabel} characters.
   */
  readonly label?: string;
  /** Programs to be looked for, as a command's argv would name them; the answer says which are not there. */
  readonly programs?: readonly string[];
  /** What the rollout's task needs of the sandbox; the answer lists what is not so. */
  readonly needs?: SandboxNeeds;
};

/** At most {@link maxNeededFolders} folders. `user`: the name or number of the user that commands are to run as. */
export type SandboxNeeds = { readonly folders: readonly NeededFolder[]; readonly user?: string };

/**
 * `path`: relative paths are below the workspace, so that `.` is the workspace itself. The command's user must be able to
 * `enter` it, or to `write` in it as well; a folder to `make` may also be absent if that user can create it.
 */
export type NeededFolder = { readonly path: string; readonly access: 'enter' | 'write' | 'make' };

export const maxNeededFolders = 32;

/** `index`: which of the needed folders; `path` is absolute. `errno` is what the command's user gets from the kernel. */
export type LackingFolder = { readonly index: number; readonly path: string; readonly errno: string };

/** What is not as {@link SandboxNeeds} says; `user`: the image does not have that user, or commands run as another one. */
export type Lacks = {
  readonly folders: readonly LackingFolder[];
  readonly user?: 'absent' | 'another';
};

/**
 * `missing`: of the programs asked for, those that the command's user cannot run; `lacks`: what of the needs is not met. Both
 * are reported only before the first call, because later the policy may have changed them.
 */
export type BindReply = Identity & { readonly missing?: readonly string[]; readonly lacks?: Lacks };

export type PrepareRequest = {
  readonly commands: readonly (readonly string[])[];
  readonly timeoutMs: number;
};
/** At most {@link maxCallsOfLife} ids. */
export type PrepareReply = { readonly ok: true; readonly durationMs: number };

/**
 * `whole`: our helper, which needs all that a built-in tool needs. `brief`, for a sandbox made as another one that passed the
 * whole: a look whether files may be opened and written, by sandboxd itself where permissions leave no doubt, else by the
 * image's shell; in doubt it becomes the whole.
 */
export type ProbeDepth = 'whole' | 'brief';
export type ProbeReply = { readonly ok: true; readonly durationMs: number };
/** `entries`: of an archive. */
export type FileReply = {
  readonly bytes: number;
  readonly entries?: number;
  /** Of changes: programs of a grader's PATH that run what lies in these folders, at most some. */
  readonly leading?: readonly string[];
};

/** Where bytes go or come from: one file, or an archive of all that is below a folder. */
export type FilePlace = {
  /** Relative paths are below the workspace, the grader's below its own folder. */
  readonly path: string;
  readonly user: CommandUser;
  readonly form: 'file' | 'archive';
};

/** What a tar of a folder lacks: the first paths with the reason, and how many there are. The text of its comment, as JSON. */
export type LeftOut = {
  readonly left_out: readonly { readonly path: string; readonly why: string }[];
  readonly count: number;
};
/** Text of the policy's, of at most `longestScreenBytes`; `reason`: why it is null. */
export type ScreenReply =
  | { readonly screen: string; readonly reason: null }
  | { readonly screen: null; readonly reason: string };
export type StillRunning = { readonly state: 'running' };

/**
 * Whose processes and files: the policy's, or the grader's own third user, whom the policy cannot read or signal. The
 * grader's work in a folder of its own, with nothing of the image's variables but its PATH and language.
 */
export type CommandUser = 'policy' | 'grader';

export type ExecAction = {
  readonly kind: 'exec';
  /** The program and its arguments; never spliced into a shell. */
  readonly argv: readonly string[];
  /** Relative paths are below the workspace, the grader's below its own folder. Default: that folder. */
  readonly cwd?: string;
  /** Added to the user's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** What it reads on stdin, which is closed at once when absent. */
  readonly stdin?: Content;
  readonly user?: CommandUser;
  /**
   * `argv` is `sh -c TEXT` only because the caller gave a text: it runs in bash if the image has bash. An older sandboxd ignores
   * this and runs `sh`.
   */
  readonly preferBash?: true;
  /** stderr is the same stream as stdout, so that text stays in the order of writing. */
  readonly merge?: true;
  /**
   * stdin stays open after {@link stdin}, for `/stdin`. Only with {@link CallRequest.stream}, and not to a sandboxd that
   * did not say {@link Identity.keepsStdin} at its bind.
   */
  readonly openStdin?: true;
};

/**
 * `terminal_check` and `browser_check` end with 0 if a terminal can be opened, and if there is a browser; `terminal_follow` prints what a
 * terminal prints. None of them is a tool of a model.
 */
export type BuiltinName =
  | 'read_file'
  | 'write_file'
  | 'list_files'
  | 'search'
  | TerminalTool
  | 'terminal_check'
  | 'terminal_follow'
  | BrowserTool
  | 'browser_check';

/**
 * A sandboxd of before does not know the tools of sessions and answers 400. So their checks are first said in the environment's setup,
 * before anything has run.
 */
export type BuiltinAction = {
  readonly kind: 'builtin';
  readonly tool: BuiltinName;
  readonly arguments: Readonly<Record<string, string | number | boolean>>;
  /** Added to the environment of a program that a terminal is opened for, and to that of the browser. */
  readonly env?: Readonly<Record<string, string>>;
};

/**
 * A query of a SQLite database in the sandbox that nothing of the model's may write. One process answers all of them,
 * for as long as it lives, under a user of its own: a call is a line to it and not a process. A sandboxd of before does
 * not know of it and answers 400; so it is first said in the environment's setup, before anything has run.
 *
 * It ends with 0, with 1 where the values make a mistake of the SQL, and with {@link brokenDatabaseExit}.
 */
export type QueryAction = {
  readonly kind: 'query';
  readonly database: string;
  readonly sql: string;
  /** Bound to the names of the SQL's parameters; never part of its text. */
  readonly values: Readonly<Record<string, string | number | null>>;
  /** The text of a row: words and names of columns in turns, beginning with words. Absent: the row as JSON. */
  readonly each?: readonly string[];
  /** What is said where there is no row. */
  readonly none: string;
  /** Only whether it could be asked. */
  readonly check?: boolean;
};

/** Of a query whose database cannot be read any more. No policy can bring that about: it is the disk's doing, or the author's. */
export const brokenDatabaseExit = 2;

/**
 * One turn of a grader, from the last process of the policy to the score. Turns follow each other: a later one ends an
 * earlier one that still runs, and one that comes late is cancelled.
 */
export type GradeAction = {
  readonly kind: 'grade';
  readonly turn: number;
  readonly argv: readonly string[];
  /** The grader's own files by relative path. One of before takes texts alone, and names without folders; it refuses the rest. */
  readonly files: Readonly<Record<string, Content>>;
  /** UTF-8 text for stdin. */
  readonly stdin: string;
  /** JSON for the file that `CORRAL_ROLLOUT` names; a grader that does not ask for it has neither. */
  readonly rollout?: string;
};

/** Text, or any bytes. */
export type Content = string | { readonly base64: string };

/**
 * What is to be taken out for a grader elsewhere. Relative paths are below the workspace; `*` stands for anything in one name;
 * a folder is all below it, and with a slash at its end must be one. A path without `*` must be there, as a file or a folder
 * and no link. Links, devices and what else is no file are left out where they are found. `errno` of a refusal: ENOENT,
 * EACCES, EFBIG (too many bytes or files), EINVAL (neither file nor folder), EBUSY (a process could not be killed).
 */
export type ArtifactsRequest = {
  readonly turn: number;
  readonly paths: readonly string[];
  readonly mostBytes: number;
  readonly mostFiles: number;
};

/**
 * Folders whose content is compared in two sandboxes; relative ones are below the workspace. `except`: a name that is left out wherever it is,
 * or an absolute path; `*` stands for anything in one name. Left out as well: what could make a grader run what the policy wrote
 * (`services/sandboxd/reading/comparable.ts`).
 */
export type Compared = { readonly below: readonly string[]; readonly except: readonly string[] };

/**
 * `turn`: of a grading, in the policy's sandbox; null in one where no policy was. `homes`: as the first line of the other sandbox's listing
 * names them, so that both leave out the same; null: this sandbox names them.
 */
export type ListingRequest = Compared & {
  readonly homes: readonly string[] | null;
  /** Without a turn: whether the policy's commands are root in the other sandbox, so that this one is read with root's id too. */
  readonly asRoot: boolean;
  readonly turn: number | null;
  readonly mostEntries: number;
  /** Of all files together: their sha256 is computed. */
  readonly mostBytes: number;
};

/**
 * Homes, then a line of JSON for each entry: a folder of the request, then what is below it: files, files that their user cannot read,
 * folders, links, and all else. Folders come before what is in them, and the names of a folder are sorted. The last line is `end`, or the
 * error that ended it.
 */
export type ListingLine =
  | readonly ['homes', paths: readonly string[]]
  | readonly ['file', path: string, mode: number, bytes: number, sha256: string]
  | readonly ['root' | 'closed' | 'folder' | 'other', path: string, mode: number]
  | readonly ['link', path: string, target: string]
  | readonly ['end']
  | readonly ['error', errno: string, message: string];

export type ContentsRequest = {
  readonly turn: number;
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
};

/** Absolute paths; a folder goes with all that is in it. */
export type ChangesHead = { readonly removed: readonly string[] };

/** Of paths in one request, so that it stays far below the longest body. */
export const maxChangedPathBytes = 1024 * 1024;
export const maxChangedFiles = 4_096;

/**
 * What became of a turn. `survivors`: so many processes could not be killed, before the grader began or after its end,
 * so that no score can be trusted. `folder_failed`: its folder could not be made, filled or read. `errno` is ENOMEM, EAGAIN or SIGKILL
 * only if the sandbox's own account shows that it ran short, else LOST; ETIMEDOUT if it took too long.
 * `ran`: the text of its score file, at most {@link longestScoreBytes} and one; null: there is no such file;
 * `toldRollout`: it had the file that was asked for, which a sandboxd of before does not know of.
 */
export type GradeTurn =
  | { readonly kind: 'survivors'; readonly count: number }
  | { readonly kind: 'folder_failed'; readonly errno: string; readonly message: string }
  | { readonly kind: 'ran'; readonly score: string | null; readonly toldRollout?: true };

/** A score is a number on a line; what is longer is none. */
export const longestScoreBytes = 256;

export type CallRequest = {
  /** sha256 (hex) of name and canonical arguments: the same id with another digest is a conflict. */
  readonly digest: string;
  readonly action: ExecAction | BuiltinAction | GradeAction | QueryAction;
  /** Counted from the command's own start. */
  readonly timeoutMs: number;
  /**
   * For how long its clock may pause while the machine starves the sandbox. An older sandboxd ignores this for all that is no grade, and one
   * before it for grades, too: their clocks do not pause.
   */
  readonly maxPauseMs?: number;
  /** Bytes kept of each stream, half head, half tail. Hard cap {@link maxKeptBytes}. */
  readonly keepBytes: number;
  /**
   * Bytes kept of each stream beside the answer, at most {@link maxOutputBytes}; fetched from `/output`. Said only where it is more
   * than `keepBytes`.
   */
  readonly outputBytes?: number;
  /** Its output can be read while it runs. */
  readonly stream?: true;
  /** The answer has its streams as bytes too ({@link CallAnswer.base64}). */
  readonly binary?: true;
  /** Kept and told in {@link Identity}: the tool's name. At most {@link maxCallLabel} characters. */
  readonly label?: string;
  /** At its timeout the tree is killed at once, without SIGTERM and the grace before. */
  readonly killAtOnce?: boolean;
  /**
   * How much of its time the rollout has left. A call that has waited here for longer does not start: it is forgotten, and its
   * requests are answered 202, because only fleet state knows whether the rollout was given more time. 0: it was not, so a call
   * that has not started ends as `late`. The latest request counts. Absent: no bound.
   */
  readonly startWithinMs?: number;
  /**
   * Of a grade: how long its turn may take in addition to the grader's own time, for its files before and its score after. Its sender waits
   * a little longer. Absent: a minute for each.
   */
  readonly aroundMs?: number;
  /** How long the call may run after that time at most, whatever its timeout and its pauses. Said only if it is less than the timeout. */
  readonly overtimeMs?: number;
};

/**
 * Maximum pause of a clock, as a multiple of its timeout. A machine with more than five times the work that it has processors for
 * needs its operator.
 */
export const maxPauseFactor = 4;

/** As many calls as one life may have. Fleet state admits fewer to a rollout (`lib/call.lua`). */
export const maxCallsOfLife = 4096;

export const maxKeptBytes = 1024 * 1024;
/** Of each stream, what gateways ask an answer to keep at most: `output_bytes` of an environment is at most this. The journal has room for 16 such answers. */
export const mostAnsweredBytes = 262_144;
/** What harnesses promise their tools of one stream. */
export const maxOutputBytes = 10 * 1024 * 1024;
export type OutputStream = 'stdout' | 'stderr';

/**
 * How it ended. `not_started` is not an exit code: the program could not be run at all. `timeoutMs` is what the command
 * was given; an older sandboxd does not say it.
 */
export type Ending =
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | {
      readonly kind: 'timed_out';
      readonly timeoutMs?: number;
      readonly exitCode?: number;
      readonly signal?: string;
    }
  | { readonly kind: 'cancelled' }
  | {
      readonly kind: 'not_started';
      readonly errno: string;
      readonly message: string;
      /** The rollout's time was over before its turn came ({@link CallRequest.startWithinMs}). */
      readonly late?: true;
    };

/** A stream as kept: `head` is all of it while nothing was cut. Bad UTF-8 is U+FFFD, also where the cut splits a character. */
export type Captured = {
  readonly head: string;
  readonly tail: string;
  /** All bytes the command wrote. */
  readonly totalBytes: number;
  /** Bytes dropped between head and tail. */
  readonly cutBytes: number;
};

/** As {@link Captured}, without a loss where the bytes are not UTF-8. */
export type CapturedBytes = { readonly head: string; readonly tail: string };

export type CallAnswer = {
  readonly callId: string;
  readonly ending: Ending;
  readonly stdout: Captured;
  readonly stderr: Captured;
  /** The kept bytes of both streams, if the request asked for them. */
  readonly base64?: Readonly<Record<OutputStream, CapturedBytes>>;
  readonly evidence: CallEvidence;
  /** Whether the call is settled with this answer, as far as is known here. */
  readonly settled?: boolean;
  /** Bytes of each stream that `/output` has, where that is more than this answer carries. */
  readonly kept?: Readonly<Record<OutputStream, number>>;
  /** Of a grade only. A turn in which no grader ran has `not_started` or `cancelled` as its ending. */
  readonly grade?: GradeTurn;
};

/** What the kernel counts for a user of a machine, or for the whole machine. */
export type SharedLimit =
  | 'inotify_instances'
  | 'inotify_watches'
  | 'epoll_watches'
  | 'pipe_memory'
  | 'pending_signals'
  | 'files_in_flight'
  | 'message_queues'
  | 'locked_memory'
  | 'pseudo_terminals';

export type CallEvidence = {
  readonly durationMs: number;
  /** Kills by the kernel for memory in this sandbox while the call ran; null where the host's cgroups cannot be read. */
  readonly outOfMemoryKills: number | null;
  /** Who lacked it, if something was killed: the sandbox at its own limit, or the machine. */
  readonly memoryLackedBy?: 'sandbox' | 'machine' | 'unknown';
  /** The disk that the sandbox shares with others of its node was full while the call ran. */
  readonly nodeDiskFull?: true;
  /** Limits of the kernel that the sandbox shares with others, and that were used up while the call ran. */
  readonly limitsUsedUp?: readonly SharedLimit[];
  /** The counts of requests to package mirrors meanwhile; absent: there were none. */
  readonly mirrors?: MirrorCounts & { readonly doubt: MirrorDoubt | null };
  /** Processes of the call that were still alive after the whole tree was killed. */
  readonly escapedProcesses: number;
  /** Processes of the call that went on in the background when it was answered. */
  readonly backgroundProcesses: number;
  /** How long before this was sent the call ended. */
  readonly endedAgoMs?: number;
  /** How long the background worked between the call before and this one; an older sandboxd does not say. */
  readonly backgroundMs?: number;
};

/** Bytes of each stream, counted from its beginning. */
export type StreamOffsets = Readonly<Record<OutputStream, number>>;
export type MutableOffsets = Record<OutputStream, number>;

/**
 * A piece of what a call printed, at its offset. `lost`: so many bytes from there on are no longer kept, because the reader was too
 * slow. `end`: the call is done, and nothing more comes from here; what its answer has is the last word.
 */
export type StreamLine =
  | { readonly stream: OutputStream; readonly at: number; readonly base64: string }
  | { readonly stream: OutputStream; readonly at: number; readonly lost: number }
  | { readonly end: true };
export type PieceLine = Exclude<StreamLine, { readonly end: true }>;

/** The end of the longest stream: an offset has at most 15 digits, here and on the native face. */
export const longestStreamBytes = 999_999_999_999_999;
/** Most bytes in one line. */
export const streamPieceBytes = 64 * 1024;
/** Most bytes of one request to `/stdin`. */
export const maxStdinBytes = 1024 * 1024;

/**
 * `received`: bytes of stdin so far; a link gives it up to the end of what it sent. Fewer: there was no room for them within `waitMs`, because the command does not
 * read. `open`: false once it takes nothing more: the command has ended, it has closed its stdin, or `end` was sent.
 */
export type StdinReply = { readonly received: number; readonly open: boolean };
