import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dashboardFiles } from './dashboards/files.ts';

// `node tools/write-dashboards.ts`: the chart's dashboards, their pictures and docs/dashboards.md. A test compares.
const root = join(import.meta.dirname, '..');
for (const [name, text] of Object.entries(dashboardFiles())) {
  const file = join(root, name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
