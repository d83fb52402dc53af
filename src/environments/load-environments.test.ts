import { describe, expect, test } from 'vitest';
import { environmentFolder, mistakesOf } from '#test/support/environment-folder.ts';
import type { Environment } from '../model/environment.ts';
import { environmentName } from '../model/ids.ts';
import { chooseTemplate } from './choose-template.ts';
import { loadEnvironments } from './load-environments.ts';
import { compilePolicy } from './policy.ts';

const minimal = (name = 'plain') => `
name: ${name}
sandbox: { image: host }
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
`;

async function loaded(files: Readonly<Record<string, string>>, name = 'plain') {
  await using folder = await environmentFolder(files);
  const environment = (await loadEnvironments(folder.path)).newest(environmentName(name));
  if (environment === undefined) throw new Error(`${name} was not loaded`);
  return { environment, folder: folder.path };
}

async function mistakes(yaml: string, files: Readonly<Record<string, string>> = {}) {
  await using folder = await environmentFolder({ 'a.yaml': yaml, ...files });
  return await mistakesOf(folder.path, loadEnvironments(folder.path));
}

describe('an environment whose trainer grades by itself', () => {
  const own = 'name: plain\nsandbox: { image: host }\n';

  test('needs neither a grader nor tools', async () => {
    const { environment } = await loaded({ 'a.yaml': `${own}grader: { kind: none }` });
    expect(environment).toMatchObject({ grader: { kind: 'none' }, tools: {} });
  });

  test('has no such grader as a part of another, where nobody could bring its score', async () => {
    const part = 'grader: { kind: weighted, parts: [{ weight: 1, grader: { kind: none } }] }';
    expect(await mistakes(`${own}tools: { shell: { builtin: shell } }\n${part}`)).not.toEqual([]);
  });

  test('is the only one that may have no tools', async () => {
    expect(await mistakes(`${own}grader: { kind: text, reference: item.answer }`)).toEqual([
      expect.stringContaining('tools is missing'),
    ]);
  });
});

test.each([
  ['graded', true],
  ['all', 'all'],
  ['no', undefined],
  ['true', true],
  ['false', undefined],
])('keep: %s, also as files before it write it', async (written, keep) => {
  const { environment } = await loaded({ 'a.yaml': `${minimal()}keep: ${written}\n` });
  expect(environment.keep).toBe(keep);
});

test('an unknown `keep` value fails and lists the valid ones', async () => {
  expect(await mistakes(`${minimal()}keep: some\n`)).toEqual([expect.stringContaining('graded, all or no')]);
});

describe('a file that says the least', () => {
  test('gets every default', async () => {
    const { environment } = await loaded({ 'a.yaml': minimal() });
    expect(environment).toMatchObject({
      template: {
        image: { kind: 'host' },
        cpu: { requestMilli: 100, limitMilli: 1000 },
        memory: { requestBytes: 512 * 2 ** 20, limitBytes: 512 * 2 ** 20 },
        diskBytes: 2 ** 30,
        network: 'none',
        runAs: 'user',
        startTimeoutMs: 60_000,
      },
      setup: { commands: [], timeoutMs: 60_000 },
      limits: {
        toolCalls: 40,
        outputBytes: 65_536,
        rolloutMs: 1_800_000,
        idleMs: 900_000,
        gradeMs: 1_800_000,
        hardLifeMs: 7_200_000,
      },
      grader: { match: 'normalised', answer: 'output_text' },
      pool: { minReady: 1, max: 100, maxAgeMs: 3_600_000 },
    });
    expect(environment.texts.exitCode).toBe('[exit code {code}]');
  });

  test('has a shell whose whole command line is one argument of sh', async () => {
    const { environment } = await loaded({ 'a.yaml': minimal() });
    expect(environment.tools['shell']).toMatchObject({
      timeoutMs: 120_000,
      run: { kind: 'command', argv: ['sh', '-c', '{command}'] },
      parameters: { required: ['command'] },
    });
    expect(environment.tools['shell']?.description).toContain('fresh shell in the workspace');
  });
});

