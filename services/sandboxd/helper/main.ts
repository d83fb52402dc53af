/**
 * The helper: one request as the command's own user, then the end. Arguments: its folder, what to do, and its object.
 *
 *   tool NAME   a built-in tool; its arguments as JSON on stdin, its text on stdout
 *   put PATH    stdin becomes the file; the number of bytes as JSON on stdout
 *   tar-in PATH  the same with an archive that is unpacked below the folder
 *   apply-changes TASK  a line of JSON and a tar on stdin: removes and writes below folders (JSON)
 *   probe WHOSE  nothing but a look whether the workspace can be written, if it is ours
 *   missing PATH PROGRAM…   which of them this user cannot run, as JSON on stdout
 *   lacking FOLDERS          which of these folders this user cannot use as needed, as JSON on stdout
 *   place-grader FOLDER, read-score PATH TOLD…   what a grader finds before its turn, and what it leaves after it
 *   answer-queries          one query a line on stdin, each answered on stdout, to the end of stdin
 *   as-policy SOCKET …   the grader's program of that name: see its file
 *
 * A fault of the request exits 1, its reason on stderr: for the model as `Error: …`, for sandboxd as JSON with errno.
 */
import { accessSync, constants } from 'node:fs';

async function main([folder = '/', task = '', object = '', ...rest]: readonly string[]): Promise<number> {
  process.title = 'sandboxd-helper';
  enter(folder);
  switch (task) {
    case 'tool': {
      const { runTool } = await import('./run-tool.ts');
      return runTool(object);
    }
    case 'put': {
      const { putFile } = await import('./one-file.ts');
      return putFile(object);
    }
    case 'tar-in': {
      const { tarIn } = await import('./tar-in.ts');
      return tarIn(object);
    }
    case 'apply-changes': {
      const { applyChanges } = await import('./apply-changes.ts');
      return applyChanges(object);
    }
    case 'place-grader': {
      const { placeGrader } = await import('./grader-files.ts');
      return placeGrader(object);
    }
    case 'read-score': {
      const { reportScore } = await import('./grader-files.ts');
      return reportScore(object, rest);
    }
    case 'missing': {
      const { reportMissing } = await import('./missing.ts');
      return reportMissing(object, rest);
    }
    case 'lacking': {
      const { reportLacking } = await import('./lacking.ts');
      return reportLacking(object);
    }
    case 'answer-queries': {
      const { answerQueries } = await import('./answer-queries.ts');
      return answerQueries();
    }
    case 'as-policy': {
      const { asPolicy } = await import('./as-policy.ts');
      return asPolicy(object, rest);
    }
    case 'probe':
      if (object === 'ours') accessSync(folder, constants.W_OK | constants.X_OK);
      return 0;
    default:
      throw new Error(`no such task for the helper: ${task}`);
  }
}

/** Relative paths are below it. A user who locked himself out of it can still name others. */
function enter(folder: string): void {
  try {
    process.chdir(folder);
  } catch {
    // Each relative path then fails by itself, with the reason the user would see.
  }
}

void main(process.argv.slice(2)).then((exitCode) => (process.exitCode = exitCode));
