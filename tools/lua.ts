import { keysOf } from '#src/adapters/redis/keys.ts';
import { chunkOf, contracts, givenLua, inOrder, luaFiles } from '#src/adapters/redis/script-library.ts';
import { askedComplaints } from './lua/asked.ts';
import { luaComplaints, tooManyLocals } from './lua/complaints.ts';
import { namesOf } from './lua/names.ts';

// `npm run check:lua`: every name that the scripts of fleet state use, declare and require, how many are locals of their chunk,
// and that scripts and their contracts name the same fields.

const localsMost = 60;

const given = givenLua(keysOf('any'), '');
const files = await luaFiles();
const asks = new Map<string, readonly string[]>(
  Object.entries(contracts).map(([name, { ask }]) => [name, Object.keys(ask.properties)]),
);
const complaints = [
  ...files.flatMap((file) => askedComplaints(file, (script) => asks.get(script) ?? [])),
  ...luaComplaints(
    inOrder(files),
    namesOf(given).declared.map(({ name }) => name),
  ),
  ...tooManyLocals(chunkOf(files, given), localsMost),
];
for (const line of complaints) console.error(line);
process.exitCode = complaints.length > 0 ? 1 : 0;
