import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { valuesSchema } from './chart/values-schema.ts';
import { valueRows, valuesTable, withTable } from './chart/values-table.ts';

// `node tools/write-chart.ts`: the chart's values.schema.json, and the table of its README.md from values.yaml. A test compares.
const chart = join(import.meta.dirname, '../charts/corral');
const [values, page] = await Promise.all(
  ['values.yaml', 'README.md'].map((name) => readFile(join(chart, name), 'utf8')),
);
await writeFile(join(chart, 'values.schema.json'), valuesSchema());
await writeFile(join(chart, 'README.md'), withTable(page ?? '', valuesTable(valueRows(values ?? ''))));
