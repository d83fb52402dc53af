/**
 * The server of a sandbox's terminals: arguments are the path of its socket and that of `pty`. It runs as the policy's user, is started by
 * the client of the first `terminal_open` (`infra/payload/native/ask-terminals.c`), and ends with the sandbox.
 */
import { followTool } from '#src/protocol/sandboxd/terminals.ts';
import { sendPrinted } from './send-printed.ts';
import { serve } from './serve.ts';
import { sessionServer } from './server.ts';
import { Terminals } from './terminals.ts';

const [socketPath = '', pty = ''] = process.argv.slice(2);
const terminals = new Terminals(pty);
serve(
  'corral-terminals',
  socketPath,
  sessionServer(
    (request) => terminals.answer(request),
    (request, socket) => {
      if (request.tool !== followTool) return false;
      sendPrinted(terminals.find(request), socket);
      return true;
    },
  ),
);
