import { serveStyleJudges, styleJudgesPort } from './judges/serve.ts';

/* Runs both judges until it is stopped, for a fleet of yours: `corral up --environments gallery`. */

await serveStyleJudges();
process.stdout.write(`judges of ship-code on 127.0.0.1:${styleJudgesPort}\n`);
