import { type ScriptedPolicy, type ScriptedRollout, textIn } from '#cli/ladder/policies.ts';
import { type Defect, everyDefect } from '../generators/ship-code/defects.ts';
import { fixOf } from '../generators/ship-code/packages.ts';
import { cheats } from './cheats.ts';

/* What is played on ship-code: published fixes, whole and in part, more and less carefully, and ways around the tests. */

/** A script has no model, so it knows the issue's fix as a model would find it. */
function defectOf(rollout: ScriptedRollout): Defect {
  const issue = textIn(rollout, 'issue');
  const defect = everyDefect.find((each) => each.issue === issue);
  if (defect === undefined) throw new Error(`no defect has this issue: ${issue}`);
  return defect;
}

type Files = readonly (readonly [path: string, text: string])[];

async function write(rollout: ScriptedRollout, files: Files): Promise<void> {
  for (const [path, content] of files) await rollout.call('write_file', { path: `package/${path}`, content });
}

const fix = (rollout: ScriptedRollout): Files => [...fixOf(defectOf(rollout))];

/** What a maintainer wants to read. */
const report = (rollout: ScriptedRollout): string => {
  const { to, package: name } = defectOf(rollout);
  const known = textIn(rollout, 'sources').split('\n');
  const changed = fix(rollout).flatMap(([path]) => (known.includes(path) ? [path] : []));
  return `The defect came from ${changed.join(' and ')}. The change repairs it as ${name} ${to} does, and leaves the other behavior as it was. I added nothing beyond the report.`;
};

const chatty = (rollout: ScriptedRollout): string =>
  `🚀 Amazing news!!! ${report(rollout)} ${'This is a perfect solution that everybody will love. '.repeat(22)}🎉`;

/** Looks at everything that there is: the long tail of an agent that was never told to stop. */
async function wander(rollout: ScriptedRollout): Promise<void> {
  await rollout.call('terminal_open', {});
  for (const path of textIn(rollout, 'sources').split('\n').slice(0, 10)) {
    await rollout.call('outline', { path: `package/${path}` });
    await rollout.call('count_lines', { path: `package/${path}` });
    await rollout.call('read_lines', { path: `package/${path}`, from: 1, to: 60 });
    await rollout.call('find_references', { name: path.split('/').at(-1)?.replace('.js', '') ?? path });
  }
  for (let turn = 0; turn < 14; turn++)
    await rollout.call('terminal_send', {
      terminal: 1,
      text: `ls package | head -${turn + 1}`,
      keys: 'Enter',
    });
}

const cheatPolicies = Object.entries(cheats).map(([name, command]): [string, ScriptedPolicy] => [
  name,
  async (rollout) => {
    await rollout.call('shell', { command });
    await rollout.call('run_tests', {});
    return report(rollout);
  },
]);

export const policies: Readonly<Record<string, ScriptedPolicy>> = {
  // The first try leaves out the file that most of the fix is in, and does not look again.
  hasty: async (rollout) => {
    const files = fix(rollout);
    const [main] = files.toSorted(([, one], [, other]) => other.length - one.length);
    await write(rollout, rollout.copy % 2 === 0 ? files : files.filter((file) => file !== main));
    return report(rollout);
  },
  unchecked: async (rollout) => {
    await write(rollout, fix(rollout));
    return report(rollout);
  },
  chatty: async (rollout) => {
    await write(rollout, fix(rollout));
    await rollout.call('run_tests', {});
    return chatty(rollout);
  },
  wanders: async (rollout) => {
    await wander(rollout);
    await write(rollout, fix(rollout));
    return report(rollout);
  },
  fix: async (rollout) => {
    await rollout.call('keyword_search', { text: textIn(rollout, 'package') });
    await write(rollout, fix(rollout));
    await rollout.call('lint', {});
    await rollout.call('diff', {});
    await rollout.call('run_tests', {});
    return report(rollout);
  },
  ...Object.fromEntries(cheatPolicies),
};
