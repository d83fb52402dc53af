import { longestProbeWaitMs } from '#src/model/dependency.ts';
import type { Environment, Limits, Tool } from '#src/model/environment.ts';
import { graderFields, reservedField, type GraderLeaf, graderLeaves } from '#src/model/grader-leaves.ts';
import type { CallSelector } from '#src/model/grader.ts';
import { longestGradeMs } from '#src/model/grading-time.ts';
import { environmentName } from '#src/model/ids.ts';
import { longestLifeMs } from '#src/protocol/sandboxd/wire.ts';
import { versionOf } from '../digest.ts';
import type { Folder } from '../files-read.ts';
import type { Report } from '../mistakes.ts';
import { productionTimings } from '#src/model/timings.ts';
import { parseDurationMs } from '../quantities.ts';
import type { EnvironmentYaml } from '../schema/environment.ts';
import { splicedScript, unknownPlaceholder } from './command-rules.ts';
import { compileDataset } from './dataset.ts';
import { checkArtifacts, checkGraderApart, graderTemplateOf } from './grader-sandbox.ts';
import { compileGrader } from './grader.ts';
import { checkIndexes } from './index-tool.ts';
import { compilePool } from './pool.ts';
import { compileDemands, compileTemplate } from './template.ts';
import { compileSessions } from './sessions.ts';
import { compileTexts } from './texts.ts';
import { compileTools, longestTimeoutMs } from './tools.ts';

/** An environment from its YAML, which has the right shape. What else is wrong is reported; the result counts only if nothing was. */
export function compileEnvironment(yaml: EnvironmentYaml, folder: Folder, report: Report): Environment {
  const expose = yaml.expose ?? [];
  const grader = compileGrader(yaml.grader, { place: ['grader'], folder, report });
  const environment = {
    name: environmentName(yaml.name),
    description: yaml.description ?? '',
    template: compileTemplate(yaml.sandbox, folder, report),
    ...graderTemplateOf(yaml, grader, folder, report),
    ...compileDemands(yaml.sandbox),
    setup: compileSetup(yaml, expose, report),
    expose,
    tools: { ...compileTools(yaml.tools ?? {}, expose, report), ...compileSessions(yaml, report) },
    limits: compileLimits(yaml),
    grader,
    unseenCalls: yaml.unseen_calls ?? 'discard',
    onTooLong: yaml.on_too_long ?? 0,
    texts: compileTexts(yaml.texts ?? {}, report),
    pool: compilePool(yaml, grader, report),
    ...compileKeep(yaml),
    ...waivesOf(yaml),
    // Left out where it is left out, so that versions stay what they were.
    ...(yaml.dataset && { dataset: compileDataset(yaml.dataset, graderFields(grader), { folder, report }) }),
  };
  if (Object.keys(environment.tools).length === 0 && yaml.grader.kind !== 'none') {
    report(
      ['tools'],
      'is missing: only where the trainer grades by itself (grader: {kind: none}) no tool is needed',
    );
  }
  checkIndexes(environment, report);
  checkExposed(environment, report);
  checkTimes(environment, report);
  checkCallsGraded(environment, report);
  checkArtifacts(environment, report);
  checkGraderApart(environment, report);
  return { ...environment, version: versionOf(environment, yaml) };
}

/** Booleans are what files of version 0.2 wrote, and what YAML 1.1 makes of `no`. */
function compileKeep({ keep }: EnvironmentYaml): Pick<Environment, 'keep'> {
  if (keep === 'all') return { keep };
  return keep === 'graded' || keep === true ? { keep: true } : {};
}

function waivesOf({ sandbox }: EnvironmentYaml): Pick<Environment, 'waives'> {
  const writableWorkdir = sandbox.workdir === 'read_only';
  const network = sandbox.network_waived === true;
  if (!writableWorkdir && !network) return {};
  return { waives: { ...(network && { network }), ...(writableWorkdir && { writableWorkdir }) } };
}

function compileSetup({ setup = [] }: EnvironmentYaml, expose: readonly string[], report: Report) {
  const { commands, timeout } = Array.isArray(setup) ? { commands: setup, timeout: undefined } : setup;
  for (const [index, argv] of commands.entries()) {
    const place = Array.isArray(setup) ? ['setup', index] : ['setup', 'commands', index];
    for (const broken of [unknownPlaceholder(argv, [], expose), splicedScript(argv)]) {
      if (broken !== null) report(place, broken);
    }
  }
  const timeoutMs = parseDurationMs(timeout ?? '60s');
  if (commands.length * timeoutMs > longestSetupMs) {
    const place = Array.isArray(setup) ? ['setup'] : ['setup', 'timeout'];
    report(
      place,
      `takes up to ${(commands.length * timeoutMs) / 60_000} min: its commands, each with the timeout, may take ${longestSetupMs / 60_000} min together, for as long as platforms repeat a first call`,
    );
  }
  return { commands, timeoutMs };
}

