/**
 * The server of a sandbox's browser: its argument is the path of its socket. It runs as the policy's user, is started by the client of
 * the first `browser_goto` (`infra/payload/native/ask-terminals.c`), and ends with the sandbox.
 */
import { dirname } from 'node:path';
import { serve } from '#services/terminals/serve.ts';
import { sessionServer } from '#services/terminals/server.ts';
import { Browser } from './browser.ts';

const [socketPath = ''] = process.argv.slice(2);
const browser = new Browser(dirname(socketPath));
serve(
  'corral-browser',
  socketPath,
  sessionServer((request) => browser.answer(request)),
);
