import type { Findings } from './report.ts';

/** Something that must hold for the demo to end well. `seen` is what was there instead, empty where it held. */
export type Expectation = { readonly text: string; readonly held: boolean; readonly seen: string };

export type Asked = { readonly rollouts: number; readonly kills: number };

/** Compares what the trainer saw with what the fleet says of itself and with what was really killed. */
export function expectations(asked: Asked, findings: Findings): readonly Expectation[] {
  const { records, kills, fleetRun, fleetRollouts } = findings;
  const killed = kills.map((kill) => kill.rollout);
  const discards = records.flatMap(({ rollout, ending }) =>
    ending.kind === 'discarded' ? [{ rollout, code: ending.code }] : [],
  );
  const otherCodes = discards.filter((discard) => discard.code !== 'sandbox_lost');
  const fleetDiscards = fleetRollouts.filter((one) => one.verdict === 'discard');
  const otherFleetCodes = fleetDiscards.filter((one) => one.code !== 'sandbox_lost');
  const leaks = records.flatMap((record) => record.calls).filter((call) => call.leaked);
  return [
    equal(`all ${asked.rollouts} rollouts came to an end`, records.length, asked.rollouts),
    equal('the fleet knows each of them once', fleetRun.rollouts, asked.rollouts),
    equal('the fleet scored as many as the trainer', fleetRun.scored, records.length - discards.length),
    equal(`${asked.kills} sandboxes were killed after they had answered a call`, kills.length, asked.kills),
    sameRollouts('the trainer discarded exactly the killed ones', idsOf(discards), killed),
    none(
      'each of them with sandbox_lost',
      otherCodes.map((one) => `${one.rollout}: ${one.code}`),
    ),
    sameRollouts('the fleet says the same of exactly these', idsOf(fleetDiscards), killed),
    none(
      'also with sandbox_lost',
      otherFleetCodes.map((one) => `${one.rollout}: ${one.code}`),
    ),
    none(
      'nothing but function outputs was shown to a policy',
      leaks.map((call) => `${call.callId}: ${call.status}`),
    ),
  ];
}

const idsOf = (rows: readonly { readonly rollout: string }[]) => rows.map((row) => row.rollout);

function equal(text: string, seen: number, wanted: number): Expectation {
  const held = seen === wanted;
  return { text, held, seen: held ? '' : `seen ${seen}, expected ${wanted}` };
}

function none(text: string, found: readonly string[]): Expectation {
  return { text, held: found.length === 0, seen: found.slice(0, 5).join(', ') };
}

function sameRollouts(text: string, seen: readonly string[], wanted: readonly string[]): Expectation {
  const missing = wanted
    .filter((rollout) => !seen.includes(rollout))
    .map((rollout) => `${rollout} is missing`);
  const extra = seen
    .filter((rollout) => !wanted.includes(rollout))
    .map((rollout) => `${rollout} is too many`);
  return none(text, [...missing, ...extra]);
}
