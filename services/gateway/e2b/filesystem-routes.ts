import type { FastifyReply, FastifyRequest } from 'fastify';
import { type EntryInfo, ListDirRequest, MoveRequest, PathRequest } from '#src/protocol/e2b/data.ts';
import type { App } from '../http/app.ts';
import { takeCall } from '../http/taking.ts';
import { answerWord, type Word } from './connect-wire.ts';
import { entriesIn, listing, making, moving, removing, telling, wordOf } from './filesystem-commands.ts';
import { addressedBy, checkUser } from './identify.ts';
import { asArgument } from './paths.ts';
import type { E2bParts } from './routes.ts';

/**
 * Folders and what is in them. Each request is a small command in the sandbox, run as its user like every other, so what it may
 * not touch is refused by the kernel, and a sandbox that was lost is told as for any command.
 */
export function filesystemRoutes(app: App, parts: E2bParts): void {
  const service = '/filesystem.Filesystem';

  app.post(`${service}/Stat`, { schema: { body: PathRequest } }, (request, reply) =>
    tellOne(parts, request, reply, [telling, asArgument(request.body.path)], request.body.path),
  );

  app.post(`${service}/MakeDir`, { schema: { body: PathRequest } }, (request, reply) =>
    tellOne(parts, request, reply, [making, asArgument(request.body.path)], request.body.path),
  );

  app.post(`${service}/Move`, { schema: { body: MoveRequest } }, (request, reply) => {
    const { source, destination } = request.body;
    return tellOne(parts, request, reply, [moving, asArgument(source), asArgument(destination)], destination);
  });

  app.post(`${service}/Remove`, { schema: { body: PathRequest } }, async (request, reply) => {
    const { path } = request.body;
    const told = await run(parts, request, [removing, asArgument(path)], path);
    return told.kind === 'word' ? answerWord(reply, told.word, told.message) : {};
  });

  app.post(`${service}/ListDir`, { schema: { body: ListDirRequest } }, async (request, reply) => {
    const { path, depth = 0 } = request.body;
    const told = await run(parts, request, [listing, asArgument(path), String(Math.max(1, depth))], path);
    if (told.kind === 'word') return answerWord(reply, told.word, told.message);
    return { entries: entriesIn(told.text, path) };
  });
}

async function tellOne(
  parts: E2bParts,
  request: FastifyRequest,
  reply: FastifyReply,
  command: readonly string[],
  path: string,
): Promise<FastifyReply | { readonly entry: EntryInfo }> {
  const told = await run(parts, request, command, path);
  if (told.kind === 'word') return answerWord(reply, told.word, told.message);
  const [entry] = entriesIn(told.text, null);
  if (entry === undefined) return answerWord(reply, 'not_found', `path '${path}' does not exist`);
  return { entry: { ...entry, path } };
}

type Told =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'word'; readonly word: Word; readonly message: string };

/** A client waits a minute; a folder that takes so long to walk is the sandbox's own. */
const commandMs = 30_000;
const requestMs = 55_000;
/** Some two thousand names: what an answer of fleet state holds. */
const listBytes = 256 * 1024;

async function run(
  { core, random }: E2bParts,
  request: FastifyRequest,
  command: readonly string[],
  path: string,
): Promise<Told> {
  const { caller, ref: rollout } = addressedBy(request);
  checkUser(request);
  const call = takeCall(request, `e2b-files-${random.text(12)}`);
  const [script = '', ...args] = command;
  const argv = ['/bin/sh', '-c', script, 'sh', ...args];
  const times = { timeoutMs: commandMs, waitMs: requestMs };
  const result = await core.exec(caller, { rollout, call, argv, maxOutputBytes: listBytes, ...times });
  const word = wordOf(result);
  if (word === null) return { kind: 'text', text: result.stdout };
  return { kind: 'word', word, message: messageOf(word, path, result.stderr || result.output) };
}

const saidLength = 300;

function messageOf(word: Word, path: string, said: string): string {
  if (word === 'not_found') return `path '${path}' does not exist`;
  if (word === 'already_exists') return `path '${path}' already exists`;
  return `${path}: ${said.trim().slice(0, saidLength)}`;
}
