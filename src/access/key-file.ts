import { isIdText, isKeyId, runId, tenantId } from '../model/ids.ts';
import { type ApiKey, isScope, scopes } from './keys.ts';

/*
 * The key file, JSON:
 *
 *   {"keys": [{"id": "nightly", "sha256": "<64 hex>", "tenant": "acme", "scopes": ["rft:tools", "rft:grade"],
 *              "default_run": "nightly", "expires_at": "2027-01-01T00:00:00Z"}]}
 *
 * `default_run` and `expires_at` may be absent or null.
 */

/** Everything that is wrong with a key file, one sentence each. */
class KeyFileMistakes extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(`the key file cannot be used:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`);
    this.name = 'KeyFileMistakes';
    this.mistakes = mistakes;
  }
}

const fields = ['id', 'sha256', 'tenant', 'scopes', 'default_run', 'expires_at'];

/** The keys of a key file. Throws {@link KeyFileMistakes} naming every mistake at once. */
export function parseKeyFile(text: string): readonly ApiKey[] {
  const entries = entriesOf(text);
  const mistakes: string[] = [];
  const keys = entries.map((entry, index) => parseKey(entry, `keys[${index}]`, mistakes));
  const ids = keys.map((key) => key.id);
  const twice = ids.filter((id, index) => id !== '' && ids.indexOf(id) !== index);
  mistakes.push(...twice.map((id) => `the key id "${id}" is used twice`));
  if (mistakes.length > 0) throw new KeyFileMistakes(mistakes);
  return keys;
}

/** The inverse of {@link parseKeyFile}. */
export function formatKeyFile(keys: readonly ApiKey[]): string {
  const entries = keys.map((key) => ({
    id: key.id,
    sha256: key.sha256,
    tenant: key.tenant,
    scopes: key.scopes,
    ...(key.defaultRun === null ? {} : { default_run: key.defaultRun }),
    ...(key.expiresAtMs === null ? {} : { expires_at: new Date(key.expiresAtMs).toISOString() }),
  }));
  return `${JSON.stringify({ keys: entries }, null, 2)}\n`;
}

function entriesOf(text: string): readonly unknown[] {
  const file = parseJson(text);
  if (!isRecord(file) || !Array.isArray(file['keys'])) {
    throw new KeyFileMistakes(['it must be a JSON object with the list "keys"']);
  }
  return file['keys'];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new KeyFileMistakes([`it is not JSON: ${error instanceof Error ? error.message : String(error)}`]);
  }
}

function parseKey(entry: unknown, at: string, mistakes: string[]): ApiKey {
  if (!isRecord(entry)) mistakes.push(`${at} must be an object`);
  const record = isRecord(entry) ? entry : {};
  const unknown = Object.keys(record).filter((field) => !fields.includes(field));
  mistakes.push(...unknown.map((field) => `${at}.${field} is not a field of a key (${fields.join(', ')})`));
  const text = (field: string, ok: (value: string) => boolean, rule: string): string => {
    const value = record[field];
    if (typeof value === 'string' && ok(value)) return value;
    if (isRecord(entry)) mistakes.push(`${at}.${field} must be ${rule}`);
    return '';
  };
  const optional = (field: string, ok: (value: string) => boolean, rule: string): string | null =>
    record[field] === undefined || record[field] === null ? null : text(field, ok, rule);

  const defaultRun = optional('default_run', isIdText, 'a run name without spaces');
  const expiresAt = optional('expires_at', isInstant, 'a time like 2027-01-01T00:00:00Z');
  return {
    id: text('id', isKeyId, '1 to 40 lower-case letters, digits and dashes'),
    sha256: text('sha256', (value) => /^[0-9a-f]{64}$/.test(value), '64 lower-case hex digits'),
    tenant: tenantId(text('tenant', isIdText, 'a name without spaces')),
    scopes: parseScopes(record['scopes'], `${at}.scopes`, mistakes),
    defaultRun: defaultRun === null ? null : runId(defaultRun),
    expiresAtMs: expiresAt === null ? null : Date.parse(expiresAt),
  };
}

function parseScopes(value: unknown, at: string, mistakes: string[]): ApiKey['scopes'] {
  const given: readonly unknown[] = Array.isArray(value) ? value : [];
  const known = given.filter((scope) => typeof scope === 'string' && isScope(scope));
  if (known.length === 0 || known.length < given.length) {
    mistakes.push(`${at} must be a list of one or more of ${scopes.join(', ')}`);
  }
  return known;
}

// A date without a time zone would mean another instant on every machine.
function isInstant(value: string): boolean {
  return /(Z|[+-]\d\d:\d\d)$/.test(value) && !Number.isNaN(Date.parse(value));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The keys in force. A changed file takes effect at its next refresh; a broken one changes nothing. */
export type KeyRing = {
  keys(): readonly ApiKey[];
  /** Reads again. Throws what reading threw, or KeyFileMistakes; the old keys then stay in force. */
  refresh(): Promise<'changed' | 'unchanged'>;
};

/** A ring over a key file whose text `readText` gives. Throws like `refresh`: there is no start without good keys. */
export async function createKeyRing(readText: () => Promise<string>): Promise<KeyRing> {
  let text = await readText();
  let keys = parseKeyFile(text);
  const refresh = async (): Promise<'changed' | 'unchanged'> => {
    const newText = await readText();
    if (newText === text) return 'unchanged';
    keys = parseKeyFile(newText);
    text = newText;
    return 'changed';
  };
  return { keys: () => keys, refresh };
}

/** A ring without any key: only a development key opens anything. */
export const emptyKeyRing: KeyRing = {
  keys: () => [],
  refresh: () => Promise.resolve('unchanged'),
};
