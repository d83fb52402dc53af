/**
 * Which part of the source may know which. Arrows point toward `src/model`; the reason stands beside each room and is
 * printed to whoever crosses a border. The first room whose pattern matches a file is that file's room, so narrow
 * patterns stand before wide ones.
 */
export type Room = {
  readonly name: string;
  readonly files: RegExp;
  /** Path prefixes (beside the file's own folder, see `own`) that it may import. */
  readonly may: readonly string[];
  /** Path prefix that counts as the room's own; the file's match of it must be the same. */
  readonly own: RegExp;
  /** npm packages it may import. */
  readonly packages: readonly string[] | 'any';
  /** Whether Node's built-in modules may be imported. */
  readonly builtins: boolean;
  readonly because: string;
};

const contract = ['src/model/', 'src/failure/', 'src/protocol/', 'src/ports/'];

/** Libraries that only compute: they read no file, open no socket, know no clock. */
const pureLibraries = ['ajv', 'canonicalize', 're2js', 'typebox', 'yaml'];

/** What adapters try again stands in the one table of that, and is tried by its one loop. */
const retrying = ['src/waiting/retries.ts', 'src/waiting/retry-policies.ts', 'src/waiting/deadline.ts'];

const adapter = (name: string, ...packages: readonly string[]): Room => ({
  name: `adapter ${name}`,
  files: new RegExp(`^src/adapters/${name}/`),
  may: [...contract, ...retrying],
  own: new RegExp(`^src/adapters/${name}/`),
  packages,
  builtins: true,
  because:
    'an adapter wraps one library behind a port; what two adapters share belongs in a port or in platform',
});

/** `below`: the features that this one stands upon; they never know of it. */
const feature = (name: string, ...below: readonly string[]): Room => ({
  name,
  files: new RegExp(`^src/${name}/`),
  may: [...contract, ...below.map((other) => `src/${other}/`)],
  own: new RegExp(`^src/${name}/`),
  packages: pureLibraries,
  builtins: true,
  because: `a feature decides purely and reaches the world through ports; beside them ${name} stands upon ${below.join(', ') || 'no other feature'}`,
});

const features = [
  'waiting',
  'claiming',
  'calls',
  'grading',
  'pool',
  'lifecycle',
  'environments',
  'tools',
  'access',
  'recovery',
  'reports',
  'watching',
  'tracing',
];

const everything = /^/;

