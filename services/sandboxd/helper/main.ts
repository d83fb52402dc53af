/**
 * The helper: one request as the command's own user, then the end. Arguments: the workspace, what to do, and its object.
 *
 *   tool NAME   a built-in tool; its arguments as JSON on stdin, its text on stdout
 *   put PATH    stdin becomes the file; the number of bytes as JSON on stdout
 *   get PATH    the file on stdout
 *   probe       nothing but a look whether the workspace can be written
 *
 * A fault of the request exits 1, its reason on stderr: for the model as `Error: …`, for sandboxd as JSON with errno.
 */
import { accessSync, constants } from 'node:fs';

async function main([workspace = '/', task = '', object = '']: readonly string[]): Promise<number> {
  enter(workspace);
  switch (task) {
    case 'tool': {
      const { runTool } = await import('./run-tool.ts');
      return runTool(object);
    }
    case 'put': {
      const { putFile } = await import('./put-file.ts');
      return putFile(object);
    }
    case 'get': {
      const { getFile } = await import('./get-file.ts');
      return getFile(object);
    }
    case 'probe':
      accessSync(workspace, constants.W_OK | constants.X_OK);
      return 0;
    default:
      throw new Error(`no such task for the helper: ${task}`);
  }
}

/** Relative paths are below the workspace. A user who locked himself out of it can still name others. */
function enter(workspace: string): void {
  try {
    process.chdir(workspace);
  } catch {
    // Each relative path then fails by itself, with the reason the user would see.
  }
}

void main(process.argv.slice(2)).then((exitCode) => (process.exitCode = exitCode));
