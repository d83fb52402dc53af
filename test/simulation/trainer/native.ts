import { callId, rolloutId } from '#src/model/ids.ts';
import type { Chance } from '../engine/chance.ts';
import { commandMs, idleMs, requestMs } from '../environment.ts';
import { commandText } from '../sandbox/command.ts';
import { answerOf, type TrainerSession, toldOf } from './session.ts';
import type { Ending, Told } from './ledger.ts';
import { isSetup, type PlannedCall, type PlannedEnd } from './plan.ts';
import { wordsFor } from './words.ts';

/** How long a request waits in a rollout that has its sandbox; a longer command is attached to, as a lost answer is. */
const shortWaitMs = 3_000;
/** Far within the idle time, so that one lost heartbeat costs nothing. */
const heartbeatMs = idleMs / 4;
/** A call whose 202 never becomes an answer is given up after so many looks: far beyond any command. */
const looks = 20;

/**
 * One rollout as a trainer drives it that speaks the native face: opens it, calls tools and runs commands of its own,
 * says that it is still there while its policy thinks, asks for the verdict and the grade, and ends it, at times in the
 * middle of a wave.
 */
export async function driveNative(session: TrainerSession): Promise<Ending> {
  const { world, plan } = session;
  const opened = await session.withRetries(() => open(session));
  if (opened.kind !== 'view') return { kind: 'discarded', why: wordsFor(opened) };
  if (plan.vanishes && world.chance.happens(diesAfterOpening)) return { kind: 'given_up' };
  const unready = await setUp(session);
  if (unready !== null) return discarded(session, unready);
  const [first] = plan.waves.flat();
  const fate = world.chance.fork('gives up');
  if (first !== undefined && fate.happens(givesUp)) return giveUp(session, first, fate);
  for (const [index, wave] of plan.waves.entries()) {
    await think(session, index);
    const endsNow = plan.end?.duringWave === index ? plan.end : null;
    const [told] = await Promise.all([
      Promise.all(wave.map((planned) => call(session, planned, index === 0 ? requestMs : shortWaitMs))),
      endsNow === null ? null : endDuring(session, endsNow),
    ]);
    if (endsNow !== null) return { kind: 'given_up' };
    const failed = told.find((one) => one.kind !== 'answer');
    if (failed !== undefined) return discarded(session, failed);
    if (index === 0 && plan.lateSetup !== null) await sendLate(session, plan.lateSetup);
    const again = session.pickAgain(plan.waves.slice(0, index + 1).flat());
    if (again !== null) await (again.isAttached ? attach : sendAgain)(session, again.planned);
  }
  world.lastThought(plan);
  await think(session, plan.waves.length);
  await session.gradeLate();
  return graded(session);
}

/** A trainer whose own deadline ends while its first call is under way: mostly that waits in line then. */
const givesUp = 0.2;

async function giveUp(session: TrainerSession, first: PlannedCall, fate: Chance): Promise<Ending> {
  const sent = call(session, first, requestMs);
  await session.world.clock.sleep(fate.pick([fate.between(0, 60), fate.between(60, 6_000)]));
  await session.withRetries(() => cancel(session, first));
  // Whatever holds the request, it answers the call once its rollout has a sandbox.
  await sent;
  if (session.plan.end !== null) await end(session, session.plan.end);
  return { kind: 'given_up' };
}

function cancel(session: TrainerSession, { call: name }: PlannedCall): Promise<Told> {
  return session.ask('cancel', name, {}, async (core) => {
    const { began } = await core.cancel(session.caller, refOf(session), callId(name));
    return { kind: 'cancelled', began };
  });
}

/** A trainer that dies after it has opened its rollouts leaves what they were given to whoever tidies up. */
const diesAfterOpening = 0.4;

/** Runs its calls one after the other; returns the failure of the first that failed, or null. */
async function setUp(session: TrainerSession): Promise<Told | null> {
  for (const [index, planned] of session.plan.setup.entries()) {
    const told = await call(session, planned, index === 0 ? requestMs : shortWaitMs);
    if (told.kind !== 'answer') return told;
    session.world.setUp(session.plan);
  }
  return null;
}

/** A mark that comes after the policy has acted is refused, and changes nothing. */
function sendLate(session: TrainerSession, planned: PlannedCall): Promise<Told> {
  return session.withRetries(() => send(session, planned, shortWaitMs, true));
}

/** What its verdict is, too, belongs into the trainer's books. */
async function discarded(session: TrainerSession, failed: Told): Promise<Ending> {
  const verdict = await session.withRetries(() => view(session));
  return { kind: 'discarded', why: `${wordsFor(failed)}; its verdict: ${wordsFor(verdict)}` };
}

async function graded(session: TrainerSession): Promise<Ending> {
  await session.withRetries(() => view(session));
  const told = await session.withRetries(() => grade(session));
  if (session.plan.end !== null) await end(session, session.plan.end);
  if (told.kind === 'score') return { kind: 'scored', score: told.score };
  return discarded(session, told);
}

