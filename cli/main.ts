import { endWithReader } from './print/terminal.ts';
import { runCommandLine } from './program.ts';

endWithReader();
process.exitCode = await runCommandLine(process.argv.slice(2));
