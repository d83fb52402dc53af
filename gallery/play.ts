import { attackEnvironment, type AttackReport, describeAttacks } from '#cli/attack/attack.ts';
import type { Connection } from '#cli/gateway/connection.ts';
import { describeLadder, ladder, type LadderReport } from '#cli/ladder/ladder.ts';
import type { Terminal } from '#cli/print/terminal.ts';
import { usualAssumptions } from '#cli/study/burst.ts';
import { conductStudy } from '#cli/study/conduct.ts';
import { describeStudy, writePage } from '#cli/study/report.ts';
import { galleryFolder, type GalleryName } from './roster.ts';

export type Played = {
  readonly environment: GalleryName;
  readonly ladder: LadderReport;
  readonly attacks: AttackReport;
  readonly seconds: number;
};

export type Playing = {
  /** Rows of the ladder, spread over the eval rows. */
  readonly rows: number;
  readonly atOnce: number;
  /** Rollouts of each attack. */
  readonly tries: number;
};

/** Plays ladder and attacks of one environment, and tells each when it is over. */
export async function playOne(
  connection: Connection,
  name: GalleryName,
  { rows: most, atOnce, tries }: Playing,
  terminal: Terminal,
): Promise<Played> {
  const began = performance.now();
  const rows = { given: null, split: null, most } as const;
  const plan = { environment: name, environmentsDir: galleryFolder, rows, atOnce };
  const climbed = await ladder(connection, plan);
  terminal.result(`${describeLadder(climbed, terminal.width)}\n`);
  const attacked = await attackEnvironment(connection, { ...plan, tries });
  terminal.result(`${describeAttacks(attacked, terminal.width)}\n`);
  const seconds = (performance.now() - began) / 1000;
  return { environment: name, ladder: climbed, attacks: attacked, seconds };
}

/** Copies of a row that a study plays: two tell that there is spread, a third how much of it is chance. */
const copiesStudied = 3;

/** Asks whether it can be learnt, of training rows, and tells where the report is. */
export async function studyOne(
  { url, key }: Connection,
  name: GalleryName,
  { rows: most, atOnce }: { readonly rows: number | null; readonly atOnce: number },
  terminal: Terminal,
): Promise<string> {
  const study = await conductStudy(
    {
      environment: name,
      source: { kind: 'ladder', policies: [] },
      against: null,
      rows: { given: null, split: null, most },
      evaluation: null,
      origins: [],
      copies: copiesStudied,
      atOnce,
      assumed: usualAssumptions,
      fleet: { url, key, environments: galleryFolder },
    },
    terminal,
  );
  terminal.result(`${describeStudy(study, terminal.width)}\n`);
  return writePage(study, `out/study/${name}.html`);
}
