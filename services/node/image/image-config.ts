import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import { imageConfigFile } from '#src/model/environment.ts';
import { shown } from '../images/quoted.ts';

/** An image's settings for its processes. `docker export` drops them. */
export type ImageConfig = {
  readonly env: Readonly<Record<string, string>>;
  /** Absolute and normal; null: the image names none, or the root. */
  readonly workdir: string | null;
  /** `name`, `uid`, or one of them with `:group`; empty: root. */
  readonly user: string;
};

/** The configuration next to `root`; null if there is none. Throws `start_failed`, which says what is wrong with the file. */
export function readImageConfig(root: string): ImageConfig | null {
  const file = imageConfigFile(root);
  const text = readIfThere(file);
  if (text === null) return null;
  try {
    return parseImageConfig(text);
  } catch (error) {
    throw unusable(file, error);
  }
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw unusable(file, error);
  }
}

/** Container engines keep less than this of an image's ENV; the kernel takes 128 KiB of one variable, which this becomes. */
const longestEnv = 64 * 1024;

/** Throws an Error whose message ends a sentence that begins with the file's name. */
export function parseImageConfig(text: string): ImageConfig {
  const { Env, WorkingDir, User } = configIn(JSON.parse(text));
  const env = parseEnv(Env ?? []);
  if (JSON.stringify(env).length > longestEnv) throw new Error(`its Env has more than ${longestEnv} bytes`);
  return { env, workdir: parseWorkdir(textOf(WorkingDir, 'WorkingDir')), user: textOf(User, 'User') };
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Fields by which a bare `Config` object is recognized; engines write most of them, null or empty. */
const known = ['Env', 'WorkingDir', 'User', 'Cmd', 'Entrypoint', 'Labels', 'ExposedPorts', 'Volumes'];

function configIn(value: unknown): Fields {
  if (Array.isArray(value)) return configIn(onlyOne(value));
  if (!isFields(value)) throw new Error(notOne);
  if (isFields(value['config'])) return value['config'];
  if (isFields(value['Config'])) return value['Config'];
  // An OCI image configuration may leave `config` out.
  if (isFields(value['rootfs']) || known.some((name) => name in value)) return value;
  throw new Error(notOne);
}

const notOne =
  'it is neither an OCI image configuration, nor the output of docker inspect or podman inspect, nor the Config object of one';

function onlyOne(values: readonly unknown[]): unknown {
  if (values.length === 1) return values[0];
  throw new Error(`it describes ${values.length} images, and a folder is one`);
}

function parseEnv(value: unknown): ImageConfig['env'] {
  if (!Array.isArray(value)) throw new Error('its Env is not a list');
  const entries = value.map((entry: unknown) => textOf(entry, 'Env'));
  const variables = entries.map((entry) => {
    const at = entry.indexOf('=');
    if (at < 1) throw new Error(`its Env has ${shown(entry)}, which is not NAME=VALUE`);
    return [entry.slice(0, at), entry.slice(at + 1)] as const;
  });
  return Object.fromEntries(variables);
}

function parseWorkdir(text: string): string | null {
  if (text === '') return null;
  if (!posix.isAbsolute(text)) throw new Error(`its WorkingDir ${shown(text)} is not absolute`);
  const workdir = posix.resolve(text);
  return workdir === '/' ? null : workdir;
}

/** Missing and null are empty. A NUL is rejected, because options of bubblewrap and variables cannot have one. */
function textOf(value: unknown, name: string): string {
  const text = value ?? '';
  if (typeof text !== 'string' || text.includes('\0')) throw new Error(`its ${name} is not a text`);
  if (Buffer.byteLength(text) > longestEnv) throw new Error(`its ${name} has more than ${longestEnv} bytes`);
  return text;
}

function unusable(file: string, error: unknown): Failure {
  const reason = error instanceof Error ? error.message : String(error);
  return new Failure(
    'start_failed',
    `${file}, the image's configuration next to its folder, cannot be used: ${reason}. ` +
      'Write it again (docker inspect IMAGE > FILE, or corral image unpack), or remove it: without it commands get no ENV, WORKDIR and USER of the image',
    { evidence: { path: file } },
  );
}
