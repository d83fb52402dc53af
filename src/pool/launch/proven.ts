import type { TemplateDigest } from '#src/model/ids.ts';

/** Templates of which this controller has seen a sandbox pass the whole probe. */
export type ProvenTemplates = {
  has(template: TemplateDigest): boolean;
  add(template: TemplateDigest): void;
};

/** Where every row has an image, templates are many; one that was forgotten is only probed wholly once more. */
const mostRemembered = 10_000;

export function createProvenTemplates(): ProvenTemplates {
  const digests = new Set<TemplateDigest>();
  return {
    has: (template) => digests.has(template),
    add: (template) => {
      if (digests.size >= mostRemembered) digests.clear();
      digests.add(template);
    },
  };
}
