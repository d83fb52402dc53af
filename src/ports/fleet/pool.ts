import type { FailureCode } from '#src/failure/codes.ts';
import type {
  BootId,
  EnvironmentName,
  EnvironmentVersion,
  RunId,
  SandboxId,
  TemplateDigest,
  TenantId,
} from '#src/model/ids.ts';
import type { RolloutKey, SandboxAddress } from '#src/model/rollout.ts';
import type { TemplateChoice } from '#src/model/template-choice.ts';

export type TemplateCounts = {
  readonly template: TemplateDigest;
  /** Ready and nobody's. */
  readonly ready: number;
  /** Asked for and not yet seen ready. */
  readonly launching: number;
  /** Of a rollout. */
  readonly held: number;
  /** Waiting rollouts that a gateway renewed lately. */
  readonly waiting: number;
  /** How long the one of them has waited that came first; 0: none waits. */
  readonly oldestWaitMs: number;
  /** Sandboxes that announced bursts ask to be ready now, beside or above the pool's own minimum. */
  readonly announced: number;
  readonly breaker: Breaker;
  readonly lastFailure: {
    readonly code: FailureCode;
    readonly message: string;
    readonly atMs: number;
  } | null;
};

/** `open`: ten failures in a row stopped launches; `probing`: one try is out; one success closes it. */
export type Breaker = 'closed' | 'open' | 'probing';

export type PoolTarget = {
  readonly template: TemplateDigest;
  readonly minReady: number;
  readonly max: number;
  /** If a row or a demand made the template: of which environment. Starts of such templates share slots: `pullSlots` in `adapters/redis/pool-store.ts`. */
  readonly chosenFor?: EnvironmentVersion;
  /** `max` holds for all templates of the group together; absent: the template is alone in it. */
  readonly group?: string;
  /** Of how many sandboxes it takes the place in `max`; absent: one. A sandbox that is alone in its group always has room. */
  readonly weight?: number;
  /** How many places of `max` stay free for its graders while there are sandboxes of it; absent: none. */
  readonly forGraders?: number;
  readonly role?: 'grader';
  /** Whose cost it is while no rollout has it: the first of those that use the template. */
  readonly environment?: EnvironmentName;
};

/** What a run says that it will need of a template at once, counted for `lifeMs` from now. */
export type Announcement = {
  readonly tenant: TenantId;
  readonly run: RunId;
  readonly count: number;
  readonly lifeMs: number;
  /** As in a claim. */
  readonly chosen?: TemplateChoice;
};

export type Errand = 'destroy' | 'label';

/** One sandbox that has a start slot, and what it is for. */
export type Launch = {
  readonly sandbox: SandboxId;
  readonly template: TemplateDigest;
  /** Whose cost it is while no rollout has it; `unknown`: of a start that an older release reserved. */
  readonly environment: EnvironmentName;
  /** A rollout waits, a burst is announced, or the pool is below its minimum. */
  readonly reason: 'waiting' | 'announced' | 'refill';
  /** `tenant/run` whose turn it was, where rollouts wait. Which rollout gets the sandbox is decided when it is ready. */
  readonly run: string | null;
};

export type Reserved = {
  readonly launches: readonly Launch[];
  /** Sandboxes that start now, these among them. */
  readonly starting: number;
  /** A template is wanted that `targets` do not have. */
  readonly isUnplanned: boolean;
};

export type KnownSandbox = {
  readonly phase: string;
  readonly sinceMs: number;
  readonly owner: RolloutKey | null;
  readonly template: TemplateDigest;
  /** It did not answer when Redis was replaced: until its journal is read, its rollout is not graded. */
  readonly journalUnread: boolean;
};

/** One reading of what has moved; the next goes on from its place. */
export type Moved = {
  readonly place: string;
  /** The place before says nothing here: what was known is to be compared with all that comes until the turn is whole. */
  readonly startsOver: boolean;
  /** A turn through all sandboxes has ended: one that has not come since it began is there no more. */
  readonly isWhole: boolean;
  /** There are more moves than this told. */
  readonly isBehind: boolean;
  /** Null: it is forgotten. */
  readonly sandboxes: readonly (readonly [SandboxId, KnownSandbox | null])[];
};

