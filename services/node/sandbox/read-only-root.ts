import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Template } from '#src/model/environment.ts';
import { linksToCopies } from '../bwrap/host-etc.ts';
import { copiesFolder, emptyFile, listFolder, listHostRoot } from '../bwrap/host-root.ts';
import { type Kept, notCovered } from '../bwrap/host-settings.ts';
import { places } from '../bwrap/places.ts';
import { layOutRoot, type RootStep } from '../bwrap/root-layout.ts';
import { type EtcPlan, etcFilesOf, inEtc, planEtc, writeSandboxEtc } from './own-etc.ts';
import type { Made, Rooted } from './root-plan.ts';
import { type SiteFolders, type Sources, stageSources } from './stage.ts';
import { type WritablePlace, writablePlaces } from './writable-places.ts';

/** What such a root takes from its node. */
type ReadOnlySite = SiteFolders & {
  readonly kept: readonly Kept[];
  /** Whether launches can lay folders one above the other. */
  readonly canLayer: boolean;
};

/** A root that commands cannot write: this host's programs or an image's, with each writable place as a mount of its own. */
export function readOnlyRoot(made: Made, site: ReadOnlySite, idBase: number | null): Rooted {
  const { template, folder, users, etc } = made;
  const writable = writablePlaces(template, users, rootFolderOf(template), made.image);
  writeSandboxEtc(folder.etc, etc);
  const names = Object.keys(etc);
  const targets = targetsOf(template);
  const etcPlan = planEtc(names, template.image, { targets, canLayer: site.canLayer });
  const { sources, mounts } = stageSources(template, folder, site, { users, idBase, etcPlan, writable });
  const root = {
    overlay: null,
    root: [...rootOf(template, sources, etcPlan, { ownEtc: names, writable }), ...linksOf(template, site)],
    writable,
    etc: etcFilesOf(template.image, sources, etcPlan, names),
    kept: template.image.kind === 'host' ? notCovered(site.kept, targets).filter(isStillThere) : [],
    emptyFile: join(sources.etc, emptyFile),
    payloadFolder: sources.payload,
    data: sources.data,
    runFolder: sources.run,
    diskFolder: mounts?.disk.folder ?? null,
    terminalsFolder: sources.terminals,
  };
  return { root, mounts };
}

/** Of programs of this host, to copies of their settings. */
const linksOf = (template: Template, { etcFolder }: SiteFolders) =>
  template.image.kind === 'host' ? linksToCopies(join(etcFolder, copiesFolder), targetsOf(template)) : [];

const rootFolderOf = ({ image }: Template) => (image.kind === 'rootfs' ? image.path : null);

/** `sources.image` is where the launch finds the template's root folder; its names are read where they are now. */
function rootOf(
  template: Template,
  { image, layers }: Pick<Sources, 'image' | 'layers'>,
  etcPlan: EtcPlan,
  { ownEtc, writable }: { readonly ownEtc: readonly string[]; readonly writable: readonly WritablePlace[] },
): readonly RootStep[] {
  const targets = [...mountPoints, ...writable.map(({ target }) => target), ...targetsOf(template)];
  if (template.image.kind !== 'rootfs' || image === null) return layOutRoot('/', targets, listHostRoot);
  const { path } = template.image;
  const list = (staged: string) => listFolder(join(path, staged.slice(image.length)));
  if (layers === null) {
    const made = etcPlan === 'anew' ? ownEtc.map(inEtc) : [];
    return layOutRoot(image, [...targets, ...made], list);
  }
  return [...layOutRoot(image, [...targets, '/etc'], list), { kind: 'bind', source: layers, target: '/etc' }];
}

/** An upgrade of the host may have taken it away, and nothing can be made in its place. */
export const isStillThere = ({ path }: Kept) => existsSync(path);

const targetsOf = ({ data, folders = [] }: Template) => [...data.map(({ target }) => target), ...folders];

const mountPoints = [places.payload, places.grader, places.daemon, '/proc', '/dev', '/sys'];
