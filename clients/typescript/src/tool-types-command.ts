#!/usr/bin/env node
import { Client, CorralError, formatToolTypes } from './index.ts';

/* `corral-tool-types ENVIRONMENT > tools.ts`: the types of an environment's tools. */

const [environment, ...rest] = process.argv.slice(2);
if (environment === undefined || rest.length > 0) {
  process.stderr.write('corral-tool-types: name one environment: corral-tool-types code-search > tools.ts\n');
  process.exitCode = 1;
} else {
  try {
    process.stdout.write(formatToolTypes(await new Client().tools(environment)));
  } catch (error) {
    if (!(error instanceof CorralError)) throw error;
    process.stderr.write(`corral-tool-types: ${error.message}\n`);
    process.exitCode = 1;
  }
}
