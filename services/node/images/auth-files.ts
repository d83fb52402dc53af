import { readFile } from 'node:fs/promises';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';

/** What Docker and podman write for `login`. Programs that keep credentials (`credHelpers`) are not run. */
const AuthFile = Type.Object({
  auths: Type.Record(Type.String(), Type.Object({ auth: Type.Optional(Type.String()) })),
});
type Auths = Static<typeof AuthFile>['auths'];

/**
 * The credentials for one registry, as skopeo reads them, out of the files that the operator has named. The process that talks to a
 * registry gets no others: neither those of another registry, nor what this machine's root is logged in to.
 */
export async function authFor(registry: string | null, files: readonly string[]): Promise<string> {
  const read = registry === null ? [] : await Promise.all(files.map(readAuths));
  const entries = read.flatMap((auths) => Object.entries(auths).filter(([name]) => isOf(name, registry)));
  return JSON.stringify({ auths: Object.fromEntries(entries.toReversed()) });
}

async function readAuths(file: string): Promise<Auths> {
  const value = parse(await readFile(file, 'utf8'));
  if (!Value.Check(AuthFile, value)) throw new Error(`${file} is not an auth file of Docker or podman`);
  return value.auths;
}

/** Null for what is not JSON: the words of `JSON.parse` quote the text, which are credentials. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** An entry is of a registry, or of some of its repositories. Docker's own one has an address for a name. */
function isOf(name: string, registry: string | null): boolean {
  const [host] = name.replace(/^https?:\/\//, '').split('/');
  return host === registry || (registry === 'docker.io' && host === 'index.docker.io');
}
