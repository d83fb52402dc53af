import { authoriseAgain, type KnownKeys, type Origin, unknownKey } from '#src/access/authorise.ts';
import type { Grant } from '#src/access/keys.ts';
import type { PeerTokens } from '#src/platform/tokens.ts';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

/*
 * What stands for E2B's access token: whoever opened a sandbox gets it, and shows it with every command and file. It names
 * the sandbox, the run and the API key that opened it, under a signature of the fleet, so any gateway knows them without
 * asking; and it is good only while that key is, and for that sandbox alone. The variables that all commands of the sandbox get,
 * and the folder that they start in, travel in it too: nothing else of the wire brings them again.
 */

const PassBody = Type.Object({
  sandbox: Type.String(),
  run: Type.String(),
  key: Type.String(),
  envs: Type.Record(Type.String(), Type.String()),
  cwd: Type.Optional(Type.String()),
});
export type Pass = {
  readonly sandbox: string;
  readonly run: string;
  /** The API key's public id. */
  readonly key: string;
  readonly envs: Readonly<Record<string, string>>;
  /** Where commands start, if not where the image says. */
  readonly cwd?: string;
};

/** It is a header of each request, and Node takes 16 KiB of headers. */
const longestPass = 8_192;

/** Null: with these variables it would not fit into a header. */
export function writePass(tokens: PeerTokens, pass: Pass): string | null {
  const body = Buffer.from(JSON.stringify(pass)).toString('base64url');
  const text = `${body}.${tokens.peerToken(statement(body))}`;
  return text.length > longestPass ? null : text;
}

/** Null: it is none of this fleet's. */
export function readPass(tokens: PeerTokens, text: string): Pass | null {
  const [body = '', signature = '', ...rest] = text.split('.');
  if (text.length > longestPass || rest.length > 0) return null;
  if (!tokens.isPeerToken(statement(body), signature)) return null;
  const pass: unknown = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
  return Value.Check(PassBody, pass) ? pass : null;
}

/** What its bearer may do. Throws `unauthorized` where its key is not taken any more. */
export function grantOfPass(pass: Pass | null, origin: Origin, known: KnownKeys): Grant {
  if (pass === null) throw unknownKey();
  return authoriseAgain(pass.key, origin, ['native'], known);
}

/** Signed for this use alone. */
const statement = (body: string) => `e2b sandbox ${body}`;
