/**
 * How long the fleet waits, and when it concludes that something failed: one table, because most of these durations only
 * make sense together. `CORRAL_TIMINGS` changes them, in every process of a fleet alike.
 *
 * `patience`: shorter costs a retry, longer costs time. `detection`: decides that something is lost; if it is too short, a
 * busy machine looks broken, so that it is never below {@link shortestDetectionMs}.
 */
type Timing = { readonly ms: number; readonly kind: 'patience' | 'detection'; readonly what: string };

const table = {
  requestHoldMs: {
    ms: 540_000,
    kind: 'patience',
    what: 'holding a request on the RFT face. Platforms hang up after ten minutes, and proxies need a margin',
  },
  longestRftCommandMs: {
    ms: 480_000,
    kind: 'patience',
    what: 'the longest command on the RFT face, where one request holds both the wait and the command',
  },
  lineReserveMs: {
    ms: 10_000,
    kind: 'patience',
    what: 'what the wait for a sandbox leaves of an RFT request, in addition to the command',
  },
  longestLineMs: { ms: 300_000, kind: 'patience', what: 'the wait of a request for a sandbox' },
  openingMs: {
    ms: 30_000,
    kind: 'patience',
    what: 'trying to open a rollout on the native face, or to announce a burst. A Redis that restarts or fails over takes some ten seconds',
  },
  e2bLineMs: {
    ms: 50_000,
    kind: 'patience',
    what: 'the wait of an E2B client’s request for its sandbox. Such clients hang up after a minute',
  },
  settleGraceMs: {
    ms: 30_000,
    kind: 'detection',
    what: 'the answer of a command after its own timeout: killing its tree, a busy machine, a new connection',
  },
  keptForRepeatsMs: {
    ms: 2_400_000,
    kind: 'patience',
    what: 'keeping the answers of a closed rollout. Platforms repeat a request up to four times',
  },
  placeKeptMs: {
    ms: 120_000,
    kind: 'patience',
    what: 'keeping the place in line of a rollout whose client was disconnected',
  },
  waveStaysOpenMs: {
    ms: 600_000,
    kind: 'patience',
    what: 'waiting for the next rollout of a group before its wave closes',
  },
  breakerProbeMs: {
    ms: 30_000,
    kind: 'patience',
    what: 'the pause between two trial starts of a template whose starts fail',
  },
  callSilenceMs: {
    ms: 30_000,
    kind: 'detection',
    what: 'silence of a sandbox that has said that a call runs there',
  },
  answerGraceMs: {
    ms: 10_000,
    kind: 'detection',
    what: 'the answer of a healthy sandbox on a busy machine, after the time that a request asked it to wait',
  },
  grantableMs: {
    ms: 10_000,
    kind: 'detection',
    what: 'silence of a gateway after which its waiting rollouts are passed over. It renews them every 2 s',
  },
  grantUnusedMs: {
    ms: 30_000,
    kind: 'detection',
    what: 'a granted sandbox that no gateway uses. The next rollout in line gets it',
  },
  sandboxSilenceMs: {
    ms: 10_000,
    kind: 'detection',
    what: 'silence of a sandbox that the provider doubts, until it is lost. Longer than a node needs to restart its network',
  },
  overdueCallMs: {
    ms: 20_000,
    kind: 'detection',
    what: 'after the deadline of a call, until a controller settles it in place of its gateway',
  },
  overdueAgainMs: {
    ms: 30_000,
    kind: 'detection',
    what: 'until a controller looks again at an overdue call. Longer than one look takes',
  },
  gatewayReturnMs: {
    ms: 5_000,
    kind: 'detection',
    what: 'a gateway whose connection to Redis has ended, until it counts as gone with the requests that it had',
  },
  runLeaseMs: {
    ms: 300_000,
    kind: 'detection',
    what: 'silence of a run on the native face, until its rollouts are released',
  },
  unnamedSandboxMs: {
    ms: 30_000,
    kind: 'detection',
    what: 'after a loss of Redis data, waiting for a sandbox that does not say whose it is',
  },
} as const satisfies Readonly<Record<string, Timing>>;

