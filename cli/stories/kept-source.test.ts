import { expect, test } from 'vitest';
import { runId } from '#src/model/ids.ts';
import { CommandError } from '../command-error.ts';
import { openKept } from './kept-source.ts';

test('a store that does not answer is an error with its place and what to check', async () => {
  const variables = {
    AWS_REGION: 'eu-central-1',
    AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'secret',
  };
  const kept = openKept({ store: 's3://bucket/lab' }, variables);
  const read = Array.fromAsync(
    kept.lines({ tenant: null, run: runId('nightly'), rollout: null }, () => undefined),
  );
  await expect(read).rejects.toBeInstanceOf(CommandError);
  await expect(read).rejects.toThrow('the trajectory store s3://bucket/lab/ cannot be read');
});
