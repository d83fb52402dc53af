import type { KeySection } from './key-row.ts';

export const runsKeys = {
  run: {
    rest: '*run*',
    type: 'hash',
    what: '`state`, `rollouts`, `scored`, `discarded`, `voided`, `decidedAtMs` (when a verdict in it was last decided), `outcome:…`, `code:…`, `sandboxMs:…`, `pin:`*environment*',
    life: '7 days after its last close or pin',
    bound: 'codes and environments',
  },
  runs: {
    rest: '*tenant*',
    type: 'zset',
    what: "a tenant's runs by last activity",
    life: '7 days',
    bound: 'runs of 7 days',
  },
  runLeases: {
    type: 'zset',
    what: 'native runs by the end of their lease (5 min)',
    life: 'until closed, or lapsed and released',
    bound: 'native runs',
  },
  rollouts: {
    rest: '*run*',
    type: 'zset',
    what: 'rollouts by ordinal',
    life: '7 days',
    bound: '20,000 newest',
  },
  open: {
    rest: '*run*',
    type: 'set',
    what: 'open rollouts',
    life: 'until closed',
    bound: 'open rollouts',
  },
  discards: {
    rest: '*run*',
    type: 'zset',
    what: 'rollouts that can never be scored, by ordinal',
    life: '7 days',
    bound: '20,000 newest',
  },
  groups: {
    rest: '*run*',
    type: 'zset',
    what: 'items by the start of their newest wave',
    life: '7 days',
    bound: '2,000 newest',
  },
  group: {
    rest: '*run*`/`*item*',
    type: 'hash',
    what: '`wave`, `startedMs`, `open`, `n` of the current wave; `<wave>:n`, `:scored`, `:discarded`, `:codes` (discards by code, as JSON), `:voided`, `:mean`, `:m2`, `:best`',
    life: '7 days after its last close',
    bound: '32 newest waves',
  },
} as const satisfies KeySection;

export const controlsKeys = {
  control: {
    rest: '*tenant*`/`*version*`/`*task*',
    type: 'hash',
    what: '`standing` and `facts` (JSON, 2 KB), or `holder` and `untilMs`, the lease of the process that plays the controls',
    life: '7 days after it was last asked for',
    bound: 'tasks of 7 days',
  },
} as const satisfies KeySection;

export const probesKeys = {
  dependency: {
    rest: '*probe*',
    type: 'hash',
    what: '`turnAtMs`, when a gateway last took the turn to probe; `goodAtMs`, when a probe was last good',
    life: 'a day after the last turn',
    bound: 'probes of the environments in use',
  },
  dependencyProbes: {
    rest: '*probe*',
    type: 'zset',
    what: 'results by their end: `beganAtMs`, `endedAtMs`, `failed` (why; missing: it was good), JSON',
    life: '75 min: longer than a call',
    bound: '4,500 of 200 B',
  },
  dependencyLoad: {
    rest: '*probe*`:`*minute*',
    type: 'hash',
    what: '*run* → calls of tools with that probe that began in the minute; `all`',
    life: '2 min',
    bound: 'runs of a minute',
  },
} as const satisfies KeySection;

export const guardsKeys = {
  judgeGuard: {
    rest: '*tenant*`/`*run*`/`*judge*',
    type: 'hash',
    what: '`tickets` given to grades and when the last one was (`lastMs`); `passed:`*block* where the canaries were scored rightly, and when that last was (`rightAtMs`); `lease:`*block* (until when, and whose); `suspectTo` and `evidence` (JSON) of a wrong canary: no unanswered grade up to this ticket gets a score',
    life: 'a day after the last grade',
    bound: 'guarded judges of the runs of a day; 1,000 blocks',
  },
} as const satisfies KeySection;

