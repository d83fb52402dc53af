import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SweTask } from './swe-tasks.ts';

/* Tasks in Harbor's format over an image of `makeSweTasks`: one that works, and tasks that Corral refuses. */

const test = `#!/bin/bash
cd /testbed
cp /tests/test_hidden.py tests/test_hidden.py
reward=0
python3 -m pytest -q -p no:cacheprovider tests/test_hidden.py tests/test_parse.py && reward=1
echo $reward > /logs/verifier/reward.txt
`;
const hidden = `import parse


def test_hyphen():
    result = parse.search("/local/sub/{user-id}/duration", "https://example.com/local/sub/1647222638/duration")
    assert result["user-id"] == "1647222638"
`;

/** What a task's folder has, and its \`task.toml\` says, other than that of one that works. */
type Difference = { readonly toml?: string; readonly compose?: string };

/** By name: what Corral does not run, and the requirement by which it is refused. */
export const refusedTasks: Readonly<Record<string, Difference & { readonly requirement: string }>> = {
  'two-services': {
    compose: 'services:\n  main: { build: . }\n  store: { image: "postgres:16" }\n',
    requirement: 'services',
  },
  'compose-settings': {
    compose: 'services: { main: { build: ., environment: { MODE: strict } } }\n',
    requirement: 'services',
  },
  'own-verifier': { toml: '[verifier]\nenvironment_mode = "separate"\n', requirement: 'services' },
  'dockerfile-only': { toml: '[environment]\nnetwork_mode = "no-network"\n', requirement: 'image' },
  'other-registry': {
    toml: '[environment]\ndocker_image = "registry.example.org/tb/task:1"\nnetwork_mode = "no-network"\n',
    requirement: 'image',
  },
  internet: {
    toml: '[environment]\ndocker_image = "IMAGE"\nnetwork_mode = "public"\n',
    requirement: 'network',
  },
  'allow-internet': {
    toml: '[environment]\ndocker_image = "IMAGE"\nallow_internet = true\n',
    requirement: 'network',
  },
  'some-hosts': {
    toml: '[environment]\ndocker_image = "IMAGE"\nnetwork_mode = "allowlist"\nallowed_hosts = ["pypi.org"]\n',
    requirement: 'network',
  },
  gpu: { toml: '[environment]\ndocker_image = "IMAGE"\ngpus = 1\n', requirement: 'gpu' },
};

const works = '[environment]\ndocker_image = "IMAGE"\nnetwork_mode = "no-network"\nmemory_mb = 1024\n';

/** Writes `fix-hyphen` and the refused tasks below a folder. `image`: what they name. */
export async function writeHarborTasks(folder: string, { instance }: SweTask, image: string): Promise<void> {
  const solution = `#!/bin/bash\ncd /testbed && git apply - <<'PATCH'\n${instance.patch}PATCH\n`;
  for (const [name, { toml = works, compose }] of Object.entries({
    'fix-hyphen': {},
    ...refusedTasks,
  } as Readonly<Record<string, Difference>>)) {
    const files = {
      'instruction.md': `${instance.problem_statement}\n`,
      'environment/Dockerfile': 'FROM python:3.11-slim\n',
      'solution/solve.sh': solution,
      'tests/test.sh': test,
      'tests/test_hidden.py': hidden,
      'task.toml': `version = "1.0"\n${toml.startsWith('[verifier]') ? works + toml : toml}`.replace(
        'IMAGE',
        image,
      ),
      ...(compose !== undefined && { 'environment/docker-compose.yaml': compose }),
    };
    for (const [file, text] of Object.entries(files)) {
      await mkdir(join(folder, name, file, '..'), { recursive: true });
      await writeFile(join(folder, name, file), text);
    }
  }
}
