import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { metricsPage } from './metrics-page/page.ts';

// `node tools/write-metrics-page.ts`: docs/metrics.md from src/adapters/prometheus/catalogue/. A test compares the two.
await writeFile(join(import.meta.dirname, '../docs/metrics.md'), metricsPage());
