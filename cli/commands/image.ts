import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import { type Unpacked, unpackImage } from '../image/unpack.ts';
import { bytes } from '../print/amounts.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { docsPage } from '#src/platform/docs.ts';

type UnpackOptions = { readonly to?: string; readonly json: boolean };

export function addImageCommand(program: Command, terminal: Terminal): void {
  const image = program.command('image').description('images as folders, for sandboxes of one machine');
  image
    .command('unpack')
    .description('unpack an image’s archive into a folder, with the image’s ENV, WORKDIR and USER next to it')
    .argument('<file>', 'archive of docker save, or an OCI layout in one tar')
    .option('--to <folder>', 'folder to create (default: the file’s name without .tar, in this folder)')
    .option('--json', 'print data instead of text', false)
    .addHelpText(
      'after',
      `\nNeeds no fleet. Run it as root to keep the owners of files. See ${docsPage('clients/harbor.md')}.`,
    )
    .action(async (file: string, { to, json }: UnpackOptions) => {
      const folder = resolve(to ?? folderFor(file));
      const unpacked = await unpackImage(file, folder, (words) => terminal.remark(words));
      show(terminal, json, unpacked, describe);
    });
}

const folderFor = (file: string) => basename(file).replace(/\.(?:oci|tar)$/, '');

function describe({ folder, config, files, bytes: all, leftOut }: Unpacked): string {
  const devices =
    leftOut === 0 ? '' : `\n${leftOut} devices and pipes were left out: a sandbox has its own /dev`;
  return `${files} files, ${bytes(all)}, as rootfs:${folder}\nconfiguration: ${config}${devices}`;
}
