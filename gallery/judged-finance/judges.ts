import { judgesPort, serveJudges } from './judges/serve.ts';

/* Runs both judges until it is stopped, for a fleet of yours: `corral up --environments gallery`. */

await serveJudges();
process.stdout.write(`judges of judged-finance on 127.0.0.1:${judgesPort}\n`);
