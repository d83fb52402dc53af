import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { UnmetRequirement } from '#src/model/requirements.ts';
import { longestCommandMs } from '#src/protocol/native/calls.ts';
import type { RequiresBody } from '#src/protocol/native/requirements.ts';
import { CommandError } from '#cli/command-error.ts';
import { digestTask } from './digest-task.ts';
import { readCompose } from './read-compose.ts';

/*
 * A task in Harbor's format, as far as its demands and its two controls need it. Source of the fields and defaults:
 * harbor 0.25.0, models/task/config.py.
 */

const Seconds = Type.Number({ minimum: 0 });
const Texts = Type.Record(Type.String(), Type.String());
const User = Type.Union([Type.String(), Type.Integer()]);
const Network = Type.Union([Type.Literal('public'), Type.Literal('no-network'), Type.Literal('allowlist')]);
const Size = Type.Union([Type.String({ pattern: String.raw`^\s*[\d.]+\s*[GgMmKk]\s*$` }), Type.Number()]);

const HealthCheck = Type.Object({
  command: Type.String(),
  interval_sec: Type.Optional(Seconds),
  timeout_sec: Type.Optional(Seconds),
  retries: Type.Optional(Type.Integer({ minimum: 1 })),
});
export type HealthCheck = Static<typeof HealthCheck>;

/** Fields that are not here are not read. */
const TaskToml = Type.Object({
  metadata: Type.Optional(Type.Object({ max_reward: Type.Optional(Type.Unknown()) })),
  environment: Type.Optional(
    Type.Object({
      docker_image: Type.Optional(Type.String()),
      os: Type.Optional(Type.String()),
      cpus: Type.Optional(Type.Number()),
      memory: Type.Optional(Size),
      memory_mb: Type.Optional(Type.Integer()),
      storage: Type.Optional(Size),
      storage_mb: Type.Optional(Type.Integer()),
      gpus: Type.Optional(Type.Integer()),
      network_mode: Type.Optional(Network),
      allow_internet: Type.Optional(Type.Boolean()),
      workdir: Type.Optional(Type.String()),
      env: Type.Optional(Texts),
      healthcheck: Type.Optional(HealthCheck),
    }),
  ),
  agent: Type.Optional(Type.Object({ timeout_sec: Type.Optional(Seconds), user: Type.Optional(User) })),
  verifier: Type.Optional(
    Type.Object({
      timeout_sec: Type.Optional(Seconds),
      user: Type.Optional(User),
      env: Type.Optional(Texts),
      environment_mode: Type.Optional(Type.String()),
      environment: Type.Optional(Type.Unknown()),
    }),
  ),
  solution: Type.Optional(Type.Object({ env: Type.Optional(Texts) })),
  steps: Type.Optional(Type.Array(Type.Unknown())),
});
type TaskToml = Static<typeof TaskToml>;
type EnvironmentToml = NonNullable<TaskToml['environment']>;

export type Task = {
  readonly name: string;
  readonly folder: string;
  readonly digest: string;
  readonly image: string;
  readonly requires: RequiresBody;
  readonly healthCheck: HealthCheck | null;
  readonly hasSolution: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly solutionEnv: Readonly<Record<string, string>>;
  readonly verifierEnv: Readonly<Record<string, string>>;
  readonly solutionTimeoutS: number;
  readonly verifierTimeoutS: number;
  /** The reward of a task that is solved: one number, or one by each name. */
  readonly fullReward: unknown;
};

/** `unmet`: what no sandbox has, so that nothing needs to be opened. `remarks`: what may differ from a container. */
export type ReadTask = {
  readonly name: string;
  readonly task: Task | null;
  readonly unmet: readonly UnmetRequirement[];
  readonly remarks: readonly string[];
};

/** Harbor's, where a task says nothing. */
const defaultVerifierTimeoutS = 600;
/** Where Harbor writes; the environment brings them as `sandbox.folders`, or the image has them. */
const folders = ['/logs', '/tests', '/solution'];