export const environmentsKeys = {
  environment: {
    rest: '*version*',
    type: 'string',
    what: 'the compiled environment, JSON',
    life: '14 days after it was published or loaded',
    bound: '–',
  },
  environments: {
    type: 'zset',
    what: 'versions by the same time; also where prefixes of them are looked up',
    life: '14 days',
    bound: 'versions of 14 days',
  },
  newEnvironment: {
    rest: '*version*',
    type: 'string',
    what: 'the same, of environments that the previous release published for itself alone',
    life: 'like `environment:`',
    bound: '–',
  },
  newEnvironments: {
    type: 'zset',
    what: 'their versions by the same time',
    life: '14 days',
    bound: 'versions of 14 days',
  },
  environment2: {
    rest: '*version*',
    type: 'string',
    what: 'the same of environments that the previous release must not use: it would believe a judge that its canaries prove wrong',
    life: 'like `environment:`',
    bound: '–',
  },
  environments2: {
    type: 'zset',
    what: 'their versions by the same time',
    life: '14 days',
    bound: 'versions of 14 days',
  },
  chosen: {
    type: 'hash',
    what: 'template of a dataset row that names its image, or of a demand that raises its amounts → `version choice`, as JSON: the image, or `{image, amounts, role}`; 300 B',
    life: '10 min after it was last chosen; longer while a rollout waits for it, a run announces it or a sandbox of it exists',
    bound: 'those in use, and the rows of 10 min',
  },
  choices: {
    type: 'zset',
    what: 'the same by when each was last chosen',
    life: 'like `chosen`',
    bound: 'like `chosen`',
  },
  aliases: {
    rest: '*tenant*',
    type: 'hash',
    what: 'a name that the tenant gave to an image, as a template of the E2B face → `environment`, `image`, `script` of its build steps, `workdir`, JSON; 300 B, with steps up to 9 KB. *name*`:` → the same by tag, at most 64, if the tag is not `default`',
    life: '14 days after one of them was given or asked for',
    bound: '10,000',
  },
  catalog: {
    rest: '*digest*',
    type: 'string',
    what: 'what a folder of environments says: versions and pools, JSON',
    life: '14 days after a process last said that it has it',
    bound: '–',
  },
  catalogs: {
    type: 'zset',
    what: 'folders that a process has, by when the first one had it: the last is what the fleet goes by',
    life: 'until no process has it',
    bound: 'folders of the moment',
  },
  catalogHolders: {
    type: 'hash',
    what: 'process → which it has, and when it last said so',
    life: '30 s after it last said so, or until it leaves',
    bound: 'processes',
  },
} as const satisfies KeySection;

export const gatewaysKeys = {
  gateway: {
    rest: '*process*',
    type: 'channel',
    what: 'subscribed while the process lives; it is no key',
    life: "the process' connection",
    bound: 'gateways',
    writer: 'the gateway',
  },
  gateways: {
    type: 'set',
    what: 'all gateway processes',
    life: 'until it has left, or was found gone',
    bound: 'gateways',
  },
  gatewayState: {
    rest: '*process*',
    type: 'hash',
    what: '`decidesSinceMs`: it decides how it begins; `heardMs`: when it last reported that it listens or leaves; `leftMs`: when it began to leave; `silentSinceMs`: it has no connection. Without the first two it discards what was opened before it',
    life: 'like `gateways`',
    bound: 'gateways, 120 B each',
  },
  inHand: {
    rest: '*process*',
    type: 'set',
    what: 'rollouts for which a gateway has requests in hand',
    life: 'while it has any; until it has left, or was found gone',
    bound: 'rollouts with requests',
  },
  endAsked: {
    rest: '*rollout*',
    type: 'string',
    what: 'since when the end or the grade of a rollout waits for a word of the gateways that have requests for it in hand',
    life: 'until they have spoken; 2 min',
    bound: 'rollouts that end while a request is in hand',
  },
  olderHeard: {
    type: 'string',
    what: 'set by the previous release while a gateway of an unsupported release is here. Until it is gone, no process of this release becomes ready',
    life: 'a day',
    bound: '1',
    writer: 'the previous release',
  },
} as const satisfies KeySection;

export const presenceKeys = {
  processes: {
    type: 'hash',
    what: 'gateway or controller → what it last said of itself: host, version, age, what it has in hand, verdicts of 5 min, its timings; JSON, 500 B',
    life: '5 min after its last word',
    bound: '200 processes',
  },
  processesHeard: {
    type: 'zset',
    what: 'the same by the time of that word',
    life: 'like `processes`',
    bound: 'like `processes`',
  },
  eventLogs: {
    type: 'hash',
    what: 'folder of events, or a process without one → which process tells them, and where it is asked; JSON, 200 B',
    life: 'a day after its last word',
    bound: '500 logs',
  },
  eventLogsHeard: {
    type: 'zset',
    what: 'the same by the time of that word',
    life: 'like `event-logs`',
    bound: 'like `event-logs`',
  },
} as const satisfies KeySection;
