/** A defect of a published package, repaired in its next version. */
export type Defect = {
  readonly id: string;
  readonly package: 'avvio' | 'fast-json-stringify' | 'find-my-way';
  readonly from: string;
  readonly to: string;
  /** What a user of the package would report. */
  readonly issue: string;
  /** A test file of the repaired version, and its tests that fail before. */
  readonly file: string;
  readonly fails: readonly string[];
};

const findMyWay = (from: string, to: string, rest: Omit<Defect, 'package' | 'from' | 'to'>): Defect => ({
  package: 'find-my-way',
  from,
  to,
  ...rest,
});
const stringify = (from: string, to: string, rest: Omit<Defect, 'package' | 'from' | 'to'>): Defect => ({
  package: 'fast-json-stringify',
  from,
  to,
  ...rest,
});

/** Rows to evaluate with: a package of their own. */
const routing: readonly Defect[] = [
  findMyWay('9.5.0', '9.6.0', {
    id: 'long-parameter',
    issue:
      'A parameter that is longer than maxParamLength ends the search, although a wildcard route would match. Search on. If no other route matches, call the new option onMaxParamLength(path, req, res) if it is given.',
    file: 'repro-issue-414.test.js',
    fails: [
      'should match wildcard if parametric exceeds maxParamLength',
      'should return custom onMaxParamLength handler if provided and no other route matches',
    ],
  }),
  findMyWay('9.6.0', '9.7.0', {
    id: 'done-twice',
    issue:
      'If several asynchronous constraints fail, lookup calls its done callback once for each. It must call it once.',
    file: 'constraint.custom.async.test.js',
    fails: ['should call done only once when multiple async constraints error'],
  }),
  findMyWay('9.6.0', '9.7.0', {
    id: 'method-constructor',
    issue:
      'find and lookup throw for an HTTP method that is called like a property of every object, such as "constructor". An unknown method has no route: find returns null, and lookup calls the default route.',
    file: 'methods.test.js',
    fails: ['Unsupported method (constructor lookup)', 'Unsupported method (constructor find)'],
  }),
  findMyWay('9.6.0', '9.7.0', {
    id: 'empty-capture',
    issue:
      "A route whose parameter has a regular expression that matches an empty text is not found if the parameter is empty: '/test/:id(^((?!abc).)*$)' must match '/test/', with the parameter ''. Parameters whose expression does not match an empty text must not match.",
    file: 'regex.test.js',
    fails: ['lookup matches empty regex captures'],
  }),
  findMyWay('9.7.0', '9.8.0', {
    id: 'static-between',
    issue:
      'Routes that differ only in the static text between two parameters of one segment, such as /:a-:b and /:a.:b, are taken for the same route. on, find and findRoute must tell them apart; real duplicates must still be rejected.',
    file: 'issue-369.test.js',
    fails: [
      'routes differing only by a static part between parameters are distinct',
      'parameters separated by different static parts do not collide',
      'findRoute distinguishes routes differing only by an interior static part',
      'duplicate routes ending with a parameter are still rejected',
    ],
  }),
  findMyWay('9.7.0', '9.8.0', {
    id: 'printed-expressions',
    issue:
      'prettyPrint shows regular expressions in constraints and in meta data of routes as {}. It must show their source with slashes and flags, as a JSON text: {"host":"/^a$/"}.',
    file: 'pretty-print.test.js',
    fails: [
      'pretty print - regex constraint values are serialized',
      'pretty print - regex values in includeMeta are serialized',
    ],
  }),
  findMyWay('9.8.0', '9.9.0', {
    id: 'absolute-url',
    issue:
      'A request for an absolute URL without a path, such as http://localhost?next=/admin, is routed to the path in its query. It must be routed to / with its query. Schemes may be in capitals. Absolute URLs with an empty host or a fragment must be given to onBadUrl.',
    file: 'full-url.test.js',
    fails: [
      'full-url',
      'lookup preserves the query of an absolute-form target with an empty path',
      'an HTTP server routes an absolute-form target with an empty path to root',
      'invalid HTTP absolute-form targets use the bad URL handler',
    ],
  }),
  findMyWay('9.9.0', '9.10.0', {
    id: 'slashes-in-query',
    issue:
      'With ignoreDuplicateSlashes, repeated slashes in the query string are removed, too: ?u=//x arrives as /x. Only the path may be changed.',
    file: 'issue-240.test.js',
    fails: ['ignoreDuplicateSlashes does not alter the querystring'],
  }),
  findMyWay('9.10.1', '9.10.2', {
    id: 'no-leading-slash',
    issue:
      'The first character of a path is not looked at, so "*admin" and ":admin" match the route /admin. A path that does not start with a slash and is no http or https URL must be given to onBadUrl, with and without the option compile. The asterisk of OPTIONS * alone stays allowed.',
    file: 'full-url.test.js',
    fails: [
      'a path that does not start with a slash is not matched as one (compile: false)',
      'a path that does not start with a slash is not matched as one (compile: true)',
    ],
  }),
];

