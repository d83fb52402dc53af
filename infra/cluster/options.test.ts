import { expect, test } from 'vitest';
import { readOrder } from './options.ts';

const start = (...args: readonly string[]) => {
  const order = readOrder(['up', ...args]);
  return order.command === 'up' ? order.start : null;
};

test('without options two real nodes, which are given up fast', () => {
  expect(start()).toEqual({ name: 'dev', nodes: 2, fakeNodes: 0, nodeLoss: 'fast', images: [] });
});

test('fake nodes make the cluster patient, unless it is told otherwise', () => {
  expect(start('--fake-nodes', '20')?.nodeLoss).toBe('patient');
  expect(start('--fake-nodes', '20', '--node-loss', 'fast')?.nodeLoss).toBe('fast');
});

test('images are given one by one', () => {
  expect(start('--image', 'a.tar', '--image', 'b.tar')?.images).toEqual(['a.tar', 'b.tar']);
});

test('what stands after -- is the command to run, its options included', () => {
  expect(readOrder(['run', '--name', 'other', '--', 'kubectl', 'get', 'pods', '--all-namespaces'])).toEqual({
    command: 'run',
    name: 'other',
    argv: ['kubectl', 'get', 'pods', '--all-namespaces'],
  });
});

test.each([
  [[], 'say what to do'],
  [['begin'], 'no command begin'],
  [['up', '--nodes', '10'], '--nodes is "10", not a whole number from 0 to 9'],
  [['up', '--nodes', '-1'], '--nodes'],
  [['up', '--name', 'My cluster'], '--name is "My cluster"'],
  [['up', '--node-loss', 'soon'], '--node-loss is soon'],
  [['up', '--colour', 'red'], '--colour'],
  [['run'], 'needs a command'],
])('%j is refused with a reason: %s', (args, reason) => {
  expect(() => readOrder(args)).toThrow(reason);
});
