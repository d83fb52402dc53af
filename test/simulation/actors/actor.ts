import { WireError } from '#services/sandboxd/wire-error.ts';
import type { GradeTurn, SandboxdError, UserIsolation } from '#src/protocol/sandboxd/wire.ts';
import type { Chance } from '../engine/chance.ts';

/*
 * A world with an actor has no other fault. What fails there is what the actor brings about, at each step at which a rollout's own
 * sandbox could fail it, so whose doing an end was is known.
 *
 *   adversary     the policy: it fails its own sandbox, to be discarded instead of scored. It can do what a policy can do there.
 *   honest_fault  the machine: it fails the sandbox at the same steps.
 */
export const actors = ['adversary', 'honest_fault'] as const;
export type Actor = (typeof actors)[number];

/** A step of a rollout whose answer comes from its sandbox. `grader`: in a sandbox of its own, by what the policy left. */
export const steps = ['call', 'grade', 'artifacts', 'attachments', 'grader'] as const;
export type Step = (typeof steps)[number];

/** What happens at a step: the sandbox's answer, its silence, or its end. `grade`: what a grade's answer says of it; null: nothing. */
export type Act =
  | { readonly kind: 'refuses'; readonly code: SandboxdError; readonly errno: string }
  | { readonly kind: 'spoils'; readonly grade: GradeTurn | null }
  | { readonly kind: 'silent'; readonly forMs: number }
  | {
      readonly kind: 'ends';
      readonly cause: 'out_of_memory' | 'sandboxd_killed' | 'sandbox_exited' | 'node_lost';
      readonly signal?: string;
    };

/** One act, at the first step of its kind, or again and again. */
export type Deed = { readonly step: Step; readonly act: Act; readonly again: boolean; times: number };

/**
 * What the policy's files can be. `ENOMEM` and `SIGKILL` say that the sandbox was full by its own account; EAGAIN is a file that
 * another process holds.
 */
const ofFiles = [
  'ENOENT',
  'EACCES',
  'EFBIG',
  'ELOOP',
  'ENODEV',
  'ENAMETOOLONG',
  'EAGAIN',
  'ENOMEM',
  'SIGKILL',
];
/** What the policy can let a reader say that has its own id, or do to it. */
const bySameId = ['EIO', 'ESTALE', 'ETIMEDOUT', 'LOST', 'EBUSY'];
/** What a disk, a full machine, or a payload without its reader makes of a read. */
const ofMachine = ['EIO', 'ETIMEDOUT', 'LOST', 'EBUSY'];

/** How sandboxd ends by a mistake of its own: a file of its own that is gone, or a page of its program that cannot be read. */
const crashes: readonly Act[] = [
  { kind: 'ends', cause: 'sandbox_exited' },
  { kind: 'ends', cause: 'sandboxd_killed', signal: 'SIGBUS' },
];

/** What sandboxd says of a grader's folder if its own account shows a shortage, and what it says of time, a disk or a machine. */
const byAccount = ['ENOMEM', 'SIGKILL'];
const withoutAccount = ['EIO', 'ENOSPC', 'ETIMEDOUT', 'LOST'];

/** What a policy that has sandboxd's id may say in its place. The last three make no sense. */
const lies = [
  'expired',
  'not_bound',
  'bound_elsewhere',
  'other_sandbox',
  'not_found',
  'internal',
  'call_conflict',
  'unknown_call',
] as const satisfies readonly SandboxdError[];

const spoiled = (errnos: readonly string[]): readonly Act[] =>
  errnos.map((errno) => ({ kind: 'spoils', grade: { kind: 'folder_failed', errno, message: errno } }));
const survivors: Act = { kind: 'spoils', grade: { kind: 'survivors', count: 1 } };
const noGrade: Act = { kind: 'spoils', grade: null };

