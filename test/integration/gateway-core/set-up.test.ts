import { describe, expect, test, vi } from 'vitest';
import { callId, rolloutId, type SandboxId } from '#src/model/ids.ts';
import type { Grader } from '#src/model/grader.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';

const trainer = { ...caller, face: 'native' } as const;
const ref = { rollout: rolloutId('trace_1'), attempt: null };

type Sent = { readonly setup?: boolean; readonly stdin?: string };

const exec = (world: CoreWorld, call: string, sent: Sent = {}, core = world.wired.core) =>
  core.exec(trainer, {
    rollout: ref,
    call: callId(call),
    argv: ['run', call],
    timeoutMs: 30_000,
    waitMs: world.waitMs,
    ...sent,
  });

const setup = { setup: true } as const;

async function* chunks(...texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(text);
}

const upload = (world: CoreWorld, path: string, text: string, call?: string) =>
  world.wired.core.putFile(
    trainer,
    ref,
    { path, user: 'policy', form: 'file', ...(call !== undefined && { call: callId(call) }) },
    chunks(text.slice(0, 2), text.slice(2)),
    true,
  );

const read = async (world: CoreWorld, path: string) => {
  const bytes = await world.wired.core.getFile(trainer, ref, {
    path,
    user: 'policy',
    form: 'file',
    mostBytes: 1_000,
  });
  return Buffer.concat(await Array.fromAsync(bytes)).toString();
};

/** The sandbox is gone, and a controller says so. */
async function lose(world: CoreWorld, sandbox: SandboxId) {
  world.link.kill(sandbox);
  return world.state.lifecycle.lose(sandbox, null, 'evicted', {});
}

const verdicts = (world: CoreWorld) => world.events.filter(({ kind }) => kind === 'verdict');