function open(session: TrainerSession): Promise<Told> {
  const { name, environment, item } = session.plan;
  return session.ask('open', 'open', {}, async (core) => {
    const { view } = await core.open(session.caller, {
      rollout: rolloutId(name),
      attempt: 1,
      environment: { name: environment, version: null },
      item: { id: item, answer: 'yes' },
      group: null,
      tags: { step: null, labels: [] },
      requirements: null,
    });
    return toldOf(view);
  });
}

/** Sent once; while the answer is not there yet, attached to. */
async function call(session: TrainerSession, planned: PlannedCall, waitMs: number): Promise<Told> {
  const told = await session.withRetries(() => send(session, planned, waitMs));
  for (let look = 0, latest = told; ; look += 1) {
    if (latest.kind !== 'failure' || latest.status !== 202 || look === looks) return latest;
    latest = await session.withRetries(() => attach(session, planned));
  }
}

const sendAgain = (session: TrainerSession, planned: PlannedCall) => send(session, planned, shortWaitMs);

/** It waits for its sandbox, however long the request is. */
function upload(session: TrainerSession, planned: PlannedCall): Promise<Told> {
  const { call, command } = planned;
  const to = { path: call, user: 'policy', form: 'file', call: callId(call) } as const;
  return session.ask('call', call, { planned }, async (core) => {
    const { bytes } = await core.putFile(session.caller, refOf(session), to, oneChunk(command.token), true);
    return { kind: 'answer', output: `${bytes} bytes`, ended: 'completed', replayed: false };
  });
}

async function* oneChunk(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

function send(session: TrainerSession, planned: PlannedCall, waitMs: number, late = false): Promise<Told> {
  if (planned.kind === 'upload') return upload(session, planned);
  const command = commandText(planned.command);
  const setup = isSetup(planned.call);
  const asked = { rollout: refOf(session), call: callId(planned.call), waitMs, setup };
  return session.ask('call', planned.call, { planned, late }, async (core) => {
    const result =
      planned.kind === 'exec'
        ? await core.exec(session.caller, { ...asked, argv: ['sh', '-c', command], timeoutMs: commandMs })
        : await core.toolCall(session.caller, {
            ...asked,
            open: null,
            tool: planned.tool,
            namedBy: 'model',
            arguments: JSON.stringify(planned.kind === 'bad_arguments' ? { komand: command } : { command }),
            timeoutMs: null,
          });
    return answerOf(result);
  });
}

function attach(session: TrainerSession, planned: PlannedCall): Promise<Told> {
  return session.ask('call', planned.call, { planned }, async (core) => {
    const result = await core.attach(session.caller, refOf(session), callId(planned.call), shortWaitMs);
    return answerOf(result);
  });
}

function grade(session: TrainerSession): Promise<Told> {
  const sample = JSON.stringify({ output_text: session.plan.right ? 'yes' : 'no' });
  return session.ask('grade', 'grade', {}, async (core) => {
    const asked = { rollout: refOf(session), open: null, sample, waitMs: requestMs };
    const { score } = await core.grade(session.caller, asked);
    return { kind: 'score', score };
  });
}

function view(session: TrainerSession): Promise<Told> {
  return session.ask('view', 'verdict', {}, async (core) =>
    toldOf(await core.view(session.caller, refOf(session))),
  );
}

/** Somewhere in the wave: before its first call is there, while one runs, or after the last. */
async function endDuring(session: TrainerSession, planned: PlannedEnd): Promise<void> {
  const { clock, chance } = session.world;
  await clock.sleep(chance.pick([chance.between(0, 60), chance.between(60, 3_000)]));
  await end(session, planned);
  const late = {
    call: `${session.plan.name}-late`,
    kind: 'command',
    tool: 'run',
    command: lateCommand,
  } as const;
  await session.withRetries(() => send(session, late, shortWaitMs));
}

/** Whoever has ended a rollout and calls it all the same must hear that it is over. */
const lateCommand = { token: 'ran too late', runMs: 50, exitCode: 0, exhausts: false };

function end(session: TrainerSession, { by }: PlannedEnd): Promise<Told> {
  const what = by === 'finished' ? 'finish' : 'delete';
  return session.withRetries(() =>
    session.ask('close', what, {}, async (core) =>
      toldOf(await core.close(session.caller, refOf(session), by, 0)),
    ),
  );
}

async function think(session: TrainerSession, wave: number): Promise<void> {
  let leftMs = session.plan.thinkMs[wave] ?? 0;
  for (; leftMs > heartbeatMs; leftMs -= heartbeatMs) {
    await session.world.clock.sleep(heartbeatMs);
    await session.withRetries(() => heartbeat(session));
  }
  await session.world.clock.sleep(leftMs);
}

function heartbeat(session: TrainerSession): Promise<Told> {
  return session.ask('heartbeat', 'heartbeat', {}, async (core) =>
    toldOf(await core.heartbeat(session.caller, refOf(session))),
  );
}

const refOf = (session: TrainerSession) => ({ rollout: rolloutId(session.plan.name), attempt: null });
