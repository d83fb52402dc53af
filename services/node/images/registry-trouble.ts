import { Failure } from '#src/failure/failure.ts';
import type { Ended } from './confined.ts';
import { endsInMachineTrouble } from './machine-trouble.ts';
import { platform } from './manifest.ts';
import { quoted } from './quoted.ts';
import type { Source } from './reference.ts';

const otherCredentials = 'the registry wants other credentials than CORRAL_IMAGE_AUTH_FILES has for it';
const noCredentials =
  'the registry wants credentials, and a row’s image gets them only if a pattern of sandbox.image.allow begins with its registry';

/**
 * What a registry answers if it does not have an image, or does not give it to these credentials: codes of the distribution
 * specification, as skopeo writes them.
 */
const refusals: Readonly<Record<string, string>> = {
  'manifest unknown': 'the registry has no such image',
  'name unknown': 'the registry has no such repository',
  'name invalid': 'the registry has no such repository',
  unauthorized: otherCredentials,
  denied: otherCredentials,
};

/**
 * A failed read as a Failure. `image_unavailable` ends the launches of a whole burst, so only the registry's codes make it, and only in
 * their place. Its free text is quoted: it could say anything, also by mistake. The sender of a row may have chosen a registry that leads
 * on to an address of this machine's network; what that answers is for the log only (`cause`).
 */
export function troubleOf(reference: string, source: Source, ended: Ended): Failure {
  const about = `the image ${reference} is not available`;
  const evidence = { image: reference };
  const message = fatalMessage(ended.words);
  const refusal = refusalIn(message, source);
  if (refusal !== null) return new Failure('image_unavailable', `${about}: ${refusal}`, { evidence });
  const why =
    ended.stopped ?? (source.archive === null ? 'it could not be read' : 'the archive could not be read');
  const said = quoted(message ?? ended.words);
  const sentence = `${about}: ${why}${source.isAnonymous ? inLog : said}`;
  if (source.archive !== null && ended.code === 1 && isOfArchive(message))
    return new Failure('image_unavailable', sentence, { evidence });
  return new Failure('provider_unavailable', sentence, { evidence, retryAfterMs: 1000, cause: said });
}

const inLog = '; the log of node has what the registry answered';

/** An archive is what it is, if it was skopeo that could not read it. */
const isOfArchive = (message: string | null) => message !== null && !endsInMachineTrouble(message);

/** The text of skopeo's last line, which is logrus's: `level=fatal msg="…"`. */
function fatalMessage(words: string): string | null {
  const line = words.split('\n').findLast((each) => each.includes(' level=fatal msg="'));
  const text = line?.slice(line.indexOf('msg=') + 'msg='.length) ?? '';
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

/** skopeo's own words about an image for several machines, which begin the message. */
const noneForThisMachine = 'Error parsing manifest for image: choosing image instance: no image found in ';

/** `skopeo's words "NAME": reading manifest TAG in REPOSITORY: CODE: the registry's free text` */
function refusalIn(message: string | null, { name, registry, isAnonymous }: Source): string | null {
  if (message?.startsWith(noneForThisMachine) === true) return `it has no image for ${platform}`;
  const said = afterName(message ?? '', name);
  if (isUnknownHost(said, registry)) return `no machine has the name of its registry, ${registry}`;
  const answer = afterStage(said);
  const code = Object.keys(refusals).find((each) => answer === each || answer.startsWith(`${each}: `));
  const refusal = code === undefined ? null : (refusals[code] ?? null);
  return isAnonymous && refusal === otherCredentials ? noCredentials : refusal;
}

/** Words of this machine, because no registry was reached that could say them. */
const isUnknownHost = (said: string, registry: string | null) =>
  said.startsWith(`pinging container registry ${registry}: Get "`) &&
  said.includes('": dial tcp: lookup ') &&
  said.endsWith(': no such host');

const ofManifest = 'reading manifest ';
/** The answer of the server that gives tokens, which is the registry's. */
const ofToken = 'unable to retrieve auth token: invalid username/password: ';

/** The name of the image is ours, so it is known where skopeo's own words before it end. */
const afterName = (message: string, name: string): string =>
  splitAt(message.replace(`${name}":`, `${name}:`), `${name}: `)[1];

/** What the registry answered. */
function afterStage(said: string): string {
  if (said.startsWith(ofToken)) return said.slice(ofToken.length);
  return said.startsWith(ofManifest) ? splitAt(said, ': ')[1] : '';
}

function splitAt(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}
