/** Which files each suite of tests has, and what it proves. `docs/contributing.md` shows this table; `vitest*.config.ts` run it. */
export type Suite = {
  readonly command: string;
  readonly files: readonly string[];
  readonly without?: readonly string[];
  readonly promise: string;
};

/** Slow by their nature: they break processes again and again, fill memory, measure, play hundreds of worlds, or walk through a whole page. */
const deep = [
  'test/e2e/attachments-in-memory.test.ts',
  'test/e2e/attacks/stop-the-machine.test.ts',
  'test/e2e/bad-neighbours.test.ts',
  'test/e2e/faults/{busy-machine,connections,gateway-steps,launches,races,redis,redis-in-production}.test.ts',
  'test/e2e/faults/{starved-sandbox,stopped-sandbox,two-gateways}.test.ts',
  'test/e2e/{first-environment,gallery,gallery-made,nothing-left-behind}.test.ts',
  'test/e2e/how-to/*.test.ts',
  'test/e2e/load.test.ts',
  'test/integration/browser/*.test.ts',
  'test/integration/cli/{attack,ladder,study}.test.ts',
  'test/integration/gallery/*.test.ts',
  'test/integration/gateway/{cost-of-input,heap,many-inputs}.test.ts',
  'test/integration/images/in-their-own-root.test.ts',
  'test/integration/memory/**/*.test.ts',
  'test/integration/node/{crash,many-images,uncharged-memory}.test.ts',
  'test/integration/redis/coming-back.test.ts',
  'test/integration/terminals/{against-tmux,attacks}.test.ts',
  'test/simulation/many-worlds.test.ts',
  'test/simulation/planted-bugs.test.ts',
];

/** Of `whole`: files that share one fleet, see `test/support/shared-fleet.ts`. */
export const sharingOneFleet = [
  'test/e2e/failures/{answer-expired,call-conflict,dependency-failed,environment-mismatch,grader-failed}.test.ts',
  'test/e2e/failures/{invalid-request,item-mismatch,item-missing,judge-suspect,models-own,payload-too-large}.test.ts',
  'test/e2e/failures/{requirements-unmet,rollout-closed,rollout-unknown,run-closed,score-conflict}.test.ts',
  'test/e2e/failures/{setup-failed,still-running,tool-not-configured,unauthorized,unknown-call}.test.ts',
  'test/e2e/failures/{unknown-environment,voided}.test.ts',
  'test/e2e/faults/{judges,models-own-errors}.test.ts',
  'test/e2e/attacks/{escape-by-input,forge-a-reward,hurt-a-neighbour,read-the-answer}.test.ts',
  'test/e2e/{artifact-room,attached-files,generated-client,penalty-of-background,task-demands}.test.ts',
  'test/e2e/{terminal-sessions,walking-skeleton,whole-rollout}.test.ts',
];

/** The slowest files of each suite, the slowest first: `test/support/slowest-first.ts` starts them before all others, in this order. */
export const slowest = [
  'test/cluster/own/how-to.test.ts',
  'test/cluster/own/failures/failing-starts.test.ts',
  'test/cluster/own/failures/neighbors-disk.test.ts',
  'test/cluster/own/data-on-pods.test.ts',
  'test/cluster/own/sandboxd-in-a-pod.test.ts',
  'test/simulation/planted-bugs.test.ts',
  'test/e2e/gallery-made.test.ts',
  'test/e2e/faults/redis-in-production.test.ts',
  'test/e2e/gallery.test.ts',
  'test/simulation/many-worlds.test.ts',
  'test/integration/node/uncharged-memory.test.ts',
  'test/integration/node/many-images.test.ts',
  'test/e2e/attachments-in-memory.test.ts',
  'test/integration/cli/attack.test.ts',
  'test/e2e/bad-neighbours.test.ts',
  'test/e2e/how-to/swe-bench.test.ts',
  'test/e2e/load.test.ts',
  'test/integration/redis/coming-back.test.ts',
  'test/e2e/first-environment.test.ts',
  'test/e2e/attacks/escape-a-low-score.test.ts',
  'test/e2e/changes.test.ts',
  'test/e2e/e2b-face.test.ts',
  'test/e2e/failures/request-lost.test.ts',
  'test/e2e/trajectories.test.ts',
  'test/e2e/environments-change.test.ts',
  'test/e2e/attacks/forge-a-reward.test.ts',
  'test/integration/sandboxd/grading.test.ts',
  'test/e2e/grade-elsewhere.test.ts',
  'test/integration/sandboxd/frozen.test.ts',
  'test/e2e/fleet-story.test.ts',
  'test/e2e/follow-run.test.ts',
  'test/integration/controller/controller.test.ts',
  'test/simulation/simulation.test.ts',
  'test/integration/cli/preflight.test.ts',
  'test/integration/cli/regrade.test.ts',
] as const;

