import { Type } from 'typebox';

const byte = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`;
const ipv4 = String.raw`(?:${byte}\.){3}${byte}\/(?:3[0-2]|[12]?\d)`;
/** Loose: what is no address in spite of it is refused by the API server when the policy is created. */
const ipv6 = String.raw`[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*\/(?:12[0-8]|1[01]\d|[1-9]?\d)`;

export const Cidr = Type.String({
  pattern: `^(?:${ipv4}|${ipv6})$`,
  description: 'a range of addresses such as 10.0.0.0/8 or 2001:db8::/32',
});

export const EgressPort = Type.Union(
  [
    Type.Integer({ minimum: 1, maximum: 65_535 }),
    Type.String({ pattern: String.raw`^[1-9]\d{0,4}\/(?:tcp|udp)$` }),
  ],
  { description: 'a port such as 443, which is TCP, or 53/udp' },
);
