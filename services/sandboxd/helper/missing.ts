import { accessSync, constants, statSync } from 'node:fs';
import { placesOf } from '../programs/permissions.ts';

/** Which of the programs this user could not run, by their position, as JSON. */
export function reportMissing(path: string, programs: readonly string[]): 0 {
  const missing = programs.flatMap((program, index) =>
    placesOf(program, path, process.cwd()).some(mayRun) ? [] : [index],
  );
  process.stdout.write(JSON.stringify({ missing }));
  return 0;
}

function mayRun(place: string): boolean {
  try {
    accessSync(place, constants.X_OK);
    return statSync(place).isFile();
  } catch {
    return false;
  }
}