/** Next to the code like unit tests, and not done within seconds: they make the gallery's data, fit policies, start Vitest, a compiler or Python. */
const slowBesideCode = {
  deep: ['gallery/generators.test.ts', 'src/tools/cost-of-arguments.test.ts'],
  whole: [
    'demo/policies/policies.test.ts',
    'src/adapters/prometheus/large-fleet.test.ts',
    'tools/client-pages/page.test.ts',
    'tools/count-reporter.test.ts',
  ],
};

const docs = 'test/docs/**/*.test.ts';
const inBrowser = 'test/console/**/*.test.ts';
const parity = 'test/parity/**/*.test.ts';
const ofClients = 'test/clients/**/*.test.ts';
const release = 'test/release/**/*.test.ts';
const onClusters = ['test/cluster/**/*.test.ts', 'test/chart/**/*.test.ts', 'test/alerts/**/*.test.ts'];

export const suites = {
  unit: {
    command: 'npm run test:unit',
    files: ['{src,services,cli,console,demo,gallery,bench,loadtest,tools,infra,setup}/**/*.test.ts'],
    without: [...slowBesideCode.deep, ...slowBesideCode.whole],
    promise:
      'decisions are right: tables of cases, and flows with recording fakes. Without root, within seconds',
  },
  whole: {
    command: 'npm test',
    files: ['test/**/*.test.ts', ...slowBesideCode.whole],
    without: [...onClusters, ofClients, docs, inBrowser, parity, release, ...deep],
    promise:
      'no failure becomes a score: one test for each failure code; no attack escapes; ports, Redis, sandboxes and fleets work. It runs `unit` first',
  },
  deep: {
    command: 'npm run test:deep',
    files: [...deep, ...slowBesideCode.deep],
    promise:
      'the same while processes die, Redis is away and connections break; planted bugs are found; the gallery works from scratch; memory stays bounded',
  },
  clients: {
    command: 'npm run test:clients',
    files: [ofClients],
    promise:
      'an infrastructure failure never becomes a reward in any framework, with the Python and the TypeScript client',
  },
  docs: {
    command: 'npm run test:docs',
    files: [docs],
    promise:
      'the site shows every page as written, in both color schemes and on a phone. CI runs `npm run docs`, the part without a browser',
  },
  console: {
    command: 'npm run test:console',
    files: [inBrowser],
    promise:
      'the console in a browser, in both color schemes and at 390 pixels: hostile texts stay text, axe finds nothing, large runs stay within budgets',
  },
  parity: {
    command: 'npm run test:parity',
    files: [parity],
    promise:
      'a program behaves in a sandbox as in Docker, except for [the differences](differences.md). Too slow for `npm test` and CI',
  },
  cluster: {
    command: 'npm run test:cluster',
    files: ['test/cluster/**/*.test.ts'],
    promise:
      'failing pods, starts and nodes on Kubernetes are reported with the right cause; sandboxes are isolated there',
  },
  chart: {
    command: 'npm run test:chart',
    files: ['test/chart/**/*.test.ts'],
    promise: 'the Helm chart renders, refuses, installs, rolls under load and leaves nothing',
  },
  release: {
    command: 'npm run test:release',
    files: [release],
    promise:
      'the release builds reproducibly, and installs from registries up to a graded rollout: images, chart and packages',
  },
  alerts: {
    command: 'npm run test:alerts',
    files: ['test/alerts/**/*.test.ts'],
    promise: 'each fault fires its alerts, blames no other part, and is over when it is fixed',
  },
} as const satisfies Readonly<Record<string, Suite>>;
