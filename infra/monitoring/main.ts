import { CommandError } from '#cli/command-error.ts';
import { monitoringPrograms } from './programs.ts';

// `node infra/monitoring/main.ts`: fetches the programs that check rules and routes. Called by the set-up.
try {
  await monitoringPrograms((line) => console.error(`setup: ${line}`));
} catch (error) {
  if (!(error instanceof CommandError)) throw error;
  // All other tests run without these programs.
  console.error(`setup: ${error.message}\n  only the tests of alerts need them; next: ${error.next}`);
}
