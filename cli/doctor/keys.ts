import type { ApiKey, Scope } from '#src/access/keys.ts';
import { type Finding, note, ok, problem } from './finding.ts';

const playing: ReadonlySet<Scope> = new Set(['rft:tools', 'rft:grade', 'native']);
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
  if (!scopes.includes('admin') || plays.length === 0) return [];
  return [
    problem(
      what,
      `it plays rollouts (${plays.join(', ')}) and also reads the truth of the dataset (admin)`,
      'give jobs a key of their own: corral keys create NAME --scope rft:tools rft:grade; keep admin in a key for people, without the other scopes',
    ),
  ];
}

function examineExpiry({ expiresAtMs }: ApiKey, what: string, nowMs: number): readonly Finding[] {
  if (expiresAtMs === null || expiresAtMs - nowMs > soonMs) return [];
  const when = new Date(expiresAtMs).toISOString();
  const fix = 'create another, give it to its owner, then revoke this one';
  if (expiresAtMs <= nowMs) return [problem(what, `it has expired (${when})`, fix)];
  return [note(what, `it expires within a week (${when})`, fix)];
}
