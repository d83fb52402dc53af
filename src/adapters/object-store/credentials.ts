import { readFile } from 'node:fs/promises';

export type S3Credentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
};

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * From the usual variables, else from the file that `AWS_SHARED_CREDENTIALS_FILE` names, its profile `AWS_PROFILE` or `default`.
 * The file is read at each request, so that renewed credentials count. Throws if it finds no credentials.
 */
export function credentialsOf(variables: Variables): () => Promise<S3Credentials> {
  const given = toCredentials(
    variables['AWS_ACCESS_KEY_ID'],
    variables['AWS_SECRET_ACCESS_KEY'],
    variables['AWS_SESSION_TOKEN'],
  );
  if (given !== null) return () => Promise.resolve(given);
  const path = variables['AWS_SHARED_CREDENTIALS_FILE'];
  if (!path)
    throw new Error(
      'S3 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE with both',
    );
  return () => readProfile(path, variables['AWS_PROFILE'] || 'default');
}

function toCredentials(id: string | undefined, secret: string | undefined, token: string | undefined) {
  if (!id || !secret) return null;
  return { accessKeyId: id, secretAccessKey: secret, ...(token ? { sessionToken: token } : {}) };
}

async function readProfile(path: string, profile: string): Promise<S3Credentials> {
  const fields = fieldsOf(await readFile(path, 'utf8'), profile);
  const [id, secret, token] = ['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token'].map(
    (name) => fields.get(name),
  );
  const found = toCredentials(id, secret, token);
  if (found === null) throw new Error(`${path} has no credentials of the profile ${profile}`);
  return found;
}

function fieldsOf(text: string, profile: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  let isOurs = false;
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line.startsWith('[')) isOurs = line === `[${profile}]`;
    const [name = '', ...value] = line.split('=');
    if (isOurs && value.length > 0) fields.set(name.trim(), value.join('=').trim());
  }
  return fields;
}
