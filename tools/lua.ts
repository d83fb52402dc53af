import { keysOf } from '#src/adapters/redis/keys.ts';
import { givenLua, inOrder, luaFiles } from '#src/adapters/redis/script-library.ts';
import { luaComplaints } from './lua/complaints.ts';
import { namesOf } from './lua/names.ts';

// `npm run check:lua`: every name that the scripts of fleet state use, declare and require.

const given = namesOf(givenLua(keysOf('any'), '')).declared.map(({ name }) => name);
const complaints = luaComplaints(inOrder(await luaFiles()), given);
for (const line of complaints) console.error(line);
process.exitCode = complaints.length > 0 ? 1 : 0;
