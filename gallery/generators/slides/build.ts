import { copyFileSync, cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/* Builds what tools and graders run in the folder that CORRAL_DATA names: the measures, the fonts, and this Node. */

const data = process.env['CORRAL_DATA'] ?? '';
const own = join(data, 'slides');
cpSync(join(import.meta.dirname, 'bench'), join(own, 'bench'), { recursive: true });
copyFileSync(process.execPath, join(data, 'node'));

/** The only fonts of every deck, so that its words have the same places on every machine: Debian's fonts-dejavu-core. */
const fonts = ['Sans', 'Sans-Bold', 'SansMono', 'SansMono-Bold', 'Serif', 'Serif-Bold'];
mkdirSync(join(own, 'fonts'));
for (const font of fonts) {
  const file = `DejaVu${font}.ttf`;
  copyFileSync(join('/usr/share/fonts/truetype/dejavu', file), join(own, 'fonts', file));
}
copyFileSync(join(import.meta.dirname, 'fonts.conf'), join(own, 'fonts/fonts.conf'));
process.stdout.write(`${fonts.length} fonts\n`);
