import { type BootId, type SandboxId, templateDigest, type TemplateDigest } from '#src/model/ids.ts';
import type { FailureCode } from '#src/failure/codes.ts';
import type { Failure } from '#src/failure/failure.ts';
import type { RolloutKey, SandboxAddress } from '#src/model/rollout.ts';
import type { Announcement, KnownSandbox, Launch, PoolStore, TemplateCounts } from '#src/ports/fleet/pool.ts';

export type FakePoolStore = PoolStore & {
  readonly readied: {
    readonly sandbox: SandboxId;
    readonly boot: BootId;
    readonly address: SandboxAddress;
  }[];
  readonly failures: {
    readonly sandbox: SandboxId;
    readonly code: FailureCode;
    readonly message: string;
    readonly reason: string | null;
  }[];
  readonly forgotten: SandboxId[];
  readonly withdrawn: SandboxId[];
  readonly retirements: {
    readonly template: TemplateDigest;
    readonly maxAgeMs: number;
    readonly keepReady: number;
  }[];
  readonly announcements: Announcement[];
  readonly looks: (readonly TemplateDigest[])[];
  /** What the methods answer; tests write it. */
  readonly answers: {
    counts: readonly TemplateCounts[];
    /** What the next reservations get, in this order; each is under the next of the names that are asked for. */
    launches: Omit<Launch, 'sandbox'>[];
    isUnplanned: boolean;
    starts: readonly Launch[];
    /** Who gets a sandbox that becomes ready. */
    waiter: RolloutKey | null;
    draining: readonly SandboxId[];
    overdue: readonly SandboxId[];
    known: Map<SandboxId, KnownSandbox>;
    /** Thrown by the next call of any method, once. */
    nextError: Failure | null;
  };
  /** Rings whoever listens for work. */
  hint(): void;
};

/** A sandbox that fleet state knows: ready and nobody's, unless something else is said. */
export const fakeKnown = (changes: Partial<KnownSandbox> = {}): KnownSandbox => ({
  phase: 'ready',
  sinceMs: 0,
  owner: null,
  template: templateDigest('template-a'),
  journalUnread: false,
  ...changes,
});

/** Redis' own time, which stands still. */
const nowMs = 1_000_000;

/** Fleet state as the pool sees it, told what to answer, remembering what it was told. */
export function createFakePoolStore(): FakePoolStore {
  const answers: FakePoolStore['answers'] = {
    counts: [],
    launches: [],
    isUnplanned: false,
    starts: [],
    waiter: null,
    draining: [],
    overdue: [],
    known: new Map(),
    nextError: null,
  };
  const listeners = new Set<() => void>();
  const readied: FakePoolStore['readied'] = [];
  const failures: FakePoolStore['failures'] = [];
  const forgotten: SandboxId[] = [];
  const withdrawn: SandboxId[] = [];
  const retirements: FakePoolStore['retirements'] = [];
  const announcements: FakePoolStore['announcements'] = [];
  const looks: FakePoolStore['looks'] = [];

  const answer = <Value>(value: Value): Promise<Value> => {
    const { nextError } = answers;
    answers.nextError = null;
    return nextError === null ? Promise.resolve(value) : Promise.reject(nextError);
  };
  const noted = <Entry>(list: Entry[], entry: Entry) => answer(undefined).then(() => void list.push(entry));

  return {
    answers,
    readied,
    failures,
    forgotten,
    retirements,
    withdrawn,
    announcements,
    looks,
    hint: () => {
      for (const listener of listeners) listener();
    },
    counts: (templates) => answer(templates.map((template) => countsOf(answers.counts, template))),
    lookAt: (templates) => noted(looks, templates),
    knownTemplates: () => answer(answers.counts.map((one) => one.template)),
    reserve: (names) => {
      const launches = answers.launches.splice(0, names.length);
      const reserved = launches.flatMap((launch, place) => {
        const sandbox = names[place];
        return sandbox === undefined ? [] : [{ sandbox, ...launch }];
      });
      return answer({ launches: reserved, starting: reserved.length, isUnplanned: answers.isUnplanned });
    },
    starts: () => answer(answers.starts),
    ready: (sandbox, boot, address) => noted(readied, { sandbox, boot, address }).then(() => answers.waiter),
    launchFailed: (sandbox, code, message, reason) => noted(failures, { sandbox, code, message, reason }),
    overdueLaunches: () => answer(answers.overdue),
    takeErrands: (_errand, sandboxes) => answer(sandboxes),
    draining: (limit) => answer(answers.draining.slice(0, limit)),
    announce: (_template, announcement) =>
      noted(announcements, announcement).then(() => nowMs + announcement.lifeMs),
    withdraw: (sandbox) => noted(withdrawn, sandbox).then(() => true),
    retire: (template, maxAgeMs, keepReady) =>
      noted(retirements, { template, maxAgeMs, keepReady }).then(() => 0),
    forget: (sandbox) => noted(forgotten, sandbox),
    known: (sandboxes) =>
      answer(new Map([...answers.known].filter(([one]) => sandboxes?.includes(one) ?? true))),
    // A whole turn at each reading: what is not in it is there no more.
    moved: () =>
      answer({ place: '', startsOver: false, isWhole: true, isBehind: false, sandboxes: [...answers.known] }),
    onWork: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** A template that nothing was told of has nothing. */
function countsOf(told: readonly TemplateCounts[], template: TemplateDigest): TemplateCounts {
  const none = { ready: 0, launching: 0, held: 0, waiting: 0, oldestWaitMs: 0, announced: 0 };
  const found = told.find((one) => one.template === template);
  return found ?? { template, ...none, breaker: 'closed', lastFailure: null };
}