/** As long as a platform repeats a first call: four requests. */
const longestSetupMs = 4 * productionTimings.requestHoldMs;

/** What the model can read in its sandbox is no test of it. */
function checkExposed({ expose, grader }: Pick<Environment, 'expose' | 'grader'>, report: Report): void {
  const read = graderFields(grader);
  for (const [index, field] of expose.entries()) {
    if (field === reservedField) {
      report(
        ['expose', index],
        `exposes ${field}, the field of what is tried on a row: the model could read the reference`,
      );
    }
    if (read.includes(field)) {
      report(
        ['expose', index],
        `exposes ${field}, which the grader compares with: the model could read the answer`,
      );
    }
  }
}

/** Reasons for the numbers: docs/environments.md, "Limits". */
function compileLimits({ limits = {} }: EnvironmentYaml): Limits {
  return {
    toolCalls: limits.tool_calls ?? 40,
    outputBytes: limits.output_bytes ?? 65_536,
    rolloutMs: parseDurationMs(limits.rollout ?? '30m'),
    idleMs: parseDurationMs(limits.idle ?? '15m'),
    gradeMs: parseDurationMs(limits.grade ?? '30m'),
    hardLifeMs: parseDurationMs(limits.hard_life ?? '2h'),
  };
}

/**
 * Times that a policy can use up must fit into those at whose end a rollout is discarded: else it need only be slow. It
 * may call until its own time is over, let that last call run to its timeout, and leave what makes the grader slow. One timeout
 * is enough, however many calls it queues: none of them starts after its time (`calls/start-bound.ts`).
 */
function checkTimes({ limits, tools, ...graded }: Timed, report: Report): void {
  const gradingMs = longestGradeMs(graded);
  if (limits.gradeMs < gradingMs) {
    report(
      ['limits', 'grade'],
      `must be at least ${gradingMs / 1000} s, the longest that the grader's parts may take together: a policy that makes them slow would have its rollout discarded, instead of what on_timeout says`,
    );
  }
  const lastCallMs = Math.max(0, ...Object.values(tools).map(longestCallMs));
  if (limits.hardLifeMs > longestLifeMs) {
    report(
      ['limits', 'hard_life'],
      `must be at most ${longestLifeMs / 3_600_000} h: no sandbox takes a rollout for longer`,
    );
  }
  const lifeMs = limits.rolloutMs + lastCallMs + limits.gradeMs;
  if (limits.hardLifeMs < lifeMs) {
    report(
      ['limits', 'hard_life'],
      `must be at least ${lifeMs / 1000} s, rollout with a last call and the grade: a policy that is slow would have its sandbox end under its grade`,
    );
  }
}

/** With the wait for a probe. A second run does not start after the rollout's time either, so it adds no timeout. */
function longestCallMs({ timeoutMs, run }: Tool): number {
  const dependency = run.kind === 'command' ? run.dependency : undefined;
  return Math.min(timeoutMs, longestTimeoutMs) + (dependency ? longestProbeWaitMs(dependency) : 0);
}

type Timed = Pick<Environment, 'limits' | 'tools'> & Parameters<typeof longestGradeMs>[0];

/** A grader that waits for calls of a tool, or an argument, that nobody has gives 0 for ever; so that is a mistake. */
function checkCallsGraded({ grader, tools }: Pick<Environment, 'grader' | 'tools'>, report: Report): void {
  for (const { tool, argument } of graderLeaves(grader).flatMap(selectorsOf)) {
    const known = Object.hasOwn(tools, tool) ? tools[tool] : undefined;
    if (known === undefined && tool !== trainersOwn)
      report(['grader'], `looks at calls of ${tool}, which is no tool here`);
    const properties = known?.parameters['properties'];
    if (argument === undefined || typeof properties !== 'object' || properties === null) continue;
    if (!Object.hasOwn(properties, argument))
      report(['grader'], `looks at ${argument} of ${tool}, which is no parameter of it`);
  }
}

/** What the trainer runs by itself on the native face goes by this name. */
const trainersOwn = 'exec';

function selectorsOf(leaf: GraderLeaf): readonly CallSelector[] {
  if (leaf.kind !== 'calls') return [];
  return leaf.asks === 'opened' ? leaf.tools : [...leaf.edits, ...leaf.checks];
}