describe('paths', () => {
  test('of a sandbox’s own folders are its template’s; a file that names none has a template without', async () => {
    const withFolders = minimal().replace('image: host', 'image: host, folders: [/logs/verifier]');
    const { environment } = await loaded({ 'a.yaml': withFolders });
    expect(environment.template).toMatchObject({ folders: ['/logs/verifier'] });
    expect((await loaded({ 'a.yaml': minimal() })).environment.template).not.toHaveProperty('folders');
  });

  test('of folders and files are relative to the YAML file', async () => {
    const yaml = `
name: plain
sandbox: { image: "rootfs:root", data: [{ source: data/repos, target: /repos }] }
tools: { shell: { builtin: shell } }
grader:
  kind: command
  command: [sh, check.sh]
  files: { check.sh: { file: graders/check.sh }, cases: "1 2" }
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: discard
`;
    const files = { 'a.yaml': yaml, 'root/x': '', 'data/repos/x': '', 'graders/check.sh': 'exit 0' };
    const { environment, folder } = await loaded(files);
    expect(environment.template.image).toEqual({ kind: 'rootfs', path: `${folder}/root` });
    expect(environment.template.data).toEqual([{ source: `${folder}/data/repos`, target: '/repos' }]);
    expect(environment.grader).toMatchObject({
      files: { 'check.sh': 'exit 0', cases: '1 2' },
      onBroken: 'discard',
    });
  });
});

test('the configuration next to a folder is part of digest and version, and a folder without one stays what it was', async () => {
  const yaml = minimal().replace('image: host', 'image: "rootfs:root"');
  const [without, one, other] = await Promise.all(
    [{}, { 'root.config.json': '{"Config":{}}' }, { 'root.config.json': '{"Config":{"User":"dev"}}' }].map(
      async (files) => (await loaded({ 'a.yaml': yaml, 'root/x': '', ...files })).environment,
    ),
  );
  expect(without?.template.image).toEqual({
    kind: 'rootfs',
    path: expect.stringMatching(/\/root$/) as string,
  });
  expect(new Set([without, one, other].map((each) => each?.version)).size).toBe(3);
  expect(one?.template.image).toMatchObject({ config: expect.stringMatching(/^[0-9a-f]{64}$/) as string });
  expect(other?.template.image).not.toEqual(one?.template.image);
});

const environmentOf = async (yaml: string) => (await loaded({ 'a.yaml': yaml })).environment;
const digestOf = (environment: Environment) => chooseTemplate(environment, null).template.digest;

describe('what tasks demand', () => {
  const shares = [
    'memory: { request: 256Mi, limit: 1Gi, from: item.memory }',
    'cpu: { request: 100m, limit: 1, from: item.cores }',
  ];
  const demanding = (share = shares.join(', ')) => minimal().replace('image: host', `image: host, ${share}`);

  test('is read from the fields of the row that its amounts name', async () => {
    const environment = await environmentOf(demanding());
    expect(environment.demands).toEqual({ memoryBytes: 'memory', cpuMilli: 'cores' });
    expect(environment.template.memory).toEqual({ requestBytes: 2 ** 28, limitBytes: 2 ** 30 });
  });

  test('counts in the version, and an environment without it stays what it was', async () => {
    const share = 'memory: { request: 256Mi, limit: 1Gi }';
    const [without, one] = [await environmentOf(demanding(share)), await environmentOf(demanding(shares[0]))];
    expect(without).not.toHaveProperty('demands');
    expect(one.version).not.toBe(without.version);
    expect(digestOf({ ...one, demands: {} })).toBe(digestOf(without));
  });

  test('of disk and shared memory is read next to their limits', async () => {
    const { demands, template } = await environmentOf(
      demanding('disk: { limit: 2Gi, from: item.disk }, shm: { limit: 128Mi, from: item.shm }'),
    );
    expect(demands).toEqual({ diskBytes: 'disk', shmBytes: 'shm' });
    expect(template).toMatchObject({ diskBytes: 2 ** 31, shmBytes: 2 ** 27 });
    expect((await environmentOf(demanding('shm: 128Mi'))).template.shmBytes).toBe(2 ** 27);
    expect((await environmentOf(minimal())).template).not.toHaveProperty('shmBytes');
    expect(await mistakes(demanding('shm: 1Gi'))).toEqual([
      expect.stringContaining('sandbox.shm must not be above the limit of memory'),
    ]);
  });

  test.each(['from: memory', 'from: item.a.b', 'from: 4Gi'])('is no field of the row: %s', async (from) => {
    const yaml = demanding(`memory: { request: 1Gi, limit: 1Gi, ${from} }`);
    expect((await mistakes(yaml)).join()).toContain('sandbox.memory.from must be the field of the row');
  });
});

