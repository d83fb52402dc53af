import type { ApiKey, Scope } from '#src/access/keys.ts';
import { type Finding, note, ok, problem } from './finding.ts';

const playing: ReadonlySet<Scope> = new Set(['rft:tools', 'rft:grade', 'native']);
/** What a key of a person reads, and a policy that finds it in a sandbox must not. */
const reading = {
  watch: 'the outputs and commands of all rollouts of its tenant',
  truth: 'the truth of the dataset',
  admin: 'the truth of the dataset',
} as const;
const soonMs = 7 * 24 * 3_600_000;

/** What is commonly wrong with a key file. */
export function examineKeys(keys: readonly ApiKey[], nowMs: number): readonly Finding[] {
  if (keys.length === 0) return [ok('API keys', 'none: on this machine the development key works')];
  const findings = keys.flatMap((key) => examineKey(key, nowMs));
  return findings.length > 0 ? findings : [ok('API keys', `${keys.length}, each with few rights`)];
}

function examineKey(key: ApiKey, nowMs: number): readonly Finding[] {
  const what = `API key ${key.id}`;
  return [...examineScopes(key, what), ...examineExpiry(key, what, nowMs)];
}

/** What a job's key may, its policy gains if the key leaks into a sandbox, a log or a prompt: then it reads the answers. */
function examineScopes({ scopes }: ApiKey, what: string): readonly Finding[] {
  const plays = scopes.filter((scope) => playing.has(scope));
  const reads = scopes.filter(isReading);
  if (reads.length === 0 || plays.length === 0) return [];
  const read = [...new Set(reads.map((scope) => reading[scope]))].join(' and ');
  return [
    problem(
      what,
      `it plays rollouts (${plays.join(', ')}) and also reads ${read} (${reads.join(', ')})`,
      'give jobs a key of their own: corral keys create NAME --scope rft:tools rft:grade; keep admin, watch and truth in keys for people, without the other scopes',
    ),
  ];
}

const isReading = (scope: Scope): scope is keyof typeof reading => Object.hasOwn(reading, scope);

function examineExpiry({ expiresAtMs }: ApiKey, what: string, nowMs: number): readonly Finding[] {
  if (expiresAtMs === null || expiresAtMs - nowMs > soonMs) return [];
  const when = new Date(expiresAtMs).toISOString();
  const fix = 'create another, give it to its owner, then revoke this one';
  if (expiresAtMs <= nowMs) return [problem(what, `it has expired (${when})`, fix)];
  return [note(what, `it expires within a week (${when})`, fix)];
}
