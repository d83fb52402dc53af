import { writeIndex } from './index-codes.ts';
import { readCodes } from './source.ts';

/* Builds the codes' database in the folder that CORRAL_DATA names. `source` is where pip has put the package. */

const written = writeIndex(readCodes('source'), process.env['CORRAL_DATA'] ?? '');
process.stdout.write(`${written} entries\n`);
