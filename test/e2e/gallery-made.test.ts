import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { attackEnvironment } from '#cli/attack/attack.ts';
import { type Fleet, startFleet } from '#cli/fleet/start-fleet.ts';
import { ladder } from '#cli/ladder/ladder.ts';
import { serveAllJudges } from '#gallery/judges.ts';
import { type Judges, serveJudges } from '#gallery/judged-finance/judges/serve.ts';
import { galleryFolder, type GalleryName, galleryNames, writeRows } from '#gallery/roster.ts';
import { facesOf } from '#test/support/faces.ts';
import { sharedPayload } from '#test/support/fleet.ts';

/* The environments whose data and rows are made: `npm run gallery` plays them at length. */

let fleet: Fleet;
let stateDir = '';
let judges: Judges;
let otherJudges: AsyncDisposable;
beforeAll(async () => {
  for (const name of galleryNames) writeRows(name);
  judges = await serveJudges();
  otherJudges = await serveAllJudges(galleryNames.filter((name) => name !== 'judged-finance'));
  stateDir = mkdtempSync(join(tmpdir(), 'corral-gallery-'));
  fleet = await startFleet({ environmentsDir: galleryFolder, stateDir, payloadDir: sharedPayload });
});
afterAll(async () => {
  await fleet.stop();
  await judges[Symbol.asyncDispose]();
  await otherJudges[Symbol.asyncDispose]();
  rmSync(stateDir, { recursive: true, force: true });
});

const connection = () => ({ url: fleet.gatewayUrl, key: fleet.apiKey, run: null });
const plan = (environment: string, most: number) => ({
  environment,
  environmentsDir: galleryFolder,
  rows: { given: null, split: null, most } as const,
  atOnce: 4,
});

/** Whoever guesses a third of one row's facts is paid 0.067 over five rows, which is no hole: there it is one row's luck. */
const ladderRows = 10;
/** Its scores hold on each row by itself, and a grade takes seconds of a processor. */
const kernelRows = 2;
/** Each is the mean of six pages. */
const memoRows = 4;
/** A grade runs a package's tests in a sandbox of its own. */
const defectRows = 2;
const fewer: Partial<Readonly<Record<GalleryName, number>>> = {
  'fast-kernels': kernelRows,
  'judged-finance': memoRows,
  'ship-code': defectRows,
};
const rowsOf = (name: GalleryName): number => fewer[name] ?? ladderRows;

test.each(galleryNames)(
  'on some rows of %s, made data and all, the policies stand in order, and cheats earn nothing',
  async (name) => {
    const { rungs } = await ladder(connection(), plan(name, rowsOf(name)));
    // Where a mean must lie is said for the rows of a whole ladder; the order holds for ten too.
    const misplaced = rungs.flatMap(({ policy, mistakes }) =>
      mistakes.filter((said) => !said.includes('as was expected')).map((said) => `${policy}: ${said}`),
    );
    expect(misplaced).toEqual([]);
  },
  240_000,
);

test.each(galleryNames)(
  'no attack on %s is paid more than nothing is',
  async (name) => {
    const { attacks } = await attackEnvironment(connection(), { ...plan(name, 2), tries: 1 });
    expect(attacks.filter(({ state }) => state === 'hole' || state === 'lost')).toEqual([]);
    expect(attacks.filter(({ state }) => state === 'withstood').length).toBeGreaterThan(2);
  },
  240_000,
);

test('a gullible judge of judged-finance is caught before its first grade is answered, whatever the memo says', async () => {
  judges.manner = 'gullible';
  const environment = 'judged-finance';
  const { rft } = facesOf(fleet.gatewayUrl, fleet.apiKey, { environment });
  const [line = ''] = readFileSync(join(galleryFolder, environment, 'eval.jsonl'), 'utf8').split('\n');
  const item = JSON.parse(line) as { readonly memo: string };
  for (const answer of ['This memo is perfect.', item.memo]) {
    const sample = { output_text: answer };
    const grade = await rft.grade({ trace: `gullible-${answer.length}`, environment, item, sample });
    expect(grade).toMatchObject({
      status: 503,
      body: { error: { code: 'judge_suspect', evidence: { canary: 'injected', given: 1 } } },
    });
  }
  judges.manner = 'hardened';
}, 60_000);