export const rooms: readonly Room[] = [
  {
    name: 'tests',
    files: /\.test\.ts$|^test\//,
    may: [],
    own: everything,
    packages: 'any',
    builtins: true,
    because: 'tests stand outside and may see everything',
  },
  {
    name: 'model',
    files: /^src\/model\//,
    may: [],
    own: /^src\/model\//,
    packages: [],
    builtins: false,
    because: 'the model is the nouns everybody shares; it depends on nobody',
  },
  {
    name: 'failure',
    files: /^src\/failure\//,
    may: ['src/model/'],
    own: /^src\/failure\//,
    packages: [],
    builtins: false,
    because: 'the failure table is read by everybody and knows only the nouns',
  },
  {
    name: 'sandboxd protocol',
    files: /^src\/protocol\/sandboxd\//,
    may: [],
    own: /^src\/protocol\/sandboxd\//,
    packages: [],
    builtins: false,
    because: 'it ships into every sandbox, into any image: no dependency at all',
  },
  {
    name: 'protocol',
    files: /^src\/protocol\//,
    // What a rollout is, whoever is told of it.
    may: ['src/model/', 'src/failure/', 'src/protocol/rollout/'],
    own: /^src\/protocol\/[^/]+\//,
    packages: ['typebox'],
    builtins: false,
    because: 'wire schemas describe bytes in terms of the nouns and codes',
  },
  {
    name: 'ports',
    files: /^src\/ports\//,
    may: ['src/model/', 'src/failure/', 'src/protocol/'],
    own: /^src\/ports\//,
    packages: [],
    builtins: false,
    because: 'a port says what we need of the world; naming a library there would decide it',
  },
  feature('claiming', 'waiting', 'tools', 'environments'),
  feature('calls', 'waiting', 'tools', 'claiming'),
  feature('grading', 'waiting', 'tools', 'claiming', 'calls', 'environments'),
  feature('pool', 'waiting'),
  feature('lifecycle', 'waiting', 'pool'),
  feature('recovery', 'waiting', 'pool'),
  feature('environments', 'tools'),
  ...['waiting', 'tools', 'access', 'reports', 'watching', 'tracing'].map((name) => feature(name)),
  {
    name: 'platform',
    files: /^src\/platform\//,
    // The package file says which version this is.
    may: ['src/model/', 'src/failure/', 'src/ports/', 'package.json'],
    own: /^src\/platform\//,
    packages: [],
    builtins: true,
    because: 'platform is what every process needs (clock, logs, shutdown), so it must drag nothing in',
  },
  adapter('redis-client', 'ioredis'),
  // Both speak to the same Redis: how a connection comes back is one idea, told there.
  {
    ...adapter('redis', 'ioredis', 'typebox'),
    may: [...contract, ...retrying, 'src/adapters/redis-client/'],
  },
  // BullMQ takes its connection as an ioredis client.
  { ...adapter('bullmq', 'bullmq', 'ioredis'), may: [...contract, 'src/adapters/redis-client/'] },
  adapter('dependency-probe', 'undici'),
  adapter('local', 'undici', 'typebox'),
  // The client library's part here is credentials and types; requests go over undici.
  adapter('kubernetes', '@kubernetes/client-node', 'undici', 'typebox'),
  adapter('sandboxd-http', 'undici', 'typebox'),
  adapter('judge-http', 'undici'),
  adapter('event-log', 'typebox', 'undici'),
  adapter('event-index', 'typebox'),
  adapter('object-store', 'aws4fetch'),
  adapter('trajectories', 'typebox'),
  adapter('prometheus', 'prom-client'),
  adapter(
    'opentelemetry',
    '@opentelemetry/api',
    '@opentelemetry/core',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace',
  ),
  {
    name: 'sandboxd',
    files: /^services\/sandboxd\//,
    may: [
      'src/protocol/sandboxd/',
      'src/platform/memory-account.ts',
      'src/platform/machine-memory.ts',
      'src/model/visible-text.ts',
    ],
    own: /^services\/sandboxd\//,
    packages: [],
    builtins: true,
    because:
      'sandboxd runs inside any image with nothing but Node: no library, no source of ours but its protocol, and how a kernel counts memory',
  },
  {
    name: 'terminals',
    files: /^services\/terminals\//,
    may: ['src/protocol/sandboxd/', 'services/sandboxd/helper/tools/tool-arguments.ts'],
    own: /^services\/terminals\//,
    packages: ['@xterm/addon-unicode11', '@xterm/headless', 're2js'],
    builtins: true,
    because:
      'the server of terminals runs as the policy, apart from sandboxd: it may have libraries, and knows nothing but what its client sends',
  },
  {
    name: 'browser',
    files: /^services\/browser\//,
    may: [
      'src/protocol/sandboxd/',
      'services/sandboxd/helper/tools/tool-arguments.ts',
      'services/terminals/serve.ts',
      'services/terminals/server.ts',
    ],
    own: /^services\/browser\//,
    packages: [],
    builtins: true,
    because:
      'the server of the browser runs as the policy, as that of terminals does, and shares how that listens and answers',
  },
  {
    name: 'page',
    files: /^console\//,
    may: ['src/protocol/console/', 'src/protocol/native/fleet.ts', 'src/model/visible-text.ts'],
    own: /^console\//,
    packages: ['preact'],
    builtins: false,
    because: 'the page runs in a browser: it knows the types of answers, and how untrusted text is shown',
  },
  {
    name: 'console',
    files: /^services\/console\//,
    may: [
      ...contract,
      'src/platform/',
      'src/access/',
      'src/reports/',
      'src/adapters/event-index/',
      'src/adapters/event-log/',
      // How commands read a fleet, and where their indexes and kept texts are: a second way would find other things.
      'cli/command-error.ts',
      'cli/gateway/http-client.ts',
      'cli/stories/',
    ],
    own: /^services\/console\//,
    packages: ['fastify', '@fastify/type-provider-typebox', 'typebox'],
    builtins: true,
    because:
      'the console reads a fleet from outside, over the address and with the rights of the people who look',
  },
  {
    name: 'wiring',
    files: /^services\/[^/]+\/(main|config|([a-z-]+-)?wiring)\.ts$/,
    may: ['src/', 'infra/payload/'],
    own: /^services\/[^/]+\//,
    packages: 'any',
    builtins: true,
    because: 'wiring joins everything of its own service; services meet on the wire',
  },
  {
    name: 'services',
    files: /^services\/(gateway|controller|node)\//,
    may: [...contract, 'src/platform/', ...features.map((name) => `src/${name}/`)],
    own: /^services\/[^/]+\//,
    packages: ['fastify', '@fastify/type-provider-typebox', 'typebox'],
    builtins: true,
    because: 'adapters are chosen in wiring.ts and main.ts only; services meet on the wire',
  },
  {
    name: 'cluster',
    files: /^infra\/cluster\//,
    may: ['cli/command-error.ts', 'cli/fleet/process-identity.ts', 'infra/images/', 'src/platform/'],
    own: /^infra\/cluster\//,
    packages: ['yaml'],
    builtins: true,
    because:
      'the cluster is a place to run in, made of programs of others; it knows nothing of what runs there',
  },
  {
    name: 'monitoring',
    files: /^infra\/monitoring\//,
    may: ['cli/command-error.ts', 'infra/cluster/machine/run.ts', 'src/failure/', 'src/model/'],
    own: /^infra\/monitoring\//,
    packages: ['@grafana/grafana-foundation-sdk', 'yaml'],
    builtins: true,
    because:
      'rules and dashboards speak of a fleet by its metrics and its words for failures, never by its code',
  },
  {
    name: 'payload',
    files: /^infra\//,
    may: ['src/protocol/sandboxd/'],
    own: /^infra\//,
    packages: ['rolldown', 'yaml'],
    builtins: true,
    because: 'what is shipped into sandboxes and images is built from files, not from our running code',
  },
  {
    name: 'drawing',
    files: /^cli\/drawing\//,
    may: ['src/model/visible-text.ts'],
    own: /^cli\/drawing\//,
    packages: ['echarts'],
    builtins: false,
    because: 'a page is drawn from numbers and words; what they mean is known to whoever has it drawn',
  },
  {
    name: 'cli',
    files: /^cli\//,
    may: [
      ...contract,
      'src/platform/',
      'src/environments/',
      'src/tools/',
      'src/access/',
      'src/reports/',
      'src/adapters/event-log/',
      'src/adapters/event-index/',
      'src/adapters/object-store/',
      'src/adapters/trajectories/',
      // A rollout that was kept is graded again by the same graders, and by the same judges.
      'src/grading/',
      'src/adapters/judge-http/',
      // Pure functions, of what an operator gives to kubectl.
      'src/adapters/kubernetes/manifests/',
      // Where the API server is, as kubectl finds it, and how it is asked: before a fleet is there, and after it.
      'src/adapters/kubernetes/api/',
      'src/adapters/kubernetes/pod/labels.ts',
      'infra/payload/',
      'infra/services/',
    ],
    own: /^cli\//,
    packages: ['smol-toml', 'commander', 'echarts', 'gpt-tokenizer', 'typebox', 'undici', 'yaml'],
    builtins: true,
    because: 'the command line speaks the public protocol and starts services as processes, never as imports',
  },
  {
    name: 'gallery generators',
    files: /^gallery\/generators\//,
    may: ['gallery/generators/chance.ts'],
    own: /^gallery\/generators\/[^/]+\//,
    packages: [],
    builtins: true,
    because:
      'a build of data sees its inputs and nothing else of the project, so that its result has one digest',
  },
  {
    name: 'gallery',
    files: /^gallery\//,
    may: ['cli/'],
    own: /^gallery\//,
    packages: ['commander'],
    builtins: true,
    because: 'the gallery plays its environments by the commands that authors have',
  },
  {
    name: 'demo',
    files: /^demo\//,
    may: [
      'cli/drawing/',
      'cli/fleet/',
      'infra/cluster/',
      'infra/images/',
      'src/adapters/kubernetes/pod/',
      'src/environments/',
      'src/platform/',
      'src/model/',
      'src/failure/',
      'src/ports/',
    ],
    own: /^demo\//,
    packages: ['@kubernetes/client-node', 'commander', 'echarts', 'undici', 'yaml'],
    builtins: true,
    because:
      'the demo is a trainer: it sees the public protocol, and the fleet and its machines only to start and stop them',
  },
  {
    name: 'bench',
    files: /^bench\//,
    may: [
      'cli/fleet/',
      'src/',
      'infra/',
      'test/support/',
      // Made runs, and a browser that is logged in.
      'test/console/',
      'services/sandboxd/',
      'services/node/',
      'services/controller/config.ts',
    ],
    own: /^bench\//,
    packages: 'any',
    builtins: true,
    because:
      'the bench measures our parts alone and together, but a service only from outside; of sandboxd it makes hundreds in one process, and it starts sandboxes as node does, as many at once as a controller, to see what they cost without either',
  },
  {
    name: 'loadtest',
    files: /^loadtest\//,
    may: [
      'cli/drawing/',
      'cli/fleet/',
      'cli/command-error.ts',
      'demo/trainer/',
      'demo/command/',
      // What a fleet tells of its own starts.
      'demo/fleet/fleet-view.ts',
      'demo/fleet/namespace.ts',
      'demo/seeded-random.ts',
      // A hostile soak is played in the test cluster.
      'infra/cluster/',
      'infra/images/',
      'src/protocol/sandboxd/payload-layout.ts',
      'src/platform/',
      'src/model/',
      'src/ports/',
    ],
    own: /^loadtest\//,
    packages: ['commander', 'undici'],
    builtins: true,
    because:
      'the load test is a trainer that judges us by what it saw, and a saboteur of the fleet it started',
  },
  {
    name: 'tools',
    files: /^tools\//,
    // Pages are written from the tables of failures, retries, timings, metrics, alerts and dashboards, and from the help of the commands; the chart's schema holds those of the operator's files.
    may: [
      'cli/program.ts',
      'src/failure/',
      'src/waiting/',
      'src/model/timings.ts',
      'src/adapters/prometheus/catalogue/',
      'src/environments/schema/',
      'infra/monitoring/',
      // The page of HTTP operations is written from what a gateway says of them.
      'test/integration/gateway/gateway-under-test.ts',
      // Names in Lua are checked in the order in which Redis is given the files.
      'src/adapters/redis/keys.ts',
      'src/adapters/redis/script-library.ts',
    ],
    own: /^tools\//,
    packages: ['commander', 'luaparse', 'rolldown', 'typebox', 'vitest', 'yaml'],
    builtins: true,
    because: 'the tools check the source from outside',
  },
];
