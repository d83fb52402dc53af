/* docs/walk-through.md: sentences that people write, and between them what a play of it printed. */

/** In the order of the page. */
export const scenes = [
  'what happened when',
  'the alerts',
  'corral top',
  'the dashboard',
  'the first look',
  'the rollout',
  'its trace',
  'the run',
  'what the trainer learns',
] as const;

export type Scene = (typeof scenes)[number];
/** What each scene printed, without a line end at its end. */
export type Scenes = Readonly<Record<Scene, string>>;

const blockOf = (scene: Scene) => new RegExp(`(<!-- played: ${scene} -->\n\`\`\`text\n)([^]*?)(\n\`\`\`\n)`);

/** What the page has of a scene. Throws where it has no such block. */
export function sceneOf(page: string, scene: Scene): string {
  const text = blockOf(scene).exec(page)?.[2];
  if (text === undefined) throw new Error(`the page has no block for the scene: ${scene}`);
  return text;
}

/** The page with these scenes in place of those that it has. */
export function withScenes(page: string, played: Scenes): string {
  return scenes.reduce((text, scene) => {
    sceneOf(text, scene);
    // A function, since what was played may have `$` in it.
    return text.replace(
      blockOf(scene),
      (_, before: string, _old, after: string) => before + played[scene] + after,
    );
  }, page);
}
