import { writeIndex } from './index-code.ts';
import { readRepositories } from './repositories.ts';

/* Builds the code's database in the folder that CORRAL_DATA names. The packages stand where it is started. */

const written = writeIndex(readRepositories('.'), process.env['CORRAL_DATA'] ?? '');
process.stdout.write(`${written} chunks\n`);
