import { writeIndex } from './index-pages.ts';
import { makeLibrary, seed } from './library.ts';

/* Builds the pages' database in the folder that CORRAL_DATA names. */

const { pages } = makeLibrary(seed);
writeIndex(pages, process.env['CORRAL_DATA'] ?? '');
process.stdout.write(`${pages.length} pages\n`);
