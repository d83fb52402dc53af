import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import { graderId, policyHome, policyId, queriesId } from '../bwrap/places.ts';
import { exchanged, type ImageUser } from '../bwrap/shifted-ids.ts';
import { shown } from '../images/quoted.ts';
import { idsInRange } from '../own-ids.ts';
import { readRegular } from '../read-regular.ts';

/*
 * The name of the commands' user. Its ids stay 1000, whatever the image says, because another id could be sandboxd's or a grader's. So the
 * image's user gets id 1000 in /etc/passwd and /etc/group, and an account that has it there gets the user's; a root that commands may
 * write has the owners of files changed alike (`shifted-ids.ts`). Groups still list it, but its processes are only in their own
 * group. An id of a sandbox that has no name in the image gets one, because programs fail for a user without a name (`whoami`,
 * Python's getpass, ssh).
 */

/** An image's files of accounts. */
export type AccountFiles = { readonly passwd: string; readonly group: string };

/** Home and name of the commands' user. */
export type Account = {
  readonly home: string;
  /** Its ids in the image; 1000 for one that the image does not have, and for root, whose files stay root's. */
  readonly ids: ImageUser;
  /** What /etc/passwd and /etc/group are to say in place of the image's; nothing where these are right as they are. */
  readonly files: Partial<AccountFiles>;
};

