import { expect, test } from 'vitest';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import type { Tool } from '../model/environment.ts';
import { environmentName } from '../model/ids.ts';
import { toolDefinitions } from './tool-definitions.ts';

const shell: Tool = {
  name: 'shell',
  description: 'Runs a command.',
  parameters: { type: 'object', properties: { command: { type: 'string' } } },
  timeoutMs: 1000,
  run: { kind: 'command', argv: ['sh', '-c', '{command}'] },
};

test('a training job is given one URL for each tool, the grader, and what its chat template shows', () => {
  const environment = fakeEnvironment({ name: environmentName('plain'), tools: { shell } });
  const headers = { authorization: 'Bearer key', 'x-corral-run': 'run-7' };
  expect(toolDefinitions(environment, { baseUrl: 'https://corral.example/', headers })).toEqual({
    tools: [{ name: 'shell', server_url: 'https://corral.example/rft/plain/tools/shell', headers }],
    grader: { type: 'endpoint', url: 'https://corral.example/rft/plain/grade', headers },
    functions: [
      {
        type: 'function',
        function: { name: 'shell', description: 'Runs a command.', parameters: shell.parameters },
      },
    ],
  });
});
