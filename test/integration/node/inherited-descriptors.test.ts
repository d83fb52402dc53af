import { closeSync, openSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { goInside, type Inside } from '#test/support/inside.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

/** Node marks the lowest ones of those that it finds at its start; these stay open in it, unmarked. */
const foreign = [18, 40, 251];

describe('a node that was started with descriptors of others', () => {
  let node: TestNode;
  let inside: Inside;

  beforeAll(async () => {
    const root = openSync('/', 'r');
    node = await startNodeProcess({ inherited: new Map(foreign.map((each) => [each, root])) });
    closeSync(root);
    inside = await goInside(node);
  });
  afterAll(async () => {
    await inside.leave();
    await node.stop();
  });

  it('gives none of them to a command: it has 0 to 2, and ls the folder that it reads', async () => {
    const { stdout } = await inside.sh('ls /proc/self/fd');
    expect(stdout.head.trim().split('\n')).toEqual(['0', '1', '2', '3']);
  });

  it('gives none to a program of the workspace, which sandboxd starts by itself', async () => {
    await inside.sh("printf '#!/bin/sh\nls /proc/self/fd\n' > look && chmod +x look");
    const { stdout } = await inside.run({ kind: 'exec', argv: ['./look'] });
    expect(stdout.head.trim().split('\n')).toEqual(['0', '1', '2', '3']);
  });

  it('and none to a command that asks for more of them than the shell had', async () => {
    const { stdout } = await inside.sh(
      `for fd in ${foreign.join(' ')}; do ls /proc/1/fd/$fd /dev/fd/$fd; done`,
    );
    expect(stdout.head).toBe('');
  });
});
