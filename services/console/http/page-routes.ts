import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from './app.ts';

/** The page is one script and one style; every address of a screen gets the same document. */
const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Corral</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/page.css">
<script type="module" src="/assets/page.js"></script>
</head>
<body><div id="app"></div></body>
</html>
`;

const assets = [
  ['page.js', 'text/javascript; charset=utf-8'],
  ['page.css', 'text/css; charset=utf-8'],
] as const;

/** `folder`: where `infra/console` put the page. Throws if it is not there. */
export function pageRoutes(app: App, folder: string): void {
  for (const [name, type] of assets) {
    const text = readFileSync(join(folder, name), 'utf8');
    app.get(`/assets/${name}`, (_request, reply) => reply.type(type).send(text));
  }
  for (const path of ['/', '/fleet', '/runs/:run', '/runs/:run/compare', '/runs/:run/rollouts/:id'])
    app.get(path, (_request, reply) => reply.type('text/html; charset=utf-8').send(html));
}
