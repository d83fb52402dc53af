import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import { graderId, policyHome, policyId } from '../bwrap/places.ts';

/*
 * The name of the commands' user. Its ids stay 1000, whatever the image says: the image's files have unmapped owners here, so its
 * own id would own nothing, and another id could be sandboxd's or a grader's. So the image's user gets id 1000 in /etc/passwd
 * and /etc/group. Groups still list it, but its processes are only in their own group. An id of a sandbox that has no name in the
 * image gets one, because programs fail for a user without a name (`whoami`, Python's getpass, ssh).
 */

/** An image's files of accounts. */
export type AccountFiles = { readonly passwd: string; readonly group: string };

/** Home and name of the commands' user. */
export type Account = {
  readonly home: string;
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

/** Such files have some kilobytes. */
const mostBytes = 1024 * 1024;

function readRegular(path: string): string {
  const fd = openOrNull(path);
  if (fd === null) return '';
  try {
    const found = fstatSync(fd);
    return found.isFile() && found.size <= mostBytes ? readFileSync(fd, 'utf8') : '';
  } finally {
    closeSync(fd);
  }
}

function openOrNull(path: string): number | null {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch {
    return null;
  }
}

/** `user`: the image's USER; `runAs`: the environment's. Throws `start_failed` for a user whom the image does not have. */
export function findAccount(user: string, runAs: 'user' | 'root', files: AccountFiles): Account {
  const passwd = entriesOf(files.passwd, passwdFields);
  const [name = '', group = ''] = user.split(':');
  if (runAs === 'root') return { home: homeOf(find(passwd, 'root')) ?? rootHome, files: {} };
  if (isRoot(name)) return { home: homeOf(find(passwd, id)) ?? policyHome, files: {} };
  const entry = find(passwd, name);
  if (entry === null && !isId(name)) throw unknownUser(name);
  if (entry === null) return { home: homeOf(find(passwd, id)) ?? policyHome, files: {} };
  const groups = entriesOf(files.group, groupFields);
  const primary = find(groups, group === '' ? (entry.fields[3] ?? '') : group);
  return {
    home: homeOf(entry) ?? policyHome,
    files: {
      ...(isIt(passwd, entry) && entry.fields[3] === id ? {} : { passwd: renamed(passwd, entry, [2, 3]) }),
      ...(primary === null || isIt(groups, primary) ? {} : { group: renamed(groups, primary, [2]) }),
    },
  };
}

/** Lines for the ids of a sandbox that have no name in these files, after all others. */
export function withOwnNames({ passwd, group }: AccountFiles): AccountFiles {
  return {
    passwd: withLines(passwd, passwdFields, ownNames.passwd),
    group: withLines(group, groupFields, ownNames.group),
  };
}

function withLines(file: string, fields: number, lines: readonly string[]): string {
  const ids = new Set(entriesOf(file, fields).map((entry) => entry.fields[2]));
  const lacking = lines.filter((line) => !ids.has(line.split(':')[2]));
  const end = file === '' || file.endsWith('\n') ? '' : '\n';
  return `${file}${end}${lacking.map((line) => `${line}\n`).join('')}`;
}

/** The users of every sandbox next to root: who runs commands, graders and queries of databases. */
export const ownNames = {
  passwd: [
    `policy:x:${policyId}:${policyId}:policy:${policyHome}:/bin/sh`,
    `grader:x:${graderId}:${graderId}:grader:/nonexistent:/bin/sh`,
    'queries:x:1002:1002:queries:/nonexistent:/bin/false',
  ],
  group: [`policy:x:${policyId}:`, `grader:x:${graderId}:`, 'queries:x:1002:'],
} as const;

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

/** The file with this entry first and under the commands' id, so that a lookup of the id finds it. */
function renamed(entries: readonly Entry[], entry: Entry, at: readonly number[]): string {
  const own = entry.fields.map((field, index) => (at.includes(index) ? id : field)).join(':');
  const others = entries.filter((other) => other !== entry).map(({ line }) => line);
  return `${[own, ...others].join('\n')}\n`;
}

function unknownUser(name: string): Failure {
  return new Failure(
    'start_failed',
    `the image's configuration says User ${JSON.stringify(name)}, and the image's /etc/passwd has no such user: ` +
      'correct the User, or give the image its own /etc/passwd',
    { evidence: { user: name } },
  );
}