/** Rows to learn from. */
const serializing: readonly Defect[] = [
  stringify('6.1.0', '6.1.1', {
    id: 'quotes',
    issue: 'Longer strings with quotes or backslashes in them become invalid JSON.',
    file: 'issue-794.test.js',
    fails: [
      'serialize error-like object with quotes in message - issue #794',
      'serialize validation errors array with quotes - issue #794',
      'serialize string with backslashes and quotes - issue #794',
    ],
  }),
  stringify('7.0.0', '7.0.1', {
    id: 'comma-of-additional',
    issue:
      'A schema with required keys that properties does not declare, and with additionalProperties, gives {,"a":1}: a comma too much.',
    file: 'additionalProperties.test.js',
    fails: [
      'required + additionalProperties without declared properties produces valid JSON',
      'required key not in properties + additionalProperties produces valid JSON',
    ],
  }),
  stringify('7.0.0', '7.0.1', {
    id: 'comma-of-patterns',
    issue:
      'A schema with a required key that properties does not declare, and with patternProperties, gives {,"s_x":"x"}: a comma too much.',
    file: 'patternProperties.test.js',
    fails: ['required key not in properties + patternProperties produces valid JSON'],
  }),
  stringify('7.0.1', '7.1.0', {
    id: 'leaked-property',
    issue:
      'With additionalProperties: false and patternProperties, properties that match no pattern are serialized. They must be left out, as without patterns.',
    file: 'additionalProperties.test.js',
    fails: [
      'additionalProperties set to false ignores properties not matched by patternProperties',
      'additionalProperties set to false without declared properties ignores unmatched properties',
    ],
  }),
  stringify('7.0.1', '7.1.0', {
    id: 'dates-unescaped',
    issue:
      'A text in a field of format date, time or date-time is written without escapes, so that it may add properties. It must be escaped as every text.',
    file: 'date.test.js',
    fails: ['should escape strings that are not valid dates'],
  }),
  stringify('7.0.1', '7.1.0', {
    id: 'object-or-array',
    issue:
      'With type: [object, array], an array is serialized as an object. An array must be serialized as an array, whichever type is listed first.',
    file: 'typesArray.test.js',
    fails: [
      'multi-type object listed before array serializes array input as an array',
      'multi-type [object, array] round-trips an array of objects (JSON:API data)',
    ],
  }),
  stringify('7.1.1', '7.1.5', {
    id: 'constraints-of-all-of',
    issue:
      'allOf with additionalProperties: false forgets the types and the required keys of properties: a boolean is written as 1, and a missing key is no error.',
    file: 'allof.test.js',
    fails: [
      'allOf keeps property constraints when additional properties are disabled',
      'allOf keeps root and referenced property constraints with additionalProperties false',
    ],
  }),
  stringify('7.3.1', '7.3.2', {
    id: 'changed-schema',
    issue:
      'A type list such as [string, null] in the schema of the caller, or in an external schema, is reordered by build(); a frozen one makes it throw. Schemas of the caller must stay as they are.',
    file: 'side-effect.test.js',
    fails: [
      'multi-type schemas should not change the input schema',
      'multi-type schemas should not change an external reference schema',
      'multi-type schemas should support frozen type arrays',
    ],
  }),
  stringify('7.3.4', '7.3.5', {
    id: 'time-of-far-years',
    issue:
      'A Date whose year has more than four digits or is negative gives a wrong text for format time: "12T23:59" for 00:00:00. The time must be right in every year.',
    file: 'date.test.js',
    fails: ['render a time in a string when the year needs the ISO 8601 expanded notation'],
  }),
  stringify('7.3.6', '7.3.10', {
    id: 'read-once',
    issue:
      'Additional properties are read twice from the object, so that a getter runs twice. Each value must be read once.',
    file: 'additionalProperties.test.js',
    fails: ['extra properties read each value once'],
  }),
  {
    package: 'avvio',
    from: '9.3.0',
    to: '9.3.1',
    id: 'names-of-promises',
    issue:
      'A plugin that is a promise of a module, as of import(), is called "[object Promise]". It must get the name of its metadata (Symbol.for("plugin-meta")) or of its function as soon as it is resolved.',
    file: 'plugin-name.test.js',
    fails: [
      'thenable plugins get a name from the resolved plugin metadata if it is set',
      'thenable plugins get a name from the resolved function name if theres no name in the options and no metadata',
    ],
  },
  {
    package: 'avvio',
    from: '9.3.0',
    to: '9.3.1',
    id: 'code-of-loaded-parent',
    issue:
      'A plugin that is added to a parent that is loaded already throws an error without a code. It must be the AVV_ERR_PARENT_PLG_LOADED that the package declares.',
    file: 'errors.test.js',
    fails: ['adding plugin to loaded current plugin throws'],
  },
];

export const defects = { train: serializing, eval: routing } as const;

export const everyDefect: readonly Defect[] = [...serializing, ...routing];
