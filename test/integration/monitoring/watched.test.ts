import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rulesFile } from '#infra/monitoring/rules/rules-file.ts';
import { alertNames, alertOf } from '#infra/monitoring/rules/rules.ts';
import { catalogue, type MetricName, metricNames } from '#src/adapters/prometheus/catalogue/catalogue.ts';

// What rules and pages ask for is what the fleet tells.

const root = join(import.meta.dirname, '../../..');
const parts = /_(?:bucket|count|sum)$/;
const known = new Set<string>(metricNames);

/** Of a histogram the name is that of its parts; what alerts and pages call by a name with a colon is recorded. */
const isTold = (name: string): boolean => known.has(name) || known.has(name.replace(parts, ''));

const namesIn = (text: string) => [...text.matchAll(/\bcorral_[a-z_]+/g)].map(([name]) => name);

test('rules ask only for metrics that are told', () => {
  const asked = namesIn(rulesFile());
  expect(asked.filter((name) => !isTold(name))).toEqual([]);
  expect(new Set(asked).size).toBeGreaterThan(15);
});

test('pages of alerts name only metrics that are told', async () => {
  const folder = join(root, 'docs/runbooks');
  const pages = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
  );
  expect(pages.flatMap(namesIn).filter((name) => !isTold(name))).toEqual([]);
});

type Matcher = { readonly label: string; readonly operator: string; readonly value: string };

/** A matcher as Prometheus takes it: a pattern matches the whole value. */
const matches = (value: string, { operator, value: wanted }: Matcher): boolean => {
  const same = operator.includes('~') ? new RegExp(`^(?:${wanted})$`).test(value) : value === wanted;
  return operator.startsWith('!') ? !same : same;
};

/** Each counter that an expression reads, with its matchers but for those that every scraped pod has. */
const countersIn = (expr: string) =>
  [...expr.matchAll(/\b(corral_[a-z_]+)\{([^}]*)\}/g)].flatMap(([, name = '', text = '']) => {
    const spec = known.has(name) ? catalogue[name as MetricName] : null;
    const matchers = [...text.matchAll(/([a-z_]+)(=~|!~|!=|=)"([^"]*)"/g)].map(
      ([, label = '', operator = '', value = '']): Matcher => ({ label, operator, value }),
    );
    const own = matchers.filter(({ label }) => !['namespace', 'fleet', 'component'].includes(label));
    return spec?.kind === 'counter' ? [{ name, text, own, fromStart: spec.fromStart }] : [];
  });

/**
 * Answers of the API server are not known beforehand; those that refuse come again and again, because their calls are repeated.
 * Launches that succeed are looked at for their absence, where none and nought are the same.
 */
const bornLater = new Set(['corral_kubernetes_calls_total', 'corral_launches_total']);

test.each(alertNames)('what %s waits for the rise of is there from the start, at 0', (name) => {
  for (const { name: counter, text, own, fromStart } of countersIn(alertOf(name).expr)) {
    if (bornLater.has(counter) || own.length === 0) continue;
    const rows: readonly Readonly<Record<string, string>>[] = fromStart;
    const there = rows.filter((row) => own.every((one) => matches(row[one.label] ?? '', one)));
    expect(there.length, `${counter}{${text}}`).toBeGreaterThan(0);
  }
});
