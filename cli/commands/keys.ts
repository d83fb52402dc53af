import { type Command, Option } from 'commander';
import { createKey, type ApiKey, isScope, scopes } from '#src/access/keys.ts';
import { isIdText, runId, tenantId } from '#src/model/ids.ts';
import { systemRandom } from '#src/platform/random.ts';
import { CommandError } from '../command-error.ts';
import { readKeys, writeKeys } from '../fleet/keys.ts';
import { defaultStateFolder, stateFolderAt } from '../fleet/state-folder.ts';
import { table } from '../print/table.ts';
import { show, type Terminal } from '../print/terminal.ts';

type FileOptions = { readonly file?: string; readonly state: string; readonly json: boolean };
type CreateOptions = FileOptions & {
  readonly tenant: string;
  readonly scope: readonly string[];
  readonly run?: string;
  readonly expires?: string;
};

/** Gateways read the file again when it changes; nothing needs a restart. */
export function addKeysCommand(program: Command, terminal: Terminal): void {
  const keys = program.command('keys').description('API keys of a fleet: create, list, revoke');

  withFileOptions(keys.command('create').description('create a key and print it once'))
    .argument('<id>', 'name of the key: lower-case letters, digits and dashes')
    .option('--tenant <tenant>', 'the tenant that the key belongs to', 'default')
    .addOption(
      new Option('--scope <scope...>', 'what the key may do')
        .choices(scopes)
        .default(['rft:tools', 'rft:grade']),
    )
    .option('--run <run>', 'the run of requests without a run')
    .option('--expires <time>', 'when it expires, like 2027-01-01T00:00:00Z (default: never)')
    .action((id: string, options: CreateOptions) => create(id, options, terminal));

  withFileOptions(keys.command('list').description('list keys without their secrets')).action(
    (options: FileOptions) =>
      show(terminal, options.json, readKeys(fileOf(options)).map(listed), describeKeys),
  );

  withFileOptions(keys.command('revoke').description('end a key at once'))
    .argument('<id>', 'name of the key')
    .action((id: string, options: FileOptions) => revoke(id, options, terminal));
}

function withFileOptions(command: Command): Command {
  return command
    .option('--file <file>', 'the key file (default: keys.json in the state folder)')
    .option('--state <folder>', 'state folder of a fleet on this machine', defaultStateFolder)
    .option('--json', 'print data instead of text', false);
}

const fileOf = ({ file, state }: FileOptions): string => file ?? stateFolderAt(state).keysFile;

function create(id: string, options: CreateOptions, terminal: Terminal): void {
  const file = fileOf(options);
  const existing = readKeys(file);
  if (existing.some((key) => key.id === id)) {
    throw new CommandError(`a key ${id} exists already`, 'yours', `revoke it first, or take another name`);
  }
  const { key, presented } = newKey(id, options);
  writeKeys(file, [...existing, key]);
  show(terminal, options.json, { ...listed(key), key: presented }, () => presented);
  terminal.remark(`This is the only time the key ${id} is shown; its hash is in ${file}.`);
}

function newKey(id: string, { tenant, scope, run, expires }: CreateOptions) {
  if (!isIdText(tenant)) throw new CommandError(`not a tenant’s name: ${tenant}`, 'yours', 'use no spaces');
  const description = {
    id,
    tenant: tenantId(tenant),
    scopes: scope.filter(isScope),
    defaultRun: run === undefined ? null : runId(run),
    expiresAtMs: expires === undefined ? null : instantOf(expires),
  };
  try {
    return createKey(description, systemRandom);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new CommandError(error.message, 'yours', 'give another name', error);
  }
}

function instantOf(text: string): number {
  const atMs = Date.parse(text);
  if (Number.isNaN(atMs) || !/(?:Z|[+-]\d\d:\d\d)$/.test(text)) {
    throw new CommandError(`not a time with its zone: ${text}`, 'yours', 'give it like 2027-01-01T00:00:00Z');
  }
  return atMs;
}

function revoke(id: string, options: FileOptions, terminal: Terminal): void {
  const file = fileOf(options);
  const existing = readKeys(file);
  const left = existing.filter((key) => key.id !== id);
  if (left.length === existing.length) {
    throw new CommandError(`there is no key ${id} in ${file}`, 'yours', 'see "corral keys list"');
  }
  writeKeys(file, left);
  show(terminal, options.json, { revoked: id }, () => `key ${id} is revoked`);
}

type ListedKey = ReturnType<typeof listed>;

const listed = ({ id, tenant, scopes: allowed, defaultRun, expiresAtMs }: ApiKey) => ({
  id,
  tenant,
  scopes: allowed,
  defaultRun,
  expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
});

function describeKeys(keys: readonly ListedKey[]): string {
  if (keys.length === 0) return 'no key yet: make one with "corral keys create NAME"';
  return table(keys, [
    { title: 'key', of: (key) => key.id },
    { title: 'tenant', of: (key) => key.tenant },
    { title: 'scopes', of: (key) => key.scopes.join(' ') },
    { title: 'default run', of: (key) => key.defaultRun ?? '–' },
    { title: 'expires', of: (key) => key.expiresAt ?? 'never' },
  ]);
}