describe('digest and version', () => {
  test('do not mind the order of keys or comments', async () => {
    const turned = `# a comment\ngrader: { reference: item.answer, kind: text }\ntools: { shell: { builtin: shell } }\nsandbox: { image: host }\nname: plain\n`;
    const [first, second] = [await environmentOf(minimal()), await environmentOf(turned)];
    expect(second.version).toBe(first.version);
    expect(digestOf(second)).toBe(digestOf(first));
  });

  test('a change that no sandbox is created from makes a new version of the same template', async () => {
    const [first, second] = [
      await environmentOf(minimal()),
      await environmentOf(`${minimal()}limits: { tool_calls: 7 }\n`),
    ];
    expect(second.version).not.toBe(first.version);
    expect(digestOf(second)).toBe(digestOf(first));
  });

  test('a change of the sandbox makes both new', async () => {
    const [first, second] = [
      await environmentOf(minimal()),
      await environmentOf(minimal().replace('host', 'host, processes: 99')),
    ];
    expect(second.version).not.toBe(first.version);
    expect(digestOf(second)).not.toBe(digestOf(first));
  });

  test('a resized pool leaves running jobs their version', async () => {
    const [first, second] = [
      await environmentOf(minimal()),
      await environmentOf(`${minimal()}pool: { min_ready: 9 }\n`),
    ];
    expect(second.version).toBe(first.version);
  });
});

