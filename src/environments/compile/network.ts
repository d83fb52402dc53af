import type { TemplateBody } from '#src/model/environment.ts';
import { type Mirrors, mirrorsNetwork, mostMirrorAddresses } from '#src/model/mirrors.ts';
import type { Path, Report } from '../mistakes.ts';
import type { SandboxYaml } from '../schema/sandbox.ts';

/** What a sandbox can reach: nothing, a network class by its name, or package registries. */
export function compileNetwork(
  { network = 'none' }: SandboxYaml,
  report: Report,
): Pick<TemplateBody, 'network' | 'mirrors'> {
  if (typeof network === 'string') return { network };
  const place = ['sandbox', 'network', 'mirrors'];
  const entries = Object.entries(network.mirrors).map(
    ([name, written]) =>
      [name, [written].flat().map((each) => compileAddress(each, [...place, name], report))] as const,
  );
  const count = entries.reduce((sum, [, addresses]) => sum + addresses.length, 0);
  if (count > mostMirrorAddresses)
    report(place, `has ${count} addresses, and a sandbox has at most ${mostMirrorAddresses}`);
  const mirrors: Mirrors = Object.fromEntries(entries);
  return { network: mirrorsNetwork, mirrors };
}

/** As URLs are normally written, so that it can be compared with what the operator allows. */
function compileAddress(written: string, place: Path, report: Report): string {
  const url = URL.canParse(written) ? new URL(written) : null;
  const mistake = url === null ? notAnAddress : mistakeIn(url);
  if (mistake === null && url !== null) return withSlash(url.href);
  report(place, mistake ?? notAnAddress);
  return written;
}

const notAnAddress = 'must be http://… or https://…';

function mistakeIn(url: URL): string | null {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return notAnAddress;
  if (url.username !== '' || url.password !== '')
    return 'must not hold a user or a password, because it is kept with the environment; name a mirror that needs none';
  return url.search === '' && url.hash === '' ? null : 'must end with its path, without ? and #';
}

export const withSlash = (address: string): string => (address.endsWith('/') ? address : `${address}/`);
