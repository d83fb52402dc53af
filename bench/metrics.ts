import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Process } from '#src/adapters/prometheus/catalogue/spec.ts';
import type { Instruments } from '#src/adapters/prometheus/instruments.ts';
import { fullInstruments, seriesOf } from '#test/support/full-metrics.ts';
import { type Benchmark, type Figure, quantile, within } from './figures.ts';

const largeFleet = { templates: 300, environments: 50 };
const scrapes = 50;
/** What is scraped every 15 s must not be felt by the requests beside it. */
const mostMs = 100;
const mostSeries = 20_000;

/** A scrape of a process in which everything has happened that can, of a large fleet, from the request to its last byte. */
export const metrics: Benchmark = {
  name: 'metrics',
  run: async (say) => {
    const figures: Figure[] = [];
    for (const which of ['gateway', 'controller'] as const) {
      say(`${scrapes} scrapes of a ${which}`);
      figures.push(...(await measure(which)));
    }
    return figures;
  },
};

async function measure(which: Process): Promise<readonly Figure[]> {
  const instruments = fullInstruments(which, largeFleet);
  const cpuMs = await cpuOfRender(instruments);
  await using server = await serve(instruments);
  const tookMs: number[] = [];
  let text = '';
  for (let count = 0; count < scrapes; count += 1) {
    const beganMs = performance.now();
    text = await (await fetch(server.url)).text();
    tookMs.push(performance.now() - beganMs);
  }
  const fleet = `${largeFleet.templates} templates, ${largeFleet.environments} environments`;
  const series = { what: `series of a ${which}: ${fleet}`, unit: '', value: seriesOf(text) };
  const scrape = { what: `a scrape of it, p50 of ${scrapes}`, unit: 'ms', value: quantile(tookMs, 0.5) };
  const cpu = { what: 'of the process’ own CPU', unit: 'ms', value: cpuMs };
  return [
    within({ ...series, floor: mostSeries }),
    within({ ...scrape, floor: mostMs }),
    within({ ...cpu, floor: mostMs }),
  ];
}

/** What others do on the machine meanwhile does not count here. */
async function cpuOfRender({ render }: Instruments): Promise<number> {
  const before = process.cpuUsage();
  for (let count = 0; count < scrapes; count += 1) await render();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / scrapes;
}

async function serve(instruments: Instruments) {
  const server = createServer((_request, response) => {
    void instruments.render().then((text) => response.end(text));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/metrics`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
