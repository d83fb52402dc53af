import { keysOf } from '#src/adapters/redis/keys.ts';
import { chunkOf, givenLua, inOrder, luaFiles } from '#src/adapters/redis/script-library.ts';
import { luaComplaints, tooManyLocals } from './lua/complaints.ts';
import { namesOf } from './lua/names.ts';

// `npm run check:lua`: every name that the scripts of fleet state use, declare and require, and how many are locals of their chunk.

const localsMost = 60;

const given = givenLua(keysOf('any'), '');
const files = await luaFiles();
const complaints = [
  ...luaComplaints(
    inOrder(files),
    namesOf(given).declared.map(({ name }) => name),
  ),
  ...tooManyLocals(chunkOf(files, given), localsMost),
];
for (const line of complaints) console.error(line);
process.exitCode = complaints.length > 0 ? 1 : 0;