/** Sandboxes as the pool sees them. One script a method; errors as in `claims.ts`. */
export interface PoolStore {
  counts(templates: readonly TemplateDigest[]): Promise<readonly TemplateCounts[]>;
  /** Their pools lack something, which fleet state may not know, or may have forgotten. */
  lookAt(templates: readonly TemplateDigest[]): Promise<void>;
  /** Templates that rollouts wait for, sandboxes exist of or starts have failed of in the last day; fleet state forgets the others. */
  knownTemplates(): Promise<readonly TemplateDigest[]>;
  /**
   * Gives start slots to sandboxes of these names: for waiting rollouts first (round-robin over runs), then refill up to the
   * targets, or to what is announced where that is more. Fewer launches than names: nothing more is wanted, or the start
   * budget is used up. `targets` are all of the caller's, the same list until something in it changes.
   */
  reserve(
    sandboxes: readonly SandboxId[],
    targets: readonly PoolTarget[],
    startBudget: number,
    startTimeoutMs: number,
  ): Promise<Reserved>;
  /** Starts that have been under way for `forMs` at least. */
  starts(forMs: number): Promise<readonly Launch[]>;
  /** The sandbox answered its no-op: ready, and granted at once to who waits. Returns who got it. */
  ready(sandbox: SandboxId, boot: BootId, address: SandboxAddress): Promise<RolloutKey | null>;
  /**
   * `reason`: why every other sandbox of the template would fail too, in the same words for each; null: another may well
   * start. Three in a row with the same one stop its starts, and whoever waits for it is told (`FailingStarts`).
   */
  launchFailed(sandbox: SandboxId, code: FailureCode, message: string, reason: string | null): Promise<void>;
  /** Starts whose timeout has passed: gives their slots back and returns them for destruction. */
  overdueLaunches(): Promise<readonly SandboxId[]>;
  /** Sandboxes to destroy: let go by their rollouts, failed to start, or swapped away. */
  draining(limit: number): Promise<readonly SandboxId[]>;
  /**
   * Of these, those that no controller was given for this errand in the last five seconds: each is one write at the provider,
   * and every controller sees the same work. Who failed is given it again after that.
   */
  takeErrands(errand: Errand, sandboxes: readonly SandboxId[]): Promise<readonly SandboxId[]>;
  /**
   * Keeps sandboxes of the template ready for a burst; the run's earlier announcement for it is replaced. Returns until
   * when, in Redis' own time. Throws `line_full` when too many runs announce.
   */
  announce(template: TemplateDigest, announcement: Announcement): Promise<number>;
  /** Sends unclaimed ready sandboxes older than `maxAgeMs`, or more than `keepReady` and what is announced, to draining. */
  retire(template: TemplateDigest, maxAgeMs: number, keepReady: number): Promise<number>;
  /**
   * Sends one that will not stay to draining, if it is nobody's, ready or still starting; whether it was. A start that ends
   * so is not its template's failure: `why` is for people.
   */
  withdraw(sandbox: SandboxId, why: string): Promise<boolean>;
  /** The provider no longer has it: forget it. */
  forget(sandbox: SandboxId): Promise<void>;
  /** Every sandbox that fleet state knows, or those of `sandboxes` that it does. As long as the fleet is large. */
  known(sandboxes?: readonly SandboxId[]): Promise<ReadonlyMap<SandboxId, KnownSandbox>>;
  /**
   * What has moved since `place`, which a reading before gave (`''`: none did), and some `portion` of all sandboxes in
   * turn, whoever moved them. As long as what has moved.
   */
  moved(place: string, portion: number): Promise<Moved>;
  /** Calls the listener when rollouts wait or sandboxes are to be destroyed; a hint only. Returns how to stop. */
  onWork(listener: () => void): () => void;
}
