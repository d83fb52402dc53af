import { join } from 'node:path';
import { expect } from 'vitest';
import { freePort } from '#cli/fleet/free-port.ts';
import { findPython } from '#infra/python/find-python.ts';
import { virtualEnvironment } from '#infra/python/virtual-environment.ts';
import { answers, startServer } from '#test/release/support/processes.ts';

export type S3OfTest = {
  readonly endpoint: string;
  /** What a client of it has in its environment. */
  readonly variables: Readonly<Record<string, string>>;
  stop(): Promise<void>;
};

/** moto's server as S3, with an empty bucket; its lock names every package with its digest. */
export async function startS3(bucket: string): Promise<S3OfTest> {
  const python = virtualEnvironment(findPython('3.11'), join(import.meta.dirname, 'moto.txt'));
  const port = await freePort(0);
  const endpoint = `http://127.0.0.1:${port}`;
  const started = await startServer(
    [python, '-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)],
    () => answers(`${endpoint}/moto-api/`),
  );
  const made = await fetch(`${endpoint}/${bucket}`, { method: 'PUT' });
  expect(made.status).toBe(200);
  return {
    endpoint,
    variables: {
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'test-id',
      AWS_SECRET_ACCESS_KEY: 'test-secret',
    },
    stop: () => started.stop(),
  };
}
