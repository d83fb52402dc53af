import { callId, rolloutId } from '#src/model/ids.ts';
import { commandMs, idleMs, requestMs } from '../environment.ts';
import { commandText } from '../sandbox/command.ts';
import { type Desk, toldOf } from './desk.ts';
import type { Ending, Told } from './ledger.ts';
import type { PlannedCall, PlannedEnd } from './plan.ts';
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
export async function driveNative(desk: Desk): Promise<Ending> {
  const { world, plan } = desk;
  const opened = await desk.withRetries(() => open(desk));
  if (opened.kind !== 'view') return { kind: 'discarded', why: wordsFor(opened) };
  if (plan.vanishes && world.chance.happens(diesAfterOpening)) return { kind: 'given_up' };
  for (const [index, wave] of plan.waves.entries()) {
    await think(desk, index);
    const endsNow = plan.end?.duringWave === index ? plan.end : null;
    const [told] = await Promise.all([
      Promise.all(wave.map((planned) => call(desk, planned, index === 0 ? requestMs : shortWaitMs))),
      endsNow === null ? null : endDuring(desk, endsNow),
    ]);
    if (endsNow !== null) return { kind: 'given_up' };
    const failed = told.find((one) => one.kind !== 'answer');
    if (failed !== undefined) return discarded(desk, failed);
  }
  world.lastThought(plan);
  await think(desk, plan.waves.length);
  return graded(desk);
}

/** A trainer that dies after it has opened its rollouts leaves what they were given to whoever tidies up. */
const diesAfterOpening = 0.4;

/** What its verdict is, too, belongs into the trainer's books. */
async function discarded(desk: Desk, failed: Told): Promise<Ending> {
  const verdict = await desk.withRetries(() => view(desk));
  return { kind: 'discarded', why: `${wordsFor(failed)}; its verdict: ${wordsFor(verdict)}` };
}

async function graded(desk: Desk): Promise<Ending> {
  await desk.withRetries(() => view(desk));
  const told = await desk.withRetries(() => grade(desk));
  if (desk.plan.end !== null) await end(desk, desk.plan.end);
  if (told.kind === 'score') return { kind: 'scored', score: told.score };
  return discarded(desk, told);
}

function open(desk: Desk): Promise<Told> {
  const { name, environment, item } = desk.plan;
  return desk.ask('open', 'open', {}, async (core) => {
    const { view } = await core.open(desk.caller, {
      rollout: rolloutId(name),
      attempt: 1,
      environment: { name: environment, version: null },
      item: { id: item, answer: 'yes' },
      group: null,
      tags: { step: null, labels: [] },
    });
    return toldOf(view);
  });
}

/** Sent once; while the answer is not there yet, attached to. */
async function call(desk: Desk, planned: PlannedCall, waitMs: number): Promise<Told> {
  const told = await desk.withRetries(() => send(desk, planned, waitMs));
  for (let look = 0, latest = told; ; look += 1) {
    if (latest.kind !== 'failure' || latest.status !== 202 || look === looks) return latest;
    latest = await desk.withRetries(() => attach(desk, planned));
  }
}

function send(desk: Desk, planned: PlannedCall, waitMs: number): Promise<Told> {
  const command = commandText(planned.command);
  const asked = { rollout: refOf(desk), call: callId(planned.call), waitMs };
  return desk.ask('call', planned.call, { planned }, async (core) => {
    const result =
      planned.kind === 'exec'
        ? await core.exec(desk.caller, { ...asked, argv: ['sh', '-c', command], timeoutMs: commandMs })
        : await core.toolCall(desk.caller, {
            ...asked,
            open: null,
            tool: planned.tool,
            namedBy: 'model',
            arguments: JSON.stringify(planned.kind === 'bad_arguments' ? { komand: command } : { command }),
            timeoutMs: null,
          });
    return { kind: 'answer', output: result.output, replayed: result.replayed };
  });
}

function attach(desk: Desk, planned: PlannedCall): Promise<Told> {
  return desk.ask('call', planned.call, { planned }, async (core) => {
    const result = await core.attach(desk.caller, refOf(desk), callId(planned.call), shortWaitMs);
    return { kind: 'answer', output: result.output, replayed: result.replayed };
  });
}

function grade(desk: Desk): Promise<Told> {
  const sample = JSON.stringify({ output_text: desk.plan.right ? 'yes' : 'no' });
  return desk.ask('grade', 'grade', {}, async (core) => {
    const asked = { rollout: refOf(desk), open: null, sample, waitMs: requestMs };
    const { score } = await core.grade(desk.caller, asked);
    return { kind: 'score', score };
  });
}

function view(desk: Desk): Promise<Told> {
  return desk.ask('view', 'verdict', {}, async (core) => toldOf(await core.view(desk.caller, refOf(desk))));
}

/** Somewhere in the wave: before its first call is there, while one runs, or after the last. */
async function endDuring(desk: Desk, planned: PlannedEnd): Promise<void> {
  const { clock, chance } = desk.world;
  await clock.sleep(chance.pick([chance.between(0, 60), chance.between(60, 3_000)]));
  await end(desk, planned);
  const late = {
    call: `${desk.plan.name}-late`,
    kind: 'command',
    tool: 'run',
    command: lateCommand,
  } as const;
  await desk.withRetries(() => send(desk, late, shortWaitMs));
}

/** Whoever has ended a rollout and calls it all the same must hear that it is over. */
const lateCommand = { token: 'ran too late', runMs: 50, exitCode: 0, exhausts: false };

function end(desk: Desk, { by }: PlannedEnd): Promise<Told> {
  const what = by === 'finished' ? 'finish' : 'delete';
  return desk.withRetries(() =>
    desk.ask('close', what, {}, async (core) => toldOf(await core.close(desk.caller, refOf(desk), by))),
  );
}

async function think(desk: Desk, wave: number): Promise<void> {
  let leftMs = desk.plan.thinkMs[wave] ?? 0;
  for (; leftMs > heartbeatMs; leftMs -= heartbeatMs) {
    await desk.world.clock.sleep(heartbeatMs);
    await desk.withRetries(() => heartbeat(desk));
  }
  await desk.world.clock.sleep(leftMs);
}

function heartbeat(desk: Desk): Promise<Told> {
  return desk.ask('heartbeat', 'heartbeat', {}, async (core) =>
    toldOf(await core.heartbeat(desk.caller, refOf(desk))),
  );
}

const refOf = (desk: Desk) => ({ rollout: rolloutId(desk.plan.name), attempt: null });
