import { refuseUnmet } from '../failure/requirements-unmet.ts';
import type { Amounts, DemandedAmounts } from '../model/amounts.ts';
import {
  type Environment,
  type Image,
  isOpenTemplate,
  type OpenTemplate,
  type Template,
} from '../model/environment.ts';
import type { Item } from '../model/grader.ts';
import type { TemplateChoice } from '../model/template-choice.ts';
import { decideAmounts } from './demanded-amounts.ts';
import { digestOf } from './digest.ts';
import { raiseAmounts } from './raise-amounts.ts';
import { imageOfRow } from './row-image.ts';

type Choosing = Pick<
  Environment,
  'name' | 'version' | 'template' | 'graderTemplate' | 'demands' | 'ceilings'
>;

/** `choice`: what controllers need to make the template; null: it is the environment's own. */
export type ChosenTemplate = { readonly template: Template; readonly choice: TemplateChoice | null };

/** What a rollout is worked on in. `amounts`: what its task demands, whether the environment has it or not; null: nothing. */
export type ChosenTemplates = ChosenTemplate & { readonly amounts: DemandedAmounts | null };

/**
 * The template of a rollout that is opened: the environment's own, with the image that its dataset row names and the amounts
 * that the row and its trainer (`required`) demand. Pure, so that every gateway gets the same. Whether a grader elsewhere can have
 * its own is checked here, too, because nothing may bar the grade later.
 *
 * Throws `item_missing` where the row lacks what is needed, `invalid_request` for an image that may not be or a demand that is
 * not an amount, and `requirements_unmet` for more than there is.
 */
export function chooseTemplate(
  environment: Choosing & Pick<Environment, 'pool'>,
  item: Item | null,
  required: Amounts = {},
): ChosenTemplates {
  const { name, version, template, graderTemplate } = environment;
  const image = imageFor(name, template, item);
  if (graderTemplate !== undefined) imageFor(name, graderTemplate, item);
  const { amounts, unmet } = decideAmounts(environment, item, required);
  refuseUnmet(unmet);
  return {
    ...make(version, template, image, amounts),
    amounts: Object.keys(amounts).length > 0 ? amounts : null,
  };
}

/**
 * The template of a rollout that is open: what was allowed when it was opened stays allowed. Null where its row, which names the
 * image, is gone.
 */
export function chooseAgain(
  { name, version, template }: Choosing,
  item: Item | null,
  amounts: DemandedAmounts | null,
): ChosenTemplate | null {
  return again(name, version, template, item, amounts);
}

/** The same of a grader that works where the policy never was; null, too, where the environment has none. */
export function chooseForGrader(
  { name, version, graderTemplate }: Choosing,
  item: Item | null,
  amounts: DemandedAmounts | null,
): ChosenTemplate | null {
  return graderTemplate === undefined ? null : again(name, version, graderTemplate, item, amounts);
}

/** What a controller makes of a choice; null if the environment leaves nothing of it open. */
export function templateOf(
  { template, graderTemplate }: Pick<Choosing, 'template' | 'graderTemplate'>,
  { image, amounts = {}, role }: TemplateChoice,
): Template | null {
  const base = role === 'grader' ? graderTemplate : template;
  if (base === undefined || isOpenTemplate(base) !== (image !== undefined)) return null;
  return complete(base, image ?? null, amounts);
}

/** Null where the template has an image of its own. */
const imageFor = (environment: string, base: Template | OpenTemplate, item: Item | null): Image | null =>
  isOpenTemplate(base) ? imageOfRow(environment, base.image, item) : null;

/** The operator's list is not asked again: one that became shorter bars no grade of a rollout that is under way. */
function again(
  name: Choosing['name'],
  version: Choosing['version'],
  base: Template | OpenTemplate,
  item: Item | null,
  amounts: DemandedAmounts | null,
): ChosenTemplate | null {
  if (!isOpenTemplate(base)) return make(version, base, null, amounts ?? {});
  if (item === null) return null;
  const image = imageOfRow(name, { ...base.image, permitted: ['*'] }, item);
  return make(version, base, image, amounts ?? {});
}

function make(
  version: Choosing['version'],
  base: Template | OpenTemplate,
  image: Image | null,
  amounts: DemandedAmounts,
): ChosenTemplate {
  const template = complete(base, image, amounts);
  const isRaised = raiseAmounts(base, amounts) !== base;
  if (image === null && !isRaised) return { template, choice: null };
  const choice = {
    version,
    ...(image !== null && { image }),
    ...(isRaised && { amounts }),
    ...(base.role === 'grader' && { role: base.role }),
  };
  return { template, choice };
}

function complete(base: Template | OpenTemplate, image: Image | null, amounts: DemandedAmounts): Template {
  if (isOpenTemplate(base)) {
    if (image === null) throw new TypeError('a template whose rows name the image is made without one');
    return withDigest({ ...raiseAmounts(base, amounts), image });
  }
  const raised = raiseAmounts(base, amounts);
  if (raised === base) return base;
  const { digest: _before, ...body } = raised;
  return withDigest(body);
}

const withDigest = (body: Omit<Template, 'digest'>): Template => ({ digest: digestOf(body), ...body });
