import { secondRunOf } from '#src/calls/work.ts';
import { callId } from '#src/model/ids.ts';
import type { Execution } from '../sandbox/truth.ts';
import type { World } from '../world.ts';
import type { Request } from '../trainer/ledger.ts';
import { brokenWords, cancelledWords, commandMs, requestMs } from '../environment.ts';
import { isOutputGone, mayBeEvicted } from './answers-kept.ts';
import type { Invariant } from './inspector.ts';
import { answers } from './ran-once.ts';
import { ownerKey } from './owner-key.ts';

/** A request may be answered so much after its time is up: a grade that asks for its sandbox does so for ten seconds. */
const graceMs = 15_000;

/** Invariants 4, 5, 7, 8 and 9: whose doing an ending was, and that it comes in time. */
export const attributed: Readonly<Record<string, Invariant>> = {
  'an answer is what the command did': (world) => {
    for (const { request, output } of answers(world.ledger)) {
      const wrong = unlikeTruth(world, request, output);
      if (wrong !== null) return `${request.rollout.name} ${request.call} was answered "${output}": ${wrong}`;
    }
    return null;
  },

  'only 200 or 5xx leaves the RFT face': ({ ledger }) => {
    const leak = ledger.requests.find(
      ({ told, rollout }) => rollout.face === 'rft' && told?.kind === 'failure' && told.status < 500,
    );
    return leak === undefined ? null : `${leak.call} was answered ${JSON.stringify(leak.told)}`;
  },

  'nothing is unclassified': ({ ledger }) => {
    const unclassified = ledger.requests.find(
      ({ told }) => told?.kind === 'failure' && told.code === 'unclassified',
    );
    return unclassified === undefined ? null : JSON.stringify(unclassified.told);
  },

  'what no fault touched is answered and scored': (world) => {
    const hurt = world.ledger.requests.find(
      (request) => hasFailed(world, request) && spared(world, request.rollout.name, request.rollout.run),
    );
    return hurt === undefined ? null : `${hurt.rollout.name} ${hurt.call}: ${JSON.stringify(hurt.told)}`;
  },

  'every request is answered in time': (world) => {
    const { nowMs } = world.scheduler;
    const late = world.ledger.requests.find(
      // An upload waits as long as it takes to get a sandbox: its body cannot be sent twice.
      ({ planned, told, toldMs, sentMs }) =>
        planned?.kind !== 'upload' && (told === null ? nowMs : toldMs) - sentMs > requestMs + graceMs,
    );
    return late === undefined ? null : `${late.rollout.name} ${late.call} was sent at ${late.sentMs} ms`;
  },

  'waiting is never charged to a command': ({ truth }) => {
    const short = truth.executions.find(
      ({ call, timeoutMs }) => !call.includes(' ') && timeoutMs !== commandMs,
    );
    return short === undefined ? null : `${short.call} was given ${short.timeoutMs} ms of its ${commandMs}`;
  },
};

/** A 202 is no end, and whoever ends a rollout while it is called has asked for what its calls are told. */
function hasFailed(world: World, request: Request): boolean {
  const { told, toldMs, conflicting, late, rollout } = request;
  const { ledger } = world;
  if (isOfBackend(world, rollout)) return false;
  if (told?.kind === 'view') return told.verdict === 'discard';
  if (told?.kind !== 'failure' || conflicting || late || told.status === 202) return false;
  if (told.code === 'answer_expired' && mayBeEvicted(world, request)) return false;
  return toldMs < ledger.endAskedMs(rollout.name);
}

/** A backend that fails is its own fault, see `dependencies.ts`. */
function isOfBackend({ verdicts }: World, { run, name }: Request['rollout']): boolean {
  const owner = ownerKey(run, name);
  return verdicts.some(
    ({ key, verdict }) => key === owner && verdict.kind === 'discard' && verdict.code === 'dependency_failed',
  );
}

function spared(world: World, rollout: string, run: string): boolean {
  const owner = ownerKey(run, rollout);
  const its = world.truth.lives.filter((life) => life.owners.has(owner)).map((life) => life.sandbox);
  const held = world.redis.scripts.state.rollouts.get(owner)?.sandbox ?? '';
  return world.faults.sparedAll([...its, held, rollout]);
}

/** Why the answer is not what happened; null when it is. */
function unlikeTruth(world: World, { rollout, planned, call }: Request, output: string): string | null {
  if (output.startsWith('Error: all ') || planned?.kind === 'upload' || isOutputGone(output)) return null;
  const owner = ownerKey(rollout.run, rollout.name);
  const ids: ReadonlySet<string> = new Set([call, secondRunOf(callId(call))]);
  const ran = world.truth.executionsOf(owner).filter((execution) => ids.has(execution.call));
  if (output.startsWith(brokenWords)) return world.truth.brokenBy(owner) ? null : 'it broke nothing';
  if (output === cancelledWords)
    return ran.every((one) => wentWithItsLife(world, one)) && isCancelled(world, call)
      ? null
      : 'it was not cancelled';
  if (planned?.kind === 'bad_arguments') {
    return ran.length === 0 && output.startsWith('Error: ') ? null : 'its arguments were wrong';
  }
  const did = ran.flatMap(({ token, ending, struck }) =>
    ending === null || struck ? [] : [expectedOutput(token, ending)],
  );
  if (did.length === 0) return ran.length === 0 ? 'it never ran' : 'it has not ended by itself';
  return did.includes(output) ? null : `it did "${did.join('" and "')}"`;
}

/** It began in a life that ended under it, which Redis may have forgotten, too: then it is not begun in the rollout's next sandbox. */
const wentWithItsLife = ({ truth }: World, { sandbox, boot, ending }: Execution): boolean =>
  ending === null && (truth.lifeOf(sandbox, boot)?.endedMs ?? null) !== null;

const isCancelled = ({ ledger }: World, call: string): boolean =>
  ledger.requests.some((request) => request.asking === 'cancel' && request.call === call);

type Ended = NonNullable<World['truth']['executions'][number]['ending']>;

export function expectedOutput(token: string, ending: Ended): string {
  if (ending.kind === 'timed_out') return `${token}\n[timed out after ${commandMs / 1000} s]`;
  if (ending.kind === 'cancelled') return `${token}\n${cancelledWords}`;
  const exitCode = ending.kind === 'exited' ? ending.exitCode : 0;
  return exitCode === 0 ? token : `${token}\n[exit code ${exitCode}]`;
}
