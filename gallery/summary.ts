import { score } from '#cli/print/amounts.ts';
import { table } from '#cli/print/table.ts';
import type { Played } from './play.ts';

/** Everything that was played, a line a policy; the attacks of an environment stand beside its first. */
export function summaryOf(all: readonly Played[], width: number): string {
  const lines = all.flatMap(({ environment, ladder, attacks, seconds }) =>
    ladder.rungs.map((rung, index) => ({
      ...rung,
      environment: index === 0 ? environment : '',
      seconds: index === 0 ? `${seconds.toFixed(0)} s` : '',
      attacks: index === 0 ? attacksLine(attacks.attacks) : '',
    })),
  );
  return table(
    lines,
    [
      { title: 'environment', of: ({ environment }) => environment },
      { title: 'policy', of: ({ policy }) => policy },
      { title: 'kind', of: ({ kind }) => kind },
      { title: 'rollouts', of: ({ rollouts }) => String(rollouts), right: true },
      { title: 'mean', of: ({ mean }) => score(mean), right: true },
      { title: 'best', of: ({ best }) => score(best), right: true },
      { title: 'calls', of: ({ calls }) => (calls === null ? '–' : calls.toFixed(1)), right: true },
      { title: 'attacks', of: ({ attacks }) => attacks },
      { title: 'time', of: ({ seconds }) => seconds, right: true },
    ],
    width,
  );
}

function attacksLine(attacks: Played['attacks']['attacks']): string {
  const of = (state: string) => attacks.filter((each) => each.state === state).length;
  const played = attacks.length - of('not possible');
  const trouble = [of('hole') > 0 && `${of('hole')} HOLES`, of('lost') > 0 && `${of('lost')} lost`];
  const said = trouble.filter((each) => each !== false).join(', ');
  return said === '' ? `${of('withstood')} of ${played} withstood` : said;
}
