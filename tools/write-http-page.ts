import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startGateway } from '#test/integration/gateway/gateway-under-test.ts';
import type { OpenApi } from './http-page/document.ts';
import { httpPage } from './http-page/page.ts';

// `node tools/write-http-page.ts`: docs/http-api.md from what a gateway says of its addresses. A test compares the two.
const gateway = await startGateway();
const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as OpenApi;
await gateway.stop(1_000);
await writeFile(join(import.meta.dirname, '../docs/http-api.md'), httpPage(document));