/** Of a rollout, at most one kind of deed. Null: this policy, or its machine, does nothing here. */
export function planDeed(actor: Actor, isolation: UserIsolation, chance: Chance): Deed | null {
  if (!chance.happens(actShare)) return null;
  return deedAt(chance.pick(steps), actor, isolation, chance);
}

export function deedAt(step: Step, actor: Actor, isolation: UserIsolation, chance: Chance): Deed {
  const act =
    crashAt(step, actor, isolation, chance.fork('crash')) ??
    (actor === 'adversary' ? policysAct(step, isolation, chance) : machinesAct(step, chance));
  // A policy that has another id than sandboxd cannot keep the processor from it: sandboxd has nine times its share.
  const isBrief = act.kind === 'silent' && actor === 'adversary' && isolation === 'two-user';
  const isOnce = isBrief || (actor === 'honest_fault' && isWantOfMemory(act));
  return { step, act, again: !isOnce && chance.happens(0.7), times: 0 };
}

/** A machine that lacks memory for a moment can bring it about next to a want of the sandbox's own, and not again after a pause. */
const isWantOfMemory = (act: Act): boolean =>
  act.kind === 'spoils' && act.grade?.kind === 'folder_failed' && byAccount.includes(act.grade.errno);

/** The rest shows what happens next to it. */
const actShare = 0.8;

/** Drawn apart, so that the rest of a seed's story does not depend on it. Only with sandboxd's id can a policy bring it about. */
function crashAt(step: Step, actor: Actor, isolation: UserIsolation, chance: Chance): Act | null {
  const isAble = actor === 'honest_fault' || (isolation === 'single-user' && step !== 'grader');
  return isAble && chance.happens(crashShare) ? chance.pick(crashes) : null;
}

const crashShare = 0.15;

const killed: Act = { kind: 'ends', cause: 'sandboxd_killed', signal: 'SIGKILL' };

function policysAct(step: Step, isolation: UserIsolation, chance: Chance): Act {
  const isOneId = isolation === 'single-user';
  const isFiles = step === 'artifacts' || step === 'attachments';
  const isGrade = step === 'grade' || step === 'grader';
  const errnos = isOneId ? [...ofFiles, ...bySameId] : ofFiles;
  const kinds: readonly Act[] = [
    ...(isOneId ? lies.map((code) => ({ kind: 'refuses', code, errno: '' }) as const) : []),
    ...(isGrade ? spoiled(byAccount) : []),
    ...(isGrade && isOneId ? [...spoiled(withoutAccount), survivors, noGrade] : []),
    ...(isFiles ? errnos.map((errno) => ({ kind: 'refuses', code: 'file_error', errno }) as const) : []),
    { kind: 'silent', forMs: chance.between(500, isOneId ? 90_000 : 3_000) },
    { kind: 'ends', cause: 'out_of_memory' },
    ...(isOneId && step !== 'grader' ? [killed] : []),
  ];
  return chance.pick(kinds);
}

function machinesAct(step: Step, chance: Chance): Act {
  const isFiles = step === 'artifacts' || step === 'attachments';
  const isGrade = step === 'grade' || step === 'grader';
  const kinds: readonly Act[] = [
    ...(isGrade ? [...spoiled(withoutAccount), survivors] : []),
    // Graders elsewhere have no time for a second try in these worlds.
    ...(step === 'grade' ? spoiled(byAccount) : []),
    ...(isFiles ? ofMachine.map((errno) => ({ kind: 'refuses', code: 'file_error', errno }) as const) : []),
    ...(isFiles ? [{ kind: 'refuses', code: 'internal', errno: 'ENOENT' } as const] : []),
    { kind: 'silent', forMs: chance.between(500, 90_000) },
    { kind: 'ends', cause: 'node_lost' },
  ];
  return chance.pick(kinds);
}

/** What sandboxd answers of it. */
export function refusalFor({ code, errno }: Extract<Act, { kind: 'refuses' }>): WireError {
  return new WireError(code, `it is refused: ${code} ${errno}`, errno === '' ? undefined : errno);
}
