import { describe, expect, it } from 'vitest';
import { quantile } from '#cli/drawing/quantile.ts';
import { exampleFindings } from '#test/builders/demo-findings.ts';
import { callOf } from '#test/builders/demo-records.ts';
import { summaryLines } from '../terminal/summary.ts';
import { type Expectation, expectations } from './expectations.ts';
import { reportHtml } from './html.ts';
import { type Findings, reportOf } from './report.ts';

const findings = await exampleFindings();
const asked = { rollouts: 64, kills: 3 };
const about = {
  machine: '2 cores, 8 GiB',
  version: '1.2.3',
  command: 'npm run demo',
  pages: ['https://docs.example/demo.md'],
};
const broken = (expected: readonly Expectation[]) =>
  expected.filter((one) => !one.held).map((one) => `${one.text}: ${one.seen}`);

const check = (change: Partial<Findings>) => broken(expectations(asked, { ...findings, ...change }));

describe('the report', () => {
  it('counts every rollout once, as scorable or as discarded', () => {
    const report = reportOf(findings);
    expect(report).toMatchObject({ rollouts: 64, scorable: 61 });
    expect(report.discarded).toHaveLength(3);
    expect(new Set(report.discarded.map((one) => one.code))).toEqual(new Set(['sandbox_lost']));
  });

  it('leaves the discarded out of their groups, and shows the means a zero would have made', () => {
    const { groups, veto } = reportOf(findings);
    expect(groups.reduce((sum, group) => sum + group.n, 0)).toBe(61);
    expect(groups.reduce((sum, group) => sum + group.discarded, 0)).toBe(3);
    const hurt = veto.with.filter((group, index) => (veto.without[index]?.mean ?? 0) < (group.mean ?? 0));
    expect(hurt).toHaveLength(3);
  });

  it('keeps warm and cold starts apart', () => {
    const { warm, cold } = reportOf(findings).starts;
    expect(warm.count + cold.count).toBe(64);
    expect(warm.p99_ms).toBeLessThan(cold.p50_ms ?? 0);
  });

  it('takes quantiles by nearest rank, and none of nothing', () => {
    expect([quantile([3, 1, 2], 0.5), quantile([3, 1, 2], 0.99), quantile([], 0.5)]).toEqual([2, 3, null]);
  });
});

describe('the expectations', () => {
  it('all hold when exactly the killed rollouts were discarded with sandbox_lost', () => {
    expect(check({})).toEqual([]);
  });

  it('tell when a rollout that nobody killed was discarded', () => {
    const [bystander] = findings.kills;
    expect(check({ kills: findings.kills.slice(1) }).join()).toContain(`${bystander?.rollout} is too many`);
  });

  it('tell when a killed rollout was scored', () => {
    const records = findings.records.map((record) =>
      record.rollout === findings.kills[0]?.rollout
        ? { ...record, ending: { kind: 'scored', score: 0 } as const }
        : record,
    );
    expect(check({ records }).join()).toContain(`${findings.kills[0]?.rollout} is missing`);
  });

  it('tell when a rollout never came to an end', () => {
    expect(check({ records: findings.records.slice(1) }).join()).toContain('seen 63, expected 64');
  });

  it('tell when a body was shown to a policy that was not meant for it', () => {
    const [first, ...others] = findings.records;
    if (first === undefined) throw new RangeError('the example has no rollout');
    const leaking = { ...first, calls: [callOf({ callId: 'call_leak', status: 404, leaked: true })] };
    expect(check({ records: [leaking, ...others] }).join()).toContain('call_leak: 404');
  });

  it('tell when the fleet names another code than the trainer saw', () => {
    const fleetRollouts = findings.fleetRollouts.map((one) =>
      one.verdict === 'discard' ? { ...one, code: 'unclassified' } : one,
    );
    expect(check({ fleetRollouts }).join()).toContain('unclassified');
  });
});

describe('what a person sees', () => {
  it('is one page without a script or anything from elsewhere, with four drawings', () => {
    const html = reportHtml(reportOf(findings), findings, about);
    expect(html.match(/<svg /g)).toHaveLength(4);
    expect(html).not.toMatch(/<script|<link|<img|url\(http|src=/);
    for (const { rollout } of findings.kills) expect(html).toContain(rollout);
  });

  it('begins with the damage, and ends with what made it', () => {
    const html = reportHtml(reportOf(findings), findings, about);
    expect(html).toMatch(/<h1>3 of \d+ groups would have learned a wrong baseline<\/h1>/);
    expect(html.indexOf('class="number lost"')).toBeLessThan(html.indexOf('<svg'));
    for (const text of [about.machine, about.version, about.command]) expect(html).toContain(text);
    expect(html).toContain('<a href="https://docs.example/demo.md">');
  });

  it('says in the terminal which rollouts were lost, and that no model was called', () => {
    const text = summaryLines(reportOf(findings), expectations(asked, findings)).join('\n');
    for (const { rollout } of findings.kills) expect(text).toContain(`✕ ${rollout}: sandbox_lost`);
    expect(text).toContain('no model is called');
    expect(text).not.toContain('✗');
  });

  it('names what did not hold', () => {
    const expected = expectations({ rollouts: 65, kills: 3 }, findings);
    expect(summaryLines(reportOf(findings), expected).join('\n')).toContain('✗ all 65 rollouts');
  });
});
