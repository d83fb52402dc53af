import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { parse as parseYaml } from 'yaml';

/**
 * What a task's docker-compose.yaml demands. `settings`: names of the settings of its one container that Corral does not apply and that
 * a task can see, such as `environment`. `compose.py` of the Python client decides the same.
 */
export type ComposeDemands = { readonly services: number; readonly settings: readonly string[] };

const Compose = Type.Object({
  services: Type.Record(Type.String(), Type.Unknown()),
  include: Type.Optional(Type.Unknown()),
});
const Service = Type.Record(Type.String(), Type.Unknown());

const none: ComposeDemands = { services: 1, settings: [] };
/** Harbor's name of the container in which the policy works. */
const main = 'main';

/** A file that names no services, or is not YAML, is not one that Harbor could start. */
export function readCompose(folder: string): ComposeDemands {
  const file = join(folder, 'environment/docker-compose.yaml');
  if (!existsSync(file)) return none;
  const compose = parsed(readFileSync(file, 'utf8'));
  if (!Value.Check(Compose, compose)) return none;
  const own = compose.services[main];
  const settings = Value.Check(Service, own) ? Object.entries(own).filter(matters) : [];
  return {
    services: new Set([main, ...Object.keys(compose.services)]).size,
    settings: [...settings.map(([name]) => name), ...(compose.include === undefined ? [] : ['include'])],
  };
}

function parsed(text: string): unknown {
  try {
    return parseYaml(text);
  } catch {
    return null;
  }
}

/** They say where the image comes from, what the machine shows of the container, and how the engine treats it. */
const unseen: ReadonlySet<string> = new Set(
  'build image pull_policy container_name labels ports expose stdin_open tty init restart logging platform stop_grace_period stop_signal depends_on'.split(
    ' ',
  ),
);
/** Commands that only keep a container alive, as Harbor's own does. */
const idle: ReadonlySet<string> = new Set(['sleep infinity', 'tail -f /dev/null']);

function matters([name, value]: readonly [string, unknown]): boolean {
  if (unseen.has(name)) return false;
  if (name === 'command') return !idle.has(commandOf(value));
  return !leavesOf(value).every(isHarbors);
}

function commandOf(value: unknown): string {
  const text = Array.isArray(value) ? value.map(String).join(' ') : String(value);
  return text.replace(/^(?:sh|bash) -c /, '').replaceAll(/["']/g, '');
}

function leavesOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [String(value)];
  return Object.values(value).flatMap(leavesOf);
}

/** Filled in by Harbor itself: its folders for logs, and the amounts and the network of task.toml. */
const isHarbors = (text: string): boolean =>
  /^(?:\w{1,64}=)?\$\{(?:HOST_\w{1,64}_PATH|ENV_\w{1,64}_PATH|CPUS|MEMORY|NETWORK_MODE|TEST_DIR)[:}]/.test(
    text,
  );
