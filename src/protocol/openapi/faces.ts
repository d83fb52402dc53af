/** What each face asks of every request: its key and its headers. */

export const faces = {
  native: 'for trainers that open, drive and close rollouts themselves',
  rft: 'for platforms of reinforcement fine-tuning: 200 or 5xx, never 4xx',
  e2b: 'for clients of E2B',
  operations: 'for operators and probes; no key',
} as const;
export type FaceName = keyof typeof faces;

const runParameter = {
  name: 'x-corral-run',
  in: 'header',
  required: false,
  description: 'the run; default: the default run of the key',
  schema: { type: 'string' },
};

const sandboxParameter = {
  name: 'e2b-sandbox-id',
  in: 'header',
  required: true,
  description: 'the sandbox that a request to its files and processes is for',
  schema: { type: 'string' },
};

/** Of Connect, E2B's wire for files and processes. */
const connectParameters = {
  ConnectVersion: {
    name: 'connect-protocol-version',
    in: 'header',
    required: false,
    description: 'what clients of Connect send; it is not read',
    schema: { type: 'string', const: '1' },
  },
  ConnectTimeout: {
    name: 'connect-timeout-ms',
    in: 'header',
    required: false,
    description: 'when the client gives up; a command that it starts ends a little before, as timed out',
    schema: { type: 'string', pattern: '^[1-9][0-9]{0,9}$' },
  },
};

/** `components.parameters`. */
export const headerParameters = { Run: runParameter, Sandbox: sandboxParameter, ...connectParameters };

export const reference = (kind: 'parameters' | 'responses', name: string) => ({
  $ref: `#/components/${kind}/${name}`,
});

export function faceOfPath(path: string): FaceName {
  if (path.startsWith('/v1/')) return 'native';
  if (path.startsWith('/rft/')) return 'rft';
  return path.startsWith('/e2b/') ? 'e2b' : 'operations';
}

/** E2B's services and files are those of one sandbox, which a header names. */
const isInSandbox = (path: string): boolean =>
  /\/(?:process\.Process|filesystem\.Filesystem)\/|\/(?:files|health)$/.test(path);

export function securityOf(face: FaceName, path: string) {
  if (face === 'operations') return { security: [] };
  if (face !== 'e2b') return {};
  return { security: [{ bearer: [] }, isInSandbox(path) ? { e2bPass: [] } : { e2bKey: [] }] };
}

export function headersOf(face: FaceName, path: string) {
  if (face === 'e2b') return headersOfE2b(path).map((name) => reference('parameters', name));
  return face === 'operations' ? [] : [reference('parameters', 'Run')];
}

function headersOfE2b(path: string): readonly string[] {
  if (!isInSandbox(path)) return [];
  const isConnect = /\/(?:process\.Process|filesystem\.Filesystem)\//.test(path);
  return isConnect ? ['Sandbox', 'ConnectVersion', 'ConnectTimeout'] : ['Sandbox'];
}
