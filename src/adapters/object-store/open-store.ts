import type { ObjectStore } from '#src/ports/object-store.ts';
import { credentialsOf } from './credentials.ts';
import { createFolderStore } from './folder-store.ts';
import { createS3Store } from './s3-store.ts';

const s3Start = 's3://';

/**
 * The store at a place: a folder, or `s3://bucket/prefix` with the region, the endpoint and the credentials of the usual variables.
 * Throws what is wrong with them; nothing is asked yet.
 */
export function openObjectStore(
  place: string,
  variables: Readonly<Record<string, string | undefined>>,
): ObjectStore {
  if (!place.startsWith(s3Start)) return createFolderStore(place);
  const [bucket = '', ...rest] = place.slice(s3Start.length).split('/');
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) throw new Error(`not a bucket: ${place}`);
  const prefix = rest.filter((part) => part !== '').map((part) => `${part}/`);
  return createS3Store({
    bucket,
    prefix: prefix.join(''),
    region: variables['AWS_REGION'] || variables['AWS_DEFAULT_REGION'] || 'us-east-1',
    endpoint: endpointOf(variables['AWS_ENDPOINT_URL_S3'] || variables['AWS_ENDPOINT_URL']),
    credentials: credentialsOf(variables),
  });
}

function endpointOf(text: string | undefined): string | null {
  if (!text) return null;
  if (!URL.canParse(text) || !/^https?:/.test(text)) throw new Error(`not an endpoint of S3: ${text}`);
  return text.replace(/\/$/, '');
}
