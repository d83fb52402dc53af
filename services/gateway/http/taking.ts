import type { FastifyRequest } from 'fastify';
import { mostKeptSampleBytes } from '#src/grading/job.ts';
import type { Item, Json } from '#src/model/grader.ts';
import { callId, type CallId, idRule, isIdText, rolloutId, type RolloutId } from '#src/model/ids.ts';
import {
  type RequirementName,
  requirementNames,
  type Requirements,
  taskDigest,
} from '#src/model/requirements.ts';
import { amountsOf, type RequiresBody } from '#src/protocol/native/requirements.ts';
import type { Written } from '#src/model/written.ts';
import { defaultWaitS, maxWaitS } from '#src/protocol/native/parts.ts';
import { mostArgumentBytes } from '#src/tools/arguments.ts';
import type { EnvironmentRef, RolloutRef } from '../core-interface.ts';
import { invalid } from './answer-failure.ts';
import type { WrittenMember } from './body-parts.ts';

/*
 * What a route takes out of a request, each piece checked once, here: ids, the environment, the dataset row, and at the
 * end what the model wrote.
 */

/** Takes the rollout's id out of a request; from here on errors name it. */
export function takeRollout(request: FastifyRequest, text: string, field: string): RolloutId {
  const rollout = rolloutId(idText(text, field));
  if (request.state !== null) request.state.rollout = rollout;
  return rollout;
}

/** Takes the call's id out of a request; from here on errors name it. */
export function takeCall(request: FastifyRequest, text: string): CallId {
  const call = callId(idText(text, 'call_id'));
  if (request.state !== null) request.state.call = call;
  return call;
}

/** The rollout of a native address, the attempt its query names. */
export function takeRolloutRef(
  request: FastifyRequest,
  id: string,
  query: { readonly attempt?: string },
): RolloutRef {
  const attempt = query.attempt === undefined ? null : Number(query.attempt);
  return { rollout: takeRollout(request, id, 'the rollout id'), attempt };
}

/** `name` or `name@version`. */
export function environmentRef(text: string): EnvironmentRef {
  const [name = '', version, ...rest] = text.split('@');
  if (name === '' || version === '' || rest.length > 0) {
    throw invalid(`"${text}" names no environment; write name or name@version`);
  }
  return { name, version: version ?? null };
}

export function idText(text: string, field: string): string {
  if (text !== '' && isIdText(text)) return text;
  throw invalid(`${field} must be ${idRule}`);
}

/**
 * The dataset row; `null` and absent are the same. It is kept, hashed and given to sandboxes as JSON, so a number that
 * only JavaScript can hold (`1e999` is read as infinity) must not get further than here.
 */
export function takeItem(item: unknown): Item | null {
  if (item === undefined || item === null) return null;
  if (!isJson(item as Json)) {
    throw invalid('the item holds a number that is too large for JSON readers, or half a character');
  }
  return item as Item;
}

/** They are part of the rollout's record and of the label in its sandbox, which has 4,096 characters for all fields. */
const mostSandboxRequirements = 1_000;

/** What a task demands, from what an open says of it. */
export function takeRequirements(body: RequiresBody): Requirements {
  const { workdir, workdir_access: workdirAccess, folders, user, task } = body;
  const sandbox = given({ workdir, workdirAccess, folders, user });
  if (JSON.stringify(sandbox).length > mostSandboxRequirements) {
    throw invalid(
      `requires names more than ${mostSandboxRequirements} characters of workdir, folders and user; shorten it`,
    );
  }
  return {
    sandbox: Object.keys(sandbox).length === 0 ? null : sandbox,
    amounts: amountsOf(body),
    ...given({
      network: body.network,
      services: body.services,
      commandTimeoutMs: body.command_timeout_s === undefined ? undefined : body.command_timeout_s * 1000,
      task: task === undefined ? undefined : taskDigest(task),
    }),
  };
}

type Given<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** Without the fields that the request leaves out. */
function given<Fields extends Readonly<Record<string, unknown>>>(fields: Fields): Given<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Given<Fields>;
}

export function takeRequirementName(text: string): RequirementName {
  const name = requirementNames.find((each) => each === text);
  if (name === undefined) throw invalid(`requirement must be one of ${requirementNames.join(', ')}`);
  return name;
}

/** By recursion: bodies are bounded in depth. */
function isJson(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, each]) => name.isWellFormed() && isJson(each));
}

/*
 * The two members of a body that the model wrote. Whatever is wrong inside of them is its own, and is told to it or
 * graded; only a member that cannot be read at all, because the caller's body is broken there, is the caller's.
 */

export const writtenArguments: WrittenMember = { name: 'arguments', maxBytes: mostArgumentBytes };
export const writtenSample: WrittenMember = { name: 'sample', maxBytes: mostKeptSampleBytes };

/** A call's arguments as JSON text, whether they came as text or as the value itself. */
export function takeArguments(request: FastifyRequest): Written {
  const written = request.state?.written ?? '';
  if (typeof written !== 'string' || !written.trimStart().startsWith('"')) return written;
  return parsed(written) as string;
}

/** The sample as text; null where none came. It is an object, and what is in it is looked at when it is graded. */
export function takeSample(request: FastifyRequest): Written | null {
  const written = request.state?.written ?? null;
  if (typeof written !== 'string') return written;
  const value = parsed(written);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return written;
  throw invalid('body/sample must be object');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw invalid('the body is not JSON', error);
  }
}

/** How long a request may be held, from its `wait_s`. */
export function waitMsOf(waitS: string | undefined): number {
  const seconds = waitS === undefined ? defaultWaitS : Math.min(Number(waitS), maxWaitS);
  return seconds * 1000;
}

/** A command's own timeout, from its `timeout_s`; null leaves it to the tool. */
export function timeoutMsOf(timeoutS: number | undefined): number | null {
  return timeoutS === undefined ? null : Math.ceil(timeoutS * 1000);
}
