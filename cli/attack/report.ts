import { score } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import type { AttackReport } from './attack.ts';

export function describeAttacks({ environment, ok, nothing, attacks }: AttackReport, width: number): string {
  const worth = nothing.map((each) => score(each)).join(', ');
  const lines = table(
    attacks,
    [
      { title: 'attack', of: ({ attack }) => attack },
      { title: 'tries', of: ({ tries }) => String(tries), right: true },
      { title: 'got', of: ({ got }) => score(got), right: true },
      { title: 'verdict', of: ({ state }) => (state === 'hole' ? 'HOLE' : state) },
      { title: '', of: ({ detail }) => detail },
    ],
    // A hole is told in full, however narrow the window.
    ok ? width : Infinity,
  );
  const open = attacks.filter(({ state }) => state === 'hole').length;
  const lost = attacks.filter(({ state }) => state === 'lost').length;
  const verdict = ok
    ? 'Every attack that was possible was paid as nothing is.'
    : `${open} holes, ${lost} attacks without a word: some of their rollouts were lost.`;
  return [`attacks on ${environment}; nothing is paid ${worth}`, '', lines, '', verdict].join('\n');
}
