import type { Command } from 'commander';
import { createProgram } from '#cli/program.ts';

const head = `<!-- Written by tools/write-commands-page.ts from cli/. Change the commands there. -->

# Commands

In a checkout a command is \`npm run corral -- COMMAND\`, or \`bin/corral COMMAND\`, which prints nothing else. An installed release has \`corral COMMAND\`. Every command takes \`--json\`.

Scripts of the checkout:

| script | what it does |
| --- | --- |
| \`npm run demo\` | plays [a burst of 64 rollouts](demo.md) in which sandboxes are killed |
| \`npm run gallery\` | makes [environments that run on real input](gallery.md), and plays their ladders and attacks |
| \`npm run load -- --url U --key K\` | plays [a burst at an installed fleet](load-tests.md), and checks the fleet's promises |
| \`npm run bench\` | measures what Corral costs, each figure next to its floor |
| \`npm test\` | runs [the tests](contributing.md#change-test-check) |
`;

/** docs/commands.md, whole: each command's own help. */
export function commandsPage(): string {
  const program = createProgram({ result: () => undefined, remark: () => undefined, width: 80 });
  const commands = program.commands.flatMap(withSubcommands);
  const rows = commands.map(
    (command) => `| [\`${pathOf(command)}\`](#${anchorOf(command)}) | ${command.description()} |`,
  );
  const summary = ['| command | what it does |', '| --- | --- |', ...rows].join('\n');
  const sections = commands.map((command) => `## ${pathOf(command)}\n\n\`\`\`\n${helpOf(command)}\n\`\`\`\n`);
  return `${head}\n${summary}\n\n${sections.join('\n')}`;
}

const withSubcommands = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(withSubcommands);

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

const anchorOf = (command: Command): string => pathOf(command).replaceAll(' ', '-');

/** As `--help` prints it, with the text that a command adds after its options. */
function helpOf(command: Command): string {
  let help = '';
  const writeOut = (text: string) => (help += text);
  command.configureOutput({ writeOut, getOutHelpWidth: () => 80, getOutHasColors: () => false });
  command.outputHelp();
  return help.trimEnd();
}
