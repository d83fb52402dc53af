import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CallAnswer } from '#src/protocol/sandboxd/wire.ts';
import { goInside, type Inside } from '#test/support/inside.ts';
import { type PackageMirror, startPackageMirror } from '#test/support/package-mirror.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

/*
 * node counts what becomes of a sandbox's requests to its mirrors, apart for the grader and for all others, and probes a mirror that failed
 * one. sandboxd adds what was counted while a call ran to the call's evidence.
 */

let mirror: PackageMirror;
let node: TestNode;
let inside: Inside;
beforeAll(async () => {
  mirror = await startPackageMirror();
  node = await startNodeProcess({
    env: { CORRAL_PRIVATE_ADDRESSES: '127.0.0.1/32', CORRAL_MIRROR_BYTES: '50000' },
  });
});
beforeEach(async () => {
  inside = await goInside(node, { network: 'mirrors', mirrors: { pypi: [`${mirror.origin}/simple/`] } });
});
afterEach(async () => {
  mirror.become('works');
  await inside.leave();
});
afterAll(async () => {
  await node.stop();
  await mirror[Symbol.asyncDispose]();
});

/** Asks the mirror for paths, as many times, and gives up after so many seconds. */
const asking = (path: string, { times = 1, patienceS = 30 } = {}) =>
  `curl -s -o /dev/null -m ${patienceS} "\${CORRAL_MIRROR_PYPI}${path}?${times === 1 ? '' : `[1-${times}]`}"`;

const ask = (path: string, options = {}) => inside.sh(asking(path, options));

/** A turn of the grader, which runs `script`. */
function grade(script: string): Promise<CallAnswer> {
  const action = {
    kind: 'grade',
    turn: 1,
    argv: ['sh', '-c', `${script}; echo 1 > "$CORRAL_SCORE_FILE"`],
    files: {},
    stdin: '{}',
  } as const;
  return inside.run(action);
}

const mirrorsOf = async (answer: Promise<CallAnswer>) => (await answer).evidence.mirrors;

describe('the evidence of a command', () => {
  test('has nothing of mirrors if it asked for nothing', async () => {
    expect(await mirrorsOf(inside.sh(':'))).toBeUndefined();
  });

  test('counts a request that was answered, also with 404', async () => {
    const counts = { asked: 2, failed: 0, confirmed: 0, refused: 0, lost: 0, doubt: null };
    expect(await mirrorsOf(inside.sh(`${asking('toy/')}; ${asking('none/')}`))).toEqual(counts);
  });

  test.each([
    'answers 503',
    'answers 429',
    'answers 408',
    'answers 404',
    'answers 403',
    'answers 302',
    'resets',
    'breaks off',
  ] as const)('of a mirror that %s has the failure, and that of the probe', async (fate) => {
    mirror.become(fate);
    expect(await mirrorsOf(ask('toy/'))).toMatchObject({ asked: 1, failed: 1, confirmed: 1 });
    mirror.become('works');
    expect(await mirrorsOf(ask('toy/'))).toMatchObject({ asked: 1, failed: 0, confirmed: 0 });
  });

  test('of a silent mirror has the failure only if the command waited for it', async () => {
    mirror.become('is silent');
    expect(await mirrorsOf(ask('toy/', { patienceS: 2 }))).toMatchObject({
      asked: 1,
      failed: 0,
      confirmed: 0,
    });
    expect(await mirrorsOf(ask('toy/', { patienceS: 6 }))).toMatchObject({
      asked: 1,
      failed: 1,
      confirmed: 1,
    });
  }, 30_000);

  test('of one address that fails has a failure that no probe confirms', async () => {
    mirror.become('answers 503', '/simple/cursed/');
    expect(await mirrorsOf(ask('cursed/'))).toMatchObject({ asked: 1, failed: 1, confirmed: 0 });
  });

  test('of one address that is refused has no failure', async () => {
    mirror.become('answers 403', '/simple/cursed/');
    expect(await mirrorsOf(ask('cursed/'))).toMatchObject({ asked: 1, failed: 0, confirmed: 0 });
  });

  test('doubts an outage if its run makes most of the requests', async () => {
    mirror.become('answers 503');
    expect(await mirrorsOf(ask('toy/'))).toMatchObject({ confirmed: 1, doubt: null });
    expect(await mirrorsOf(ask('toy/', { times: 110 }))).toMatchObject({
      asked: 110,
      failed: 110,
      confirmed: 110,
      doubt: 'load',
    });
  });

  test('counts what its bounds refused', async () => {
    const counts = await mirrorsOf(ask('toy/', { times: 400 }));
    expect(counts).toMatchObject({ failed: 0, confirmed: 0 });
    expect(counts?.refused).toBeGreaterThan(0);
  });
});

describe('the evidence of a grader', () => {
  test('counts its own requests', async () => {
    expect(await mirrorsOf(grade(asking('toy/')))).toMatchObject({ asked: 1, failed: 0, refused: 0 });
    mirror.become('answers 503');
    expect(await mirrorsOf(grade(asking('toy/')))).toMatchObject({ asked: 1, failed: 1, confirmed: 1 });
  });

  test('has the failure of a mirror that refuses everything, and nothing of one that lacks a name', async () => {
    expect(await mirrorsOf(grade(asking('none/')))).toMatchObject({ asked: 1, failed: 0, confirmed: 0 });
    mirror.become('answers 403');
    expect(await mirrorsOf(grade(asking('toy/')))).toMatchObject({ asked: 1, failed: 1, confirmed: 1 });
  });

  test('has nothing of what the policy asked for before it', async () => {
    mirror.become('answers 503', '/simple/cursed/');
    const forever = `while :; do ${asking('cursed/')}; done >/dev/null 2>&1 &`;
    expect((await inside.sh(`(${forever})`)).ending).toMatchObject({ exitCode: 0 });
    expect(await mirrorsOf(grade(asking('toy/')))).toMatchObject({
      asked: 1,
      failed: 0,
      confirmed: 0,
      refused: 0,
    });
  });

  test('has nothing of what it ran as the policy, unless a probe confirms it', async () => {
    const asPolicy = `as-policy -- sh -c '${asking('cursed/')}'`;
    mirror.become('answers 503', '/simple/cursed/');
    expect(await mirrorsOf(grade(asPolicy))).toBeUndefined();
    mirror.become('answers 503');
    expect(await mirrorsOf(grade(asPolicy))).toMatchObject({ asked: 0, failed: 0, confirmed: 1 });
  });

  test('counts nothing against the bounds that the policy has used up, and its own above them', async () => {
    const spent = await mirrorsOf(ask('toy/', { times: 400 }));
    expect(spent?.refused).toBeGreaterThan(0);
    expect(await mirrorsOf(grade(asking('toy/', { times: 3 })))).toMatchObject({ asked: 3, refused: 0 });
    const over = await mirrorsOf(grade(asking('toy/', { times: 400 })));
    expect(over?.refused).toBeGreaterThan(0);
  });
});