/** Throws a CommandError for a folder that is not a task. `builtImage`: takes the place of `docker_image`. */
export function readTask(given: string, builtImage?: string): ReadTask {
  const folder = resolve(given);
  const name = basename(folder);
  const toml = readToml(join(folder, 'task.toml'));
  const environment = toml.environment ?? {};
  const unmet = [...cannotBeHad(toml, environment), ...composeSettings(folder)];
  const image = builtImage ?? environment.docker_image;
  if (image === undefined) unmet.unshift(noImage);
  const isAnotherMachine = unmet.some(({ requirement }) => machines.has(requirement));
  const remarks = networkOf(environment) === undefined && !isAnotherMachine ? [saysNoNetwork] : [];
  if (image === undefined || unmet.length > 0) return { name, task: null, unmet, remarks };
  return { name, task: taskOf(folder, image, toml, environment), unmet, remarks };
}

function readToml(file: string): TaskToml {
  if (!existsSync(file)) throw notATask(`${file} does not exist`);
  const toml = parsed(file);
  if (Value.Check(TaskToml, toml)) return toml;
  const [first] = [...Value.Errors(TaskToml, toml)];
  throw notATask(`${file}: ${first?.instancePath ?? ''} ${first?.message ?? 'is not a task'}`);
}

function parsed(file: string): unknown {
  try {
    return parseToml(readFileSync(file, 'utf8'));
  } catch (error) {
    throw notATask(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const notATask = (what: string) =>
  new CommandError(what, 'yours', 'give the folder of a task in Harbor’s format, with a task.toml in it');

function taskOf(folder: string, image: string, toml: TaskToml, environment: EnvironmentToml): Task {
  const { agent = {}, verifier = {}, solution = {}, metadata = {} } = toml;
  const verifierTimeoutS = verifier.timeout_sec ?? defaultVerifierTimeoutS;
  const timeouts = [agent.timeout_sec ?? 0, verifierTimeoutS, environment.healthcheck?.timeout_sec ?? 0];
  const user = [agent.user, verifier.user].find((each) => each !== undefined && !isHarborsRoot(each));
  return {
    name: basename(folder),
    folder,
    digest: digestTask(folder),
    image,
    requires: {
      ...requiresOf(folder, environment),
      ...(user !== undefined && { user: String(user) }),
      command_timeout_s: Math.max(...timeouts),
    },
    healthCheck: environment.healthcheck ?? null,
    hasSolution: existsSync(join(folder, 'solution/solve.sh')),
    env: filledIn(environment.env),
    solutionEnv: filledIn(solution.env),
    verifierEnv: filledIn(verifier.env),
    solutionTimeoutS: agent.timeout_sec ?? longestCommandMs / 1000,
    verifierTimeoutS,
    fullReward: metadata.max_reward ?? 1,
  };
}

/** Commands run as the sandbox's one user, and that is whom Harbor means by its own `root`. */
const isHarborsRoot = (user: string | number): boolean => user === 'root' || String(user) === '0';

/** Only what the task's file says is a demand. */
function requiresOf(folder: string, environment: EnvironmentToml): RequiresBody {
  const { workdir, cpus, memory, memory_mb, storage, storage_mb } = environment;
  const memoryMb = memory_mb ?? megabytes(memory);
  const storageMb = storage_mb ?? megabytes(storage);
  const network = networkOf(environment);
  const { services } = readCompose(folder);
  return {
    folders,
    ...(workdir !== undefined && { workdir }),
    ...(cpus !== undefined && { cpu_milli: Math.round(cpus * 1000) }),
    ...(memoryMb !== undefined && { memory_bytes: memoryMb * 1024 ** 2 }),
    ...(storageMb !== undefined && { disk_bytes: storageMb * 1024 ** 2 }),
    ...(network !== undefined && { network: network === 'no-network' ? 'none' : 'public' }),
    ...(services > 1 && { services }),
  };
}

function networkOf({ network_mode, allow_internet }: EnvironmentToml): Static<typeof Network> | undefined {
  if (network_mode !== undefined || allow_internet === undefined) return network_mode;
  return allow_internet ? 'public' : 'no-network';
}

/** Harbor's older fields: `memory = "2G"`. */
function megabytes(size: Static<typeof Size> | undefined): number | undefined {
  if (typeof size !== 'string') return size;
  const amount = Number.parseFloat(size);
  const unit = size.trim().at(-1)?.toUpperCase();
  if (unit === 'G') return Math.trunc(amount * 1024);
  return unit === 'M' ? Math.trunc(amount) : Math.trunc(amount / 1024);
}

function* cannotBeHad(toml: TaskToml, environment: EnvironmentToml): Generator<UnmetRequirement> {
  const { os = 'linux', gpus = 0, network_mode } = environment;
  if (os.toLowerCase() !== 'linux') {
    yield {
      requirement: 'platform',
      wanted: `the task demands ${os.toLowerCase() === 'windows' ? 'Windows' : os}`,
      given: 'sandboxes run Linux',
      fix: 'leave the task out',
    };
  }
  if (gpus > 0) {
    yield {
      requirement: 'gpu',
      wanted: `the task demands ${gpus} ${gpus === 1 ? 'GPU' : 'GPUs'}`,
      given: 'sandboxes have none',
      fix: 'remove gpus from [environment] in task.toml, or leave the task out',
    };
  }
  if (network_mode === 'allowlist') {
    yield {
      requirement: 'network',
      wanted: 'the task demands a network of listed hosts',
      given: 'a sandbox has the network that its environment names',
      fix: 'set network_mode in [environment] of task.toml to public or no-network',
    };
  }
  if (toml.verifier?.environment !== undefined || toml.verifier?.environment_mode === 'separate') {
    yield {
      requirement: 'services',
      wanted: 'the task demands an environment of its own for its verifier',
      given: 'a trial has one sandbox',
      fix: 'set environment_mode = "shared" in [verifier] of task.toml',
    };
  }
}

/** Corral applies none of them, so the task would fail for a reason that is not the policy's. */
function composeSettings(folder: string): readonly UnmetRequirement[] {
  const { services, settings } = readCompose(folder);
  // The fleet refuses several services, whatever is set of one.
  if (services > 1 || settings.length === 0) return [];
  return [
    {
      requirement: 'services',
      wanted: `the task sets ${settings.join(', ')} of its container in docker-compose.yaml`,
      given: 'a sandbox is not made from a compose file',
      fix: 'move environment to [environment.env] of task.toml and the others into the image, or remove what the task does not need',
    },
  ];
}

/** A task that demands another machine does not run here with any network. */
const machines: ReadonlySet<UnmetRequirement['requirement']> = new Set(['gpu', 'platform']);

const noImage: UnmetRequirement = {
  requirement: 'image',
  wanted: 'the task demands an image built from environment/Dockerfile',
  given: 'Corral builds no images',
  fix: 'build it, then name it as docker_image in [environment] of task.toml',
};

const saysNoNetwork =
  'task.toml names no network_mode, and a container would have a public network: if the task needs one, its controls fail here';

/** `${VAR}` and `${VAR:-default}` stand for variables of this machine. */
function filledIn(env: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).map(([name, text]) => [name, fillIn(text)]));
}

function fillIn(text: string): string {
  const [before = '', ...templates] = text.split('${');
  return before + templates.map(filledTemplate).join('');
}

/** `template`: what stands behind `${`. One without its end is text. */
function filledTemplate(template: string): string {
  const end = template.indexOf('}');
  if (end === -1) return `\${${template}`;
  const [name = '', ...fallback] = template.slice(0, end).split(':-');
  return (process.env[name] ?? fallback.join(':-')) + template.slice(end + 1);
}