describe('mistakes', () => {
  test('of shape are listed all at once, each with its line and what to write instead', async () => {
    const yaml = `
name: Bad Name
sandbox:
  image: host
  memory: { request: 1Zi, limit: 2Gi }
  colour: red
tools:
  shell: { builtin: shel, timeout: 60 }
grader: { kind: f2 }
limits: { output_bytes: 3 }
`;
    expect(await mistakes(yaml)).toEqual([
      expect.stringContaining('a.yaml:2 name must be lower-case letters'),
      expect.stringContaining('a.yaml:5 sandbox.memory.request must be an amount of bytes such as 512Mi'),
      expect.stringContaining('a.yaml:6 sandbox.colour is unknown here; known are: image'),
      expect.stringContaining('a.yaml:8 tools.shell.builtin must be shell, read_file'),
      expect.stringContaining('a.yaml:8 tools.shell.timeout must be a duration such as'),
      expect.stringContaining('a.yaml:9 grader must be a grader: {kind: f1'),
      expect.stringContaining('a.yaml:10 limits.output_bytes must be bytes from 1024'),
    ]);
  });

  test('of names: a tool may not be called as the trainer’s own commands are, which no budget counts', async () => {
    expect(await mistakes(minimal().replace('shell: {', 'exec: {'))).toEqual([
      expect.stringContaining("tools.exec is what a trainer's own commands are called"),
    ]);
  });

  test('of several files are told together, and a name can be taken only once', async () => {
    await using folder = await environmentFolder({
      'a.yaml': minimal(),
      'b.yaml': minimal(),
      'c.yaml': 'name: c\nname: d',
      'd.yaml': 'tools: *nobody',
    });
    expect(await mistakesOf(folder.path, loadEnvironments(folder.path))).toEqual([
      expect.stringMatching(/^b\.yaml:2 name is taken by .*a\.yaml$/),
      expect.stringContaining('c.yaml:2  is not valid YAML: Map keys must be unique'),
      expect.stringContaining('d.yaml:1  is not valid YAML: Unresolved alias'),
    ]);
  });

  test('a folder without environments says what belongs there', async () => {
    expect(await mistakesOf('/nowhere', loadEnvironments('/nowhere'))).toEqual([
      expect.stringContaining('holds no environment'),
    ]);
  });

  test.each<[string, string, string]>([
    ['an exposed field that the grader compares with', 'expose: [answer]', 'expose.0 exposes answer'],
    [
      'an exposed field that is ours',
      'expose: [corral]',
      'expose.0 exposes corral, the field of what is tried on a row',
    ],
    ['a setup step that uses a hidden field', 'setup: [[echo, "{item.answer}"]]', 'answer is not in expose'],
    [
      'a setup that outlasts every repeat of the first call',
      'setup: { commands: [[sleep, "1"], [sleep, "2"]], timeout: 20m }',
      'setup.timeout takes up to 40 min',
    ],
    ['a text with a word that nothing fills', 'texts: { exit_code: "{kode}" }', 'uses {kode}'],
    [
      'a life in which its grade does not end',
      'limits: { hard_life: 1h }',
      'must be at least 3720 s, rollout with',
    ],
    [
      'a longer life than a sandbox takes',
      'limits: { hard_life: 25h }',
      'limits.hard_life must be at most 24 h',
    ],
    [
      'more calls than a sandbox keeps',
      'limits: { tool_calls: 4001 }',
      'must be a whole number from 1 to 4000',
    ],
    ['more ready than may be', 'pool: { min_ready: 5, max: 2 }', 'must not be above max'],
  ])('%s', async (_what, line, message) => {
    expect(await mistakes(`${minimal()}${line}\n`)).toEqual([expect.stringContaining(message)]);
  });

  const program =
    '{ kind: command, command: [check], timeout: 1m, on_exit: 0, on_timeout: 0, on_out_of_memory: 0, on_broken: 0 }';
  const judge = '{ kind: http, url: "http://judge", timeout: 10s, retries: 1, on_refused: 0 }';
  test.each([
    ['a program', program, 119, 120],
    ['a judge, with its harmless answer', judge, 39, 40],
    ['one after the other', `{ kind: gate, all: [${program}], grader: ${judge} }`, 159, 160],
  ])('a grade that is over before its grader: %s', async (_what, grader, shortS, enoughS) => {
    const yaml = minimal().replace(/grader: .*/, `grader: ${grader}`);
    expect(await mistakes(`${yaml}limits: { grade: ${shortS}s }\n`)).toEqual([
      expect.stringContaining(`limits.grade must be at least ${enoughS} s, the longest that`),
    ]);
    const { environment } = await loaded({ 'a.yaml': `${yaml}limits: { grade: ${enoughS}s }\n` });
    expect(environment.limits.gradeMs).toBe(enoughS * 1000);
  });

  test.each<[string, string, string]>([
    ['prepare that knows a task', 'image: host, prepare: [[echo, "{item.x}"]]', 'put it in setup'],
    ['a request above its limit', 'image: host, cpu: {request: 2, limit: 1}', 'requests more than its limit'],
    ['a folder that is not there', 'image: "rootfs:nope"', 'names the folder nope'],
    [
      'data for a cluster',
      'image: alpine, data: [{source: ., target: /x}]',
      'is made of folders of this machine',
    ],
    ['a variable of ours', 'image: host, env: { CORRAL_X: "1" }', 'has no good name'],
  ])('%s', async (_what, sandbox, message) => {
    expect(await mistakes(minimal().replace('image: host', sandbox))).toEqual([
      expect.stringContaining(message),
    ]);
  });

  test.each<[string, string, string]>([
    ['neither a command nor a builtin', '{ timeout: 5s }', 'must have either a command or a builtin'],
    [
      'parameters of a builtin',
      '{ builtin: shell, parameters: { a: string } }',
      'is fixed for a builtin tool',
    ],
    [
      'a pattern that only a backtracking engine knows',
      '{ command: [ls, "{p}"], parameters: { p: { type: string, pattern: "(?<=a)b" } } }',
      'the pattern (?<=a)b cannot be matched in bounded time',
    ],
    [
      'a pattern that refers back',
      String.raw`{ command: [ls, "{p}"], parameters: { p: { type: string, pattern: '(a)\1' } } }`,
      'write it without look-around and back references',
    ],
    ['an argument that nobody declared', '{ command: [ls, "{path}"], parameters: {} }', 'uses {path}'],
    [
      'an argument inside a script',
      '{ command: [sh, -c, "grep {q} ."] }',
      'puts a value into a shell script',
    ],
    [
      'the same behind another program',
      '{ command: [timeout, "5", bash, -lc, "grep {q} ."] }',
      'puts a value',
    ],
    [
      'a kind of parameter that is none',
      '{ command: [ls, "{p}"], parameters: { p: strin } }',
      'must be string',
    ],
    [
      'a schema that is none',
      '{ command: [ls], parameters: { a: { type: txt } } }',
      'is no valid JSON schema',
    ],
    ['a command for half a day', '{ command: [ls], timeout: 12h }', 'must be at most 1h'],
  ])('a tool with %s', async (_what, tool, message) => {
    const yaml = minimal().replace('{ builtin: shell }', tool);
    expect(await mistakes(yaml)).toEqual([expect.stringContaining(message)]);
  });

  test.each([
    'infrastructure_exit: 75',
    'infrastructure_exit: [75, 76]',
    'infrastructure_exit: 75, dependency: { exit_code: 75, probe: "tcp://db:1" }',
  ])('%s was removed, and the mistake says what replaces it', async (exit) => {
    expect(await mistakes(withTool(`{ command: [look-up, "{q}"], ${exit} }`))).toEqual([
      expect.stringMatching(/infrastructure_exit was removed: .*`dependency: \{ exit_code: 75, probe:/),
    ]);
  });

  test('a life must hold the wait of its last call for a probe, and no second run: that would not start any more', async () => {
    const tool = '{ command: [ls], dependency: { exit_code: 75, probe: "tcp://db:1" }, idempotent: true }';
    expect(await mistakes(`${withTool(tool)}limits: { hard_life: 1h }\n`)).toEqual([
      expect.stringContaining('must be at least 3731 s, rollout with'),
    ]);
  });

  test('a dependency has its defaults filled in, beside any tool', async () => {
    const probe = 'http://search:9200/_health';
    const given = `dependency: { exit_code: 75, probe: "${probe}" }`;
    expect(await lookWith(given)).toMatchObject({
      dependency: { exitCodes: [75], probe, everyMs: 5_000, idempotent: false },
    });
    const full =
      'dependency: { exit_code: [75, 76], probe: "tcp://[::1]:80", every_s: 15 }, idempotent: true';
    expect(await lookWith(full)).toMatchObject({
      dependency: { exitCodes: [75, 76], probe: 'tcp://[::1]:80', everyMs: 15_000, idempotent: true },
    });
  });

  test.each([
    ['ftp://a/b', '', 'must be http://…, https://… or tcp://host:port'],
    ['http://', '', 'must be http://…, https://… or tcp://host:port'],
    ['tcp://db', '', 'must be tcp://host:port, and nothing behind the port'],
    ['tcp://db:1/x', '', 'must be tcp://host:port, and nothing behind the port'],
    ['http://me:secret@db/', '', 'must not hold a user or a password'],
    ['http://db/', ', every_s: 0', 'must be whole seconds from 1 to 15'],
    ['http://db/', ', every_s: 16', 'must be whole seconds from 1 to 15'],
  ])('a dependency with the probe %s%s', async (probe, rest, message) => {
    const tool = `{ command: [ls], dependency: { exit_code: 75, probe: "${probe}"${rest} } }`;
    expect(await mistakes(withTool(tool))).toEqual([expect.stringContaining(message)]);
  });

  test.each([
    ['{ command: [ls], idempotent: true }', 'is for tools with a dependency'],
    ['{ builtin: shell, dependency: { exit_code: 75, probe: "tcp://db:1" } }', 'is for commands'],
    ['{ builtin: shell, idempotent: true }', 'is for commands'],
  ])('%s', async (tool, message) => {
    expect(await mistakes(withTool(tool))).toEqual([expect.stringContaining(message)]);
  });
});

/** What the tool `look` runs, with these fields beside its command. */
async function lookWith(rest: string) {
  const tools = `{ builtin: shell }, look: { command: [sh, -s], parameters: {}, ${rest} }`;
  return (await loaded({ 'a.yaml': withTool(tools) })).environment.tools['look']?.run;
}

/** The minimal file with another tool. */
const withTool = (tool: string) => minimal().replace('{ builtin: shell }', tool);

const byRow = (image: string, rest = '') => `${minimal().replace('host', image)}${rest}`;

describe('an image that each row names', () => {
  test('leaves the template open, keeps none ready, and folders are relative to the file', async () => {
    const yaml = byRow('{ from: item.image, allow: ["registry.example.com/tasks/*", "rootfs:roots/*"] }');
    const { environment, folder } = await loaded({ 'a.yaml': yaml });
    expect(environment.pool).toMatchObject({ minReady: 0, max: 100 });
    expect(environment.template).not.toHaveProperty('digest');
    expect(environment.template.image).toEqual({
      kind: 'row',
      field: 'image',
      allow: ['registry.example.com/tasks/*', `rootfs:${folder}/roots/*`],
      permitted: ['*'],
    });
  });

  test('cannot be kept ready, and needs a list of what is allowed and a field', async () => {
    const kept = byRow('{ from: item.image, allow: ["*"] }', 'pool: { min_ready: 2 }\n');
    expect(await mistakes(kept)).toEqual([
      expect.stringContaining('pool.min_ready must be 0 where each row names'),
    ]);
    expect(await mistakes(byRow('{ from: item.image }'))).toEqual([
      expect.stringContaining('sandbox.image needs the field allow'),
    ]);
    expect(await mistakes(byRow('{ from: image, allow: [] }'))).toEqual([
      expect.stringContaining(
        'sandbox.image.from must be the field of the row that names the image: item.image',
      ),
      expect.stringContaining('sandbox.image.allow must be a list of images and patterns'),
    ]);
  });

  test('may not be pulled where folders of this machine are mounted', async () => {
    const data = 'data: [{ source: ., target: /data }]';
    const folders = byRow(`{ from: item.image, allow: ["rootfs:/srv/*"] }, ${data}`);
    await using folder = await environmentFolder({ 'a.yaml': folders });
    expect((await loadEnvironments(folder.path)).all()).toHaveLength(1);
    expect(await mistakes(byRow(`{ from: item.image, allow: ["rootfs:/srv/*", "*"] }, ${data}`))).toEqual([
      expect.stringContaining('sandbox.data.0 is made of folders of this machine'),
    ]);
  });

  test('is held to the operator’s list too, which makes no other version', async () => {
    const policy = compilePolicy({ images: ['registry.example.com/*'] });
    const yaml = byRow('{ from: item.image, allow: ["*", "python:3.12", "registry.example.com/a:1"] }');
    await using refused = await environmentFolder({ 'a.yaml': yaml });
    expect(await mistakesOf(refused.path, loadEnvironments(refused.path, { policy }))).toEqual([
      'a.yaml:3 sandbox.image.allow.1 is python:3.12, and the operator allows: registry.example.com/*',
    ]);
    await using folder = await environmentFolder({ 'a.yaml': byRow('{ from: item.image, allow: ["*"] }') });
    const [held, free] = [
      await loadEnvironments(folder.path, { policy }),
      await loadEnvironments(folder.path),
    ];
    expect(held.all()[0]?.template.image).toMatchObject({ permitted: ['registry.example.com/*'] });
    expect(held.all()[0]?.version).toBe(free.all()[0]?.version);
  });
});

describe("the operator's policy", () => {
  test('refuses what it does not allow, and an environment cannot say otherwise', async () => {
    const policy = compilePolicy({
      images: ['registry.example.com/tasks/*'],
      run_as: ['user'],
      data: ['/srv/*'],
      ceilings: { cpu: '500m', memory: '256Mi', pool: 10 },
    });
    const sandbox = 'image: host, run_as: root, network: proxy, data: [{ source: ., target: /x }]';
    await using folder = await environmentFolder({ 'a.yaml': minimal().replace('image: host', sandbox) });
    const found = await mistakesOf(folder.path, loadEnvironments(folder.path, { policy }));
    expect(found.map((mistake) => mistake.split(' ')[1])).toEqual([
      // Nobody wrote this one; the default is above the ceiling, so it is shown where the file begins.
      'pool.max',
      'sandbox.image',
      'sandbox.data.0.source',
      'sandbox.network',
      'sandbox.run_as',
      'sandbox.cpu',
      'sandbox.memory',
    ]);
  });

  test('lets through what its patterns match', async () => {
    const policy = compilePolicy({ images: ['registry.example.com/tasks/*'] });
    const yaml = minimal().replace('host', 'registry.example.com/tasks/a:1');
    await using folder = await environmentFolder({ 'a.yaml': yaml });
    const catalog = await loadEnvironments(folder.path, { policy });
    expect(catalog.all()).toHaveLength(1);
  });
});

const graded = (grader: string) => minimal().replace(/grader: .*/, `grader: ${grader}`);

describe('graders that look at calls', () => {
  const shell = "{ tool: shell, argument: command, is: ['npm test'] }";

  test('are compiled with every name that they have', async () => {
    const checked = `{ kind: calls, checked: { edits: [shell], checks: [${shell}], passing: false } }`;
    expect((await loaded({ 'a.yaml': graded(checked) })).environment.grader).toEqual({
      kind: 'calls',
      asks: 'checked',
      edits: [{ tool: 'shell' }],
      checks: [{ tool: 'shell', argument: 'command', is: ['npm test'] }],
      passing: false,
    });
    const opened = '{ kind: calls, opened: { reference: item.files, tools: { shell: command }, most: 2x } }';
    expect((await loaded({ 'a.yaml': graded(opened) })).environment.grader).toEqual({
      kind: 'calls',
      asks: 'opened',
      reference: 'item.files',
      tools: [{ tool: 'shell', argument: 'command' }],
      most: { timesExpected: 2 },
    });
  });

  const programs = 'kind: command, on_exit: 0, on_timeout: 0, on_out_of_memory: 0, on_broken: 0';

  test.each([
    ['command: [judge, "$CORRAL_ROLLOUT"]', true],
    ['command: [sh, judge.sh], files: { judge.sh: "cat $CORRAL_ROLLOUT" }', true],
    ['command: [sh, judge.sh], files: { judge.sh: "cat $CORRAL_GRADER_DIR" }', false],
  ])('a program gets the rollout where its name stands: %s', async (written, readsRollout) => {
    const { environment } = await loaded({ 'a.yaml': graded(`{ ${programs}, ${written} }`) });
    expect('readsRollout' in environment.grader).toBe(readsRollout);
  });

  test('a penalty has its time and bytes in units', async () => {
    const text = '{ kind: text, reference: item.answer }';
    const costs = 'time: { free: 1m, per: 10s, each: 0.01 }, bytes: { free: 64Ki, per: 1Ki, each: 0.1 }';
    const yaml = graded(`{ kind: penalty, grader: ${text}, free_calls: 8, each: 0, ${costs} }`);
    expect((await loaded({ 'a.yaml': yaml })).environment.grader).toMatchObject({
      time: { free: 60_000, per: 10_000, each: 0.01 },
      bytes: { free: 65_536, per: 1_024, each: 0.1 },
    });
  });

  test.each([
    ['{ kind: calls }', 'grader must ask one thing: opened or checked'],
    [
      '{ kind: calls, checked: { edits: [write], checks: [shell] } }',
      'grader looks at calls of write, which is no tool here',
    ],
    [
      '{ kind: gate, all: [{ kind: calls, opened: { reference: item.a, tools: { shell: path } } }], grader: { kind: text, reference: item.a } }',
      'grader looks at path of shell, which is no parameter of it',
    ],
    [
      '{ kind: penalty, grader: { kind: text, reference: item.a }, free_calls: 1, each: 0, time: { free: 1s, per: 0s, each: 1 } }',
      'grader.time.per must be above 0',
    ],
  ])('%s is a mistake', async (grader, said) => {
    expect((await mistakes(graded(grader))).join('\n')).toContain(said);
  });

  test('what opened compares with is kept from the sandbox', async () => {
    const opened = '{ kind: calls, opened: { reference: item.files, tools: { shell: command } } }';
    expect(await mistakes(`${graded(opened)}\nexpose: [files]`)).toEqual([
      expect.stringContaining('exposes files, which the grader compares with'),
    ]);
  });
});

describe('graders that read like people', () => {
  test.each([
    ['most: 6', { most: { count: 6 } }],
    ['most: 2x', { most: { timesExpected: 2 } }],
    ['compare: code', { compare: 'code' }],
  ])('recall has %s', async (written, compiled) => {
    const yaml = graded(`{ kind: recall, answer: output_json, reference: item.facts, ${written} }`);
    const { environment } = await loaded({ 'a.yaml': yaml });
    expect(environment.grader).toEqual({
      kind: 'recall',
      answer: 'output_json',
      reference: 'item.facts',
      ...compiled,
    });
  });

  test('f1 has a length beyond which no answer counts', async () => {
    const yaml = graded('{ kind: f1, answer: output_json, reference: item.facts, refuse_above: 12 }');
    expect((await loaded({ 'a.yaml': yaml })).environment.grader).toMatchObject({
      kind: 'f1',
      refuseAbove: { count: 12 },
    });
  });

  test('numbers have magnitudes, currencies and partial credit', async () => {
    const yaml = graded(
      '{ kind: text, match: numeric, reference: item.a, magnitudes: [K, mn], currencies: [USD], partial: { worth: 0.5, within: 0.001 } }',
    );
    expect((await loaded({ 'a.yaml': yaml })).environment.grader).toMatchObject({
      reading: { magnitudes: ['k', 'mn'], currencies: ['usd'] },
      partial: { worth: 0.5, within: 0.001, rounding: false },
    });
  });

  test.each([
    [
      '{ kind: text, reference: item.a, magnitudes: [K] }',
      'grader.magnitudes is of numbers: it needs match: numeric',
    ],
    [
      '{ kind: text, match: numeric, reference: item.a, partial_within: 0.1, partial: { worth: 0.5, within: 0.1 } }',
      'grader.partial says with partial_within two things of one number; write one of them',
    ],
    [
      '{ kind: f1, answer: output_json, reference: item.a, most: 3 }',
      'grader.most is unknown here; known are: kind, answer, reference, compare, refuse_above',
    ],
    [
      '{ kind: recall, answer: output_json, reference: item.a, most: none }',
      'grader.most must be how many answers count: a whole number from 1, or 2x for twice what is expected',
    ],
  ])('%s is a mistake', async (grader, said) => {
    expect((await mistakes(graded(grader))).join('\n')).toContain(said);
  });
});
