import type { Chance } from '../chance.ts';

/** An invented company. Four of them share the first word of their names, as families of companies do. */
export type Company = {
  readonly name: string;
  readonly ticker: string;
  /** What somebody says who does not know the name: "the gas utility from Duluth". */
  readonly description: string;
  readonly business: string;
  readonly place: string;
  /** A normal year's revenue, in thousands of dollars. */
  readonly size: number;
};

const wordsOf = (text: string): readonly string[] => text.trim().split(/\s+/);

const families = wordsOf(`
    Harlan Corvane Meridell Ostwick Tamarack Bellhaven Quillon Draycott Fenwick Halvorsen Kestrel
    Larkmoor Marlowe Northgate Pembury Redfern Silverton Thornbury Ashgrove Underhill Vantor
    Westmark Yarrow Zephyrine Calloway Dunmore Eastlake Foxglove Granville Hollis Ironbridge
    Juniper Kingsley Lockhart Montrose
  `);

type Business = { readonly surname: string; readonly says: string };

const businesses: readonly Business[] = [
  { surname: 'Gas', says: 'gas utility' },
  { surname: 'Freight', says: 'trucking company' },
  { surname: 'Foods', says: 'packaged foods maker' },
  { surname: 'Semiconductor', says: 'chip maker' },
  { surname: 'Bancorp', says: 'regional bank' },
  { surname: 'Therapeutics', says: 'drug developer' },
  { surname: 'Paper', says: 'paper and packaging producer' },
  { surname: 'Airlines', says: 'airline' },
  { surname: 'Properties', says: 'real estate trust' },
  { surname: 'Aerospace', says: 'aircraft parts supplier' },
  { surname: 'Stores', says: 'discount retailer' },
  { surname: 'Water', says: 'water utility' },
  { surname: 'Tools', says: 'tool manufacturer' },
  { surname: 'Media', says: 'broadcaster' },
];

const places = wordsOf(`
    Duluth Macon Spokane Toledo Boise Erie Tulsa Reno Lubbock Dayton
  `);

/** Family after family; within one, four businesses; every pair of business and place belongs to one company. */
export function inventCompanies(chance: Chance): readonly Company[] {
  const pairs = chance.some(
    places.flatMap((place) => businesses.map((business) => ({ place, business }))),
    families.length * membersOfFamily,
  );
  const tickers = new Set<string>();
  return families.flatMap((family, index) =>
    pairs.slice(index * membersOfFamily, (index + 1) * membersOfFamily).map(({ place, business }, member) => {
      const middle = pairsAlike(pairs, index, member) ? ` ${place}` : '';
      return {
        name: `${family}${middle} ${business.surname}`,
        ticker: tickerOf(family, business.surname, tickers),
        description: `the ${business.says} from ${place}`,
        business: business.says,
        place,
        size: Math.round(10 ** chance.between(5.6, 7.2)),
      };
    }),
  );
}

const membersOfFamily = 4;

type Pair = { readonly place: string; readonly business: Business };

/** Whether an earlier member of the family is in the same business. */
const pairsAlike = (pairs: readonly Pair[], family: number, member: number): boolean => {
  const own = pairs.slice(family * membersOfFamily, (family + 1) * membersOfFamily);
  return own.slice(0, member).some(({ business }) => business === own[member]?.business);
};

function tickerOf(family: string, surname: string, taken: Set<string>): string {
  const letters = `${surname.slice(1)}${family.slice(2)}ABCDEFGH`.toUpperCase();
  const stem = `${family.slice(0, 2)}${surname.slice(0, 1)}`.toUpperCase();
  const free = [stem, ...letters.split('').map((letter) => stem + letter)];
  const ticker = free.find((each) => !taken.has(each)) ?? stem;
  taken.add(ticker);
  return ticker;
}
