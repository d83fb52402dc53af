import { type Command, Help, type Option } from 'commander';
import { createProgram } from '#cli/program.ts';

const head = `<!-- Written by tools/write-commands-page.ts from cli/. Change the commands there. -->

# Commands

In a checkout a command is \`npm run corral -- COMMAND\`, or \`bin/corral COMMAND\`, which prints nothing else. An installed release has \`corral COMMAND\`. The checkout also has [scripts](contributing.md#change-test-check).
`;

const sharedHead = `## Shared options

\`corral COMMAND --help\` prints them with each command that takes them.
`;

/** docs/commands.md, whole: each command's own help, and once the options that many commands share. */
export function commandsPage(): string {
  const program = createProgram({ result: () => undefined, remark: () => undefined, width: 80 });
  const commands = program.commands.flatMap(withSubcommands);
  const rows = commands.map(
    (command) => `| [\`${pathOf(command)}\`](#${anchorOf(command)}) | ${command.description()} |`,
  );
  const summary = ['| command | what it does |', '| --- | --- |', ...rows].join('\n');
  const shared = sharedOptions(commands);
  const sections = commands.map((command) => sectionOf(command, shared));
  return `${head}\n${summary}\n\n${sharedHead}\n${sharedTable(shared)}\n\n${sections.join('\n')}`;
}

const withSubcommands = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(withSubcommands);

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

const anchorOf = (command: Command): string => pathOf(command).replaceAll(' ', '-');

const sharingCommands = 4;
const help = new Help();
const identityOf = (option: Option): string => `${option.flags} ${help.optionDescription(option)}`;

/** Options that several commands have, word for word. */
function sharedOptions(commands: readonly Command[]): ReadonlyMap<string, Option> {
  const options = commands.flatMap((command) => command.options);
  const isShared = (option: Option) =>
    options.filter((other) => identityOf(other) === identityOf(option)).length >= sharingCommands;
  return new Map(options.filter(isShared).map((option) => [identityOf(option), option]));
}

function sharedTable(shared: ReadonlyMap<string, Option>): string {
  const rows = [...shared.values()].map(
    (option) => `| \`${option.flags}\` | ${help.optionDescription(option)} |`,
  );
  return ['| option | meaning |', '| --- | --- |', ...rows].join('\n');
}

function sectionOf(command: Command, shared: ReadonlyMap<string, Option>): string {
  const taken = command.options.filter((option) => shared.has(identityOf(option)));
  const names = taken.map((option) => `\`${option.long}\``).join(', ');
  const also = taken.length === 0 ? '' : `\n[Shared](#shared-options): ${names}.\n`;
  return `## ${pathOf(command)}\n\n\`\`\`\n${helpOf(command, shared)}\n\`\`\`\n${also}`;
}

/** As `--help` prints it, with the text that a command adds after its options; without shared options. */
function helpOf(command: Command, shared: ReadonlyMap<string, Option>): string {
  let text = '';
  const writeOut = (part: string) => (text += part);
  command.configureOutput({ writeOut, getOutHelpWidth: () => 80, getOutHasColors: () => false });
  const visibleOptions = ({ options }: Command) =>
    options.filter((option) => !option.hidden && !shared.has(identityOf(option)));
  command.configureHelp({ visibleOptions });
  command.outputHelp();
  return text.trimEnd();
}
