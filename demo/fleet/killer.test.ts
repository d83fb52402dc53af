import { describe, expect, it } from 'vitest';
import { seededRandom } from '../seeded-random.ts';
import { loadTasks } from '../tasks/load-tasks.ts';
import { planBurst } from '../trainer/rollout.ts';
import { chooseVictims, Killer } from './killer.ts';

const plans = planBurst((await loadTasks()).slice(0, 4), 8, 'seed');

describe('the victims', () => {
  it('are of different tasks as long as there are tasks', () => {
    const victims = chooseVictims(plans, 4, seededRandom('kill'));
    expect(new Set(victims.map((victim) => victim.item.id)).size).toBe(4);
  });

  it('are distinct rollouts also when there are more of them than tasks', () => {
    const victims = chooseVictims(plans, 9, seededRandom('kill'));
    expect(new Set(victims.map((victim) => victim.rollout)).size).toBe(9);
  });

  it('are the same for the same seed', () => {
    const again = chooseVictims(plans, 3, seededRandom('kill'));
    expect(again).toEqual(chooseVictims(plans, 3, seededRandom('kill')));
  });
});

function create(sandboxes: (string | null)[]) {
  const killed: string[] = [];
  const killer = new Killer({
    victims: new Set(['victim']),
    sandboxOf: () => Promise.resolve(sandboxes.shift() ?? null),
    kill: (sandbox) => Promise.resolve(killed.push(sandbox) > 0),
    nowMs: () => 7,
  });
  const hear = async (kind: 'call sent' | 'call answered' | 'scored', rollout = 'victim') => {
    killer.hear({ kind, rollout, task: 't' });
    return killer.settled();
  };
  return { killer, killed, hear };
}

describe('the killer', () => {
  it('waits until the victim has answered a call, then kills once', async () => {
    const { killer, killed, hear } = create(['s-1', 's-1']);
    await hear('call sent');
    expect(killed).toEqual([]);
    await hear('call answered');
    await hear('call answered');
    expect(killed).toEqual(['s-1']);
    expect(killer.kills).toEqual([{ rollout: 'victim', task: 't', sandbox: 's-1', atMs: 7 }]);
  });

  it('leaves the others alone', async () => {
    const { killed, hear } = create(['s-1']);
    await hear('call answered', 'bystander');
    expect(killed).toEqual([]);
  });

  it('tries again after the next answer when the sandbox was not to be found', async () => {
    const { killed, hear } = create([null, 's-1']);
    await hear('call answered');
    await hear('call answered');
    expect(killed).toEqual(['s-1']);
  });

  it('kills nothing for a rollout that has ended meanwhile', async () => {
    const { killer, killed } = create(['s-1']);
    killer.hear({ kind: 'call answered', rollout: 'victim', task: 't' });
    killer.hear({ kind: 'scored', rollout: 'victim', task: 't' });
    await killer.settled();
    expect(killed).toEqual([]);
  });

  it('says what went wrong when the sandbox cannot be asked for', async () => {
    const killer = new Killer({
      victims: new Set(['victim']),
      sandboxOf: () => Promise.reject(new Error('no answer')),
      kill: () => Promise.resolve(true),
      nowMs: () => 0,
    });
    killer.hear({ kind: 'call answered', rollout: 'victim', task: 't' });
    expect(await killer.settled()).toEqual(['the sandbox of victim was not killed: Error: no answer']);
  });
});