export type TimingName = keyof typeof table;
/** Milliseconds by name. */
export type Timings = Readonly<Record<TimingName, number>>;

export const timingTable: Readonly<Record<TimingName, Timing>> = table;
export const timingNames = Object.keys(table) as readonly TimingName[];

export const productionTimings = Object.fromEntries(
  timingNames.map((name) => [name, table[name].ms]),
) as Timings;

/** The durations that differ from production's, by name. */
export type TimingChanges = Readonly<Partial<Record<TimingName, number>>>;

/** What one process is configured with. */
export type TimingSettings = {
  readonly timings: Timings;
  /** The timings that the fleet's running processes may still have, because these replace them; null: no others are accepted. */
  readonly replacedTimings: TimingChanges | null;
};

/** How these differ from production's, in the order of the table: two processes of a release with the same changes have the same timings. */
export function changedTimings(timings: Timings): TimingChanges {
  const changed = timingNames.filter((name) => timings[name] !== productionTimings[name]);
  return Object.fromEntries(changed.map((name) => [name, timings[name]]));
}

/** A sentence for each duration that differs: `requestHoldMs is 300000 here and 540000 in the fleet`. */
export function timingDifferences(own: TimingChanges, fleets: TimingChanges): readonly string[] {
  const msIn = (changes: TimingChanges, name: TimingName) => changes[name] ?? productionTimings[name];
  return timingNames
    .filter((name) => msIn(own, name) !== msIn(fleets, name))
    .map((name) => `${name} is ${msIn(own, name)} here and ${msIn(fleets, name)} in the fleet`);
}

export const shortestDetectionMs = 5_000;

/** What must hold between them. */
export const timingRelations: readonly {
  readonly rule: string;
  readonly because: string;
  readonly holds: (timings: Timings) => boolean;
}[] = [
  {
    rule: 'requestHoldMs ≥ longestRftCommandMs + settleGraceMs + lineReserveMs',
    because: 'one RFT request holds the wait, the longest command and its answer',
    holds: (t) => t.requestHoldMs >= t.longestRftCommandMs + t.settleGraceMs + t.lineReserveMs,
  },
  {
    rule: 'requestHoldMs ≥ longestLineMs',
    because: 'no rollout waits in line for longer than its request is held',
    holds: (t) => t.requestHoldMs >= t.longestLineMs,
  },
  {
    rule: 'keptForRepeatsMs ≥ 4 × requestHoldMs',
    because: 'a platform that repeats its last request four times still gets the answer',
    holds: (t) => t.keptForRepeatsMs >= 4 * t.requestHoldMs,
  },
  {
    rule: 'placeKeptMs ≥ grantableMs',
    because: 'a rollout is passed over before it loses its place',
    holds: (t) => t.placeKeptMs >= t.grantableMs,
  },
  {
    rule: 'grantUnusedMs > grantableMs',
    because: 'a gateway that is only late still finds the sandbox that was granted',
    holds: (t) => t.grantUnusedMs > t.grantableMs,
  },
  {
    rule: 'overdueCallMs > answerGraceMs',
    because: 'a gateway that is alive settles its own calls',
    holds: (t) => t.overdueCallMs > t.answerGraceMs,
  },
];

/** A sentence for each rule that these break. */
export function timingMistakes(timings: Timings): readonly string[] {
  const tooShort = timingNames
    .filter((name) => table[name].kind === 'detection' && timings[name] < shortestDetectionMs)
    .map(
      (name) =>
        `${name} is ${timings[name]}, below ${shortestDetectionMs}: a busy machine would look broken. Choose ${shortestDetectionMs} or more`,
    );
  const broken = timingRelations
    .filter(({ holds }) => !holds(timings))
    .map(({ rule, because }) => `${rule} does not hold: ${because}. Change one of them`);
  return [...tooShort, ...broken];
}