describe('set-up that was lost with its sandbox', () => {
  test('is replayed in order in the next one, files and stdin too, before the first call of the policy', async () => {
    await using world = await CoreWorld.start();
    const sandbox = await world.ready();
    await world.open('trace_1');
    await exec(world, 'first', { ...setup, stdin: 'line' });
    await upload(world, 'a.txt', 'hello');
    await exec(world, 'second', setup);
    await lose(world, sandbox);
    await world.ready();
    const seen: unknown[] = [];
    world.link.behaviour = ({ action }) => {
      if (action.kind === 'exec') seen.push(action.stdin ?? null);
      return answering({ stdout: action.kind === 'exec' ? (action.argv.at(-1) ?? '') : '' });
    };
    expect(await exec(world, 'policy')).toMatchObject({ stdout: 'policy', replayed: false });
    expect(world.link.ran).toEqual(['first', 'second', 'first', 'second', 'policy']);
    expect(seen).toEqual(['line', null, null]);
    expect(await read(world, 'a.txt')).toBe('hello');
    expect(await world.wired.core.view(trainer, ref)).toMatchObject({
      record: { state: 'active', heals: 1 },
      verdict: { kind: 'scorable' },
    });
    expect(verdicts(world)).toEqual([]);
  });

  test('a call that ran then is lost with it, and so is the rollout', async () => {
    await using world = await CoreWorld.start();
    const sandbox = await world.ready();
    await world.ready();
    await world.open('trace_1');
    await exec(world, 'first', setup);
    world.link.behaviour = () => new Promise(() => undefined);
    const lost = expect(exec(world, 'second', setup)).rejects.toMatchObject({ code: 'sandbox_lost' });
    await vi.waitFor(() => expect(world.link.ran).toEqual(['first', 'second']));
    await lose(world, sandbox);
    await lost;
    await expect(exec(world, 'policy')).rejects.toMatchObject({ code: 'sandbox_lost' });
    expect(world.link.ran).toEqual(['first', 'second']);
  });

  test('and that left a process in the background is not replayed, which no end would show', async () => {
    await using world = await CoreWorld.start();
    const sandbox = await world.ready();
    await world.ready();
    await world.open('trace_1');
    const left = answering({});
    world.link.behaviour = () => ({ ...left, evidence: { ...left.evidence, backgroundProcesses: 1 } });
    await exec(world, 'first', setup);
    await lose(world, sandbox);
    await expect(exec(world, 'policy')).rejects.toMatchObject({ code: 'sandbox_lost' });
    expect(world.link.ran).toEqual(['first']);
  });

  test('is no ground for a score that its trainer brings before the replay', async () => {
    await using world = await CoreWorld.start({ grader: { kind: 'none' } });
    const sandbox = await world.ready();
    await world.open('trace_1');
    await exec(world, 'first', setup);
    await lose(world, sandbox);
    await world.ready();
    await expect(world.wired.core.finish(trainer, ref, 0, world.waitMs)).rejects.toMatchObject({
      code: 'sandbox_lost',
    });
    expect(world.link.ran).toEqual(['first']);
    expect(verdicts(world)).toMatchObject([
      {
        verdict: { kind: 'discard', code: 'sandbox_lost' },
        score: null,
        evidence: { replay: 'it was graded before its set-up was replayed' },
      },
    ]);
  });

  test('which ends otherwise now discards the rollout, and the event log says why', async () => {
    await using world = await CoreWorld.start();
    const sandbox = await world.ready();
    await world.open('trace_1');
    await exec(world, 'first', setup);
    await lose(world, sandbox);
    await world.ready();
    world.link.behaviour = () => answering({ stdout: 'another' });
    const lost = { code: 'sandbox_lost', taints: true };
    await expect(exec(world, 'policy')).rejects.toMatchObject(lost);
    await expect(
      world.wired.core.grade(trainer, { rollout: ref, open: null, sample: '{}', waitMs: 1_000 }),
    ).rejects.toMatchObject(lost);
    expect(world.link.ran).toEqual(['first', 'first']);
    expect(verdicts(world)).toMatchObject([
      {
        verdict: { kind: 'discard', code: 'sandbox_lost' },
        evidence: { replay: 'the call first ended otherwise than before' },
      },
    ]);
  });

  test('an upload that its caller repeats later under its id is not written over what came after it', async () => {
    await using world = await CoreWorld.start();
    const sandbox = await world.ready();
    await world.open('trace_1');
    await upload(world, 'a.txt', 'hello', 'up-1');
    await upload(world, 'a.txt', 'changed', 'up-2');
    await lose(world, sandbox);
    await world.ready();
    await upload(world, 'a.txt', 'hello', 'up-1');
    expect(await read(world, 'a.txt')).toBe('changed');
  });

  test('is replayed before the rollout is graded in the next sandbox', async () => {
    const grader: Grader = {
      kind: 'command',
      argv: ['verify'],
      files: {},
      timeoutMs: 1_000,
      onExit: 0,
      onTimeout: 0,
      onOutOfMemory: 0,
      onBroken: 0,
    };
    await using world = await CoreWorld.start({ grader });
    const sandbox = await world.ready();
    await world.open('trace_1');
    await exec(world, 'first', setup);
    await lose(world, sandbox);
    await world.ready();
    world.link.behaviour = ({ action }) =>
      answering(action.kind === 'grade' ? { grade: { kind: 'ran', score: '0.5' } } : { stdout: 'first' });
    const asked = { rollout: ref, open: null, sample: '{}', waitMs: world.waitMs };
    expect(await world.wired.core.grade(trainer, asked)).toMatchObject({ score: 0.5 });
    expect(world.link.ran.slice(0, 2)).toEqual(['first', 'first']);
  });

  test('is replayed once by two gateways that ask at the same time', async () => {
    await using world = await CoreWorld.start();
    const sandbox = await world.ready();
    await world.open('trace_1');
    for (const call of ['s1', 's2', 's3']) await exec(world, call, setup);
    await lose(world, sandbox);
    await world.ready();
    const other = world.gateway();
    const answers = await Promise.all([exec(world, 'c1'), exec(world, 'c2', {}, other.core)]);
    expect(answers.map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
    expect(world.link.ran.slice(3, 6)).toEqual(['s1', 's2', 's3']);
    expect(world.link.ran.slice(6).toSorted()).toEqual(['c1', 'c2']);
    await other.close();
  });

  test('goes on in a third sandbox where the second is lost under it', async () => {
    await using world = await CoreWorld.start();
    const sandbox = await world.ready();
    await world.open('trace_1');
    await exec(world, 's1', setup);
    await exec(world, 's2', setup);
    await lose(world, sandbox);
    const second = await world.ready();
    await world.ready();
    world.link.behaviour = ({ action }) => {
      const call = action.kind === 'exec' ? (action.argv.at(-1) ?? '') : '';
      if (call !== 's2' || world.link.ran.length > 4) return answering({ stdout: call });
      return lose(world, second).then(() => answering({ stdout: call }));
    };
    expect(await exec(world, 'policy')).toMatchObject({ outcome: 'completed' });
    expect(world.link.ran).toEqual(['s1', 's2', 's1', 's2', 's1', 's2', 'policy']);
  });
});

describe('a mark as set-up', () => {
  test('is refused after the policy’s first call, and nothing runs', async () => {
    await using world = await CoreWorld.start();
    await world.ready();
    await world.open('trace_1');
    await exec(world, 'first', setup);
    await exec(world, 'policy');
    const late = { code: 'invalid_request', blame: 'caller' };
    await expect(exec(world, 'late', setup)).rejects.toMatchObject(late);
    await expect(upload(world, 'a.txt', 'hello')).rejects.toMatchObject(late);
    await expect(read(world, 'a.txt')).rejects.toMatchObject({ evidence: { errno: 'ENOENT' } });
    expect(world.link.ran).toEqual(['first', 'policy']);
  });

  test('ends with a file that is read, which may be the policy’s doing', async () => {
    await using world = await CoreWorld.start();
    await world.ready();
    await world.open('trace_1');
    await upload(world, 'a.txt', 'hello');
    await read(world, 'a.txt');
    await expect(exec(world, 'late', setup)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('of a tool call whose arguments are wrong is the caller’s mistake, and changes nothing', async () => {
    await using world = await CoreWorld.start();
    await world.ready();
    await world.open('trace_1');
    const asked = {
      rollout: ref,
      open: null,
      call: callId('c1'),
      tool: 'sh',
      namedBy: 'model',
      arguments: '{}',
      timeoutMs: null,
      waitMs: world.waitMs,
      setup: true,
    } as const;
    await expect(world.wired.core.toolCall(trainer, asked)).rejects.toMatchObject({
      code: 'invalid_request',
    });
    const good = { ...asked, arguments: '{"command":"ls"}' };
    expect(await world.wired.core.toolCall(trainer, good)).toMatchObject({ outcome: 'completed' });
    expect(await world.wired.core.view(trainer, ref)).toMatchObject({ record: { calls: 1 } });
  });
});