/** Empty for an image without accounts. A link is not followed, because it would lead to this machine's own files. */
export function readAccountFiles(root: string): AccountFiles {
  const etc = join(root, 'etc');
  const isFolder = lstatSync(etc, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const read = (name: string) => (isFolder ? readRegular(join(etc, name)) : '');
  return { passwd: read('passwd'), group: read('group') };
}

/** `user`: the image's USER; `runAs`: the environment's. Throws `start_failed` for a user whom the image does not have. */
export function findAccount(user: string, runAs: 'user' | 'root', files: AccountFiles): Account {
  const passwd = entriesOf(files.passwd, passwdFields);
  const [name = '', group = ''] = user.split(':');
  if (runAs === 'root') return asItIs(homeOf(find(passwd, 'root')) ?? rootHome);
  if (isRoot(name)) return asItIs(homeOf(find(passwd, id)) ?? policyHome);
  const entry = find(passwd, name);
  if (entry === null && !isId(name)) throw unknownUser(name);
  const groups = entriesOf(files.group, groupFields);
  const wanted = group === '' ? (entry?.fields[3] ?? id) : group;
  const primary = find(groups, wanted);
  const ids = { uid: ownable(entry?.fields[2] ?? name), gid: ownable(primary?.fields[2] ?? wanted) };
  const isRight = entry === null ? ids.uid === policyId : isIt(passwd, entry) && entry.fields[3] === id;
  const isRightGroup = primary === null ? ids.gid === policyId : isIt(groups, primary);
  return {
    home: homeOf(entry) ?? policyHome,
    ids,
    files: {
      ...(isRight ? {} : { passwd: renamed(passwd, entry, { 2: ids.uid, 3: ids.gid }) }),
      ...(isRightGroup ? {} : { group: renamed(groups, primary, { 2: ids.gid }) }),
    },
  };
}

export const ownUser: ImageUser = { uid: policyId, gid: policyId };

const asItIs = (home: string): Account => ({ home, ids: ownUser, files: {} });

/** The number of a user or group whose files can be the commands'. Those of root never are. */
function ownable(text: string): number {
  const number = isId(text) ? Number(text) : 0;
  return number > 0 && number < idsInRange ? number : policyId;
}

/** Lines for the ids of a sandbox that have no name in these files, after all others. */
export function withOwnNames({ passwd, group }: AccountFiles, ids = usualIds): AccountFiles {
  const names = ownNamesOf(ids);
  return {
    passwd: withLines(passwd, passwdFields, names.passwd),
    group: withLines(group, groupFields, names.group),
  };
}

function withLines(file: string, fields: number, lines: readonly string[]): string {
  const ids = new Set(entriesOf(file, fields).map((entry) => entry.fields[2]));
  const lacking = lines.filter((line) => !ids.has(line.split(':')[2]));
  const end = file === '' || file.endsWith('\n') ? '' : '\n';
  return `${file}${end}${lacking.map((line) => `${line}\n`).join('')}`;
}

/** Ids of a sandbox next to root and the commands' user. */
export type OwnIds = { readonly grader: number; readonly queries: number };

export const usualIds: OwnIds = { grader: graderId, queries: queriesId };

/** The users of every sandbox next to root: who runs commands, graders and queries of databases. */
export const ownNamesOf = ({ grader, queries }: OwnIds) => ({
  passwd: [
    `policy:x:${policyId}:${policyId}:policy:${policyHome}:/bin/sh`,
    `grader:x:${grader}:${grader}:grader:/nonexistent:/bin/sh`,
    `queries:x:${queries}:${queries}:queries:/nonexistent:/bin/false`,
  ],
  group: [`policy:x:${policyId}:`, `grader:x:${grader}:`, `queries:x:${queries}:`],
});

export const ownNames = ownNamesOf(usualIds);

/** Beyond what distributions give to people and services. */
const firstOther = 60_100;

/**
 * Ids that nothing of the image has, so that a grader owns no file of it. `owners`: users and groups of its files; `ids`: those of the
 * commands' user, which have changed places.
 */
export function unusedIds(owners: Iterable<number>, ids: ImageUser, accounts: AccountFiles): OwnIds {
  const used = new Set([
    ...[...owners].flatMap((id) => [exchanged(id, ids.uid), exchanged(id, ids.gid)]),
    ...entriesOf(accounts.passwd, passwdFields).flatMap(({ fields }) => [
      Number(fields[2]),
      Number(fields[3]),
    ]),
    ...entriesOf(accounts.group, groupFields).map(({ fields }) => Number(fields[2])),
  ]);
  const others = Array.from({ length: used.size + 2 }, (_, index) => firstOther + index);
  const [grader = graderId, queries = queriesId] = [graderId, queriesId, ...others].filter(
    (id) => !used.has(id),
  );
  return { grader, queries };
}

export const rootHome = '/root';
const id = String(policyId);
const isId = (text: string) => /^\d+$/.test(text);
const isRoot = (name: string) => name === '' || name === 'root' || (isId(name) && Number(name) === 0);

/** A line of one of the two files. Both have the name first and the number third. */
type Entry = { readonly line: string; readonly fields: readonly string[] };
const passwdFields = 7;
const groupFields = 4;

function entriesOf(file: string, fields: number): readonly Entry[] {
  const entries = file.split('\n').map((line): Entry => ({ line, fields: line.split(':') }));
  return entries.filter((entry) => entry.fields.length === fields);
}

/** By name, else by number. */
function find(entries: readonly Entry[], wanted: string): Entry | null {
  const named = entries.find(({ fields }) => fields[0] === wanted);
  if (named !== undefined || !isId(wanted)) return named ?? null;
  return entries.find(({ fields }) => fields[2] === String(Number(wanted))) ?? null;
}

/** Whether a lookup of the commands' id finds this entry. */
const isIt = (entries: readonly Entry[], entry: Entry) =>
  entries.find(({ fields }) => fields[2] === id) === entry;

const homeOf = (entry: Entry | null) => (entry?.fields[5]?.startsWith('/') === true ? entry.fields[5] : null);

/**
 * The file with this entry, if there is one, first and under the commands' id, so that a lookup of the id finds it. `columns`: the
 * fields that are ids, with those of the commands' user in the image.
 */
function renamed(
  entries: readonly Entry[],
  entry: Entry | null,
  columns: Readonly<Partial<Record<number, number>>>,
): string {
  const line = (each: Entry, toId: (field: string, own: number) => string) =>
    each.fields.map((field, index) => (columns[index] === undefined ? field : toId(field, columns[index])));
  const own = entry === null ? [] : [line(entry, () => id)];
  const others = entries.filter((other) => other !== entry).map((other) => line(other, exchangedText));
  return `${[...own, ...others].map((fields) => fields.join(':')).join('\n')}\n`;
}

const exchangedText = (field: string, own: number) =>
  isId(field) ? String(exchanged(Number(field), own)) : field;

function unknownUser(user: string): Failure {
  const name = shown(user);
  return new Failure(
    'start_failed',
    `the image's configuration says User ${name}, and the image's /etc/passwd has no such user: ` +
      'correct the User, or give the image its own /etc/passwd',
    { evidence: { user: name } },
  );
}
