import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { alertsPage } from '#infra/monitoring/alerts-page.ts';
import { rulesFile } from '#infra/monitoring/rules/rules-file.ts';

// `node tools/write-rules.ts`: the chart's files/rules.yaml and docs/alerts.md, from infra/monitoring/rules. A test compares.
const root = join(import.meta.dirname, '..');
await mkdir(join(root, 'charts/corral/files'), { recursive: true });
await writeFile(join(root, 'charts/corral/files/rules.yaml'), rulesFile());
await writeFile(join(root, 'docs/alerts.md'), alertsPage());
