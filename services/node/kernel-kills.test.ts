import { describe, expect, it } from 'vitest';
import { killedForMachine } from './kernel-kills.ts';

const group = (lacking: string, own: string, name = 'tail') =>
  `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=${lacking},task_memcg=${own},task=${name},pid=25473,uid=2109932520`;
const killed = (before: string, name = 'tail') =>
  `${before}: Killed process 25473 (${name}) total-vm:28300kB, anon-rss:25472kB, file-rss:1604kB, shmem-rss:0kB, UID:2109932520 pgtables:92kB oom_score_adj:0`;
const machine =
  'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/corral/x/s-1,task=node,pid=99,uid=2109932520';

/** Lines of Linux 6.18. */
describe('killedForMachine', () => {
  it.each([
    ['the machine had no memory left', killed('Out of memory'), 2109932520],
    [
      'the same, told by the oom killer’s own setting',
      killed('Out of memory (oom_kill_allocating_task)'),
      2109932520,
    ],
    ['the same, in the line before', machine, 2109932520],
    ['a group above had none left', group('/corral', '/corral/x/s-1'), 2109932520],
    ['its own group had none left', group('/corral/x/s-1', '/corral/x/s-1'), null],
    ['some group had none left, and the line before says which', killed('Memory cgroup out of memory'), null],
    ['a kill for another reason', killed('corral'), null],
  ])('%s', (_, line, id) => {
    expect(killedForMachine(line)).toBe(id);
  });

  it.each([
    [
      'a crash in a mapped file',
      'Out of memory[4242]: segfault at 0 ip 00007f sp 00007f error 6 in : Killed process 1 (x) total-vm:1kB, anon-rss:1kB, file-rss:1kB, shmem-rss:1kB, UID:2109932520 pgtables:1kB oom_score_adj:0[7f,1000]',
    ],
    ['a trap', `traps: ${killed('Out of memory')}[77] general protection fault ip:0 sp:0 error:0`],
    ['text behind the format', `${killed('Out of memory')} x`],
    ['text before it', `x${killed('Out of memory')}`],
    ['another group’s fields in a name', group('/a/s-1', '/a/s-1', 'x,task_memcg=/b')],
    ['a context line in a crash', `${group('/a', '/a/s-1')}[7f,1000]`],
  ])('text that the policy chose is no kill: %s', (_, line) => {
    expect(killedForMachine(line)).toBeNull();
  });

  it('a name that the policy chose for its process cannot name somebody else', () => {
    expect(killedForMachine(group('/a/s-1', '/a/s-1', 'x,uid=0'))).toBeNull();
    expect(killedForMachine(group('/a/s-1', '/a/s-1', 'global_oom,task'))).toBeNull();
    expect(killedForMachine(killed('Out of memory', 'a) UID:7 pgta'))).toBe(2109932520);
    expect(killedForMachine(killed('Memory cgroup out of memory', 'Out of memory:'))).toBeNull();
  });
});
