import { type Defect, defects } from './defects.ts';
import { sealOf, sourcesOf, versionFolder } from './packages.ts';

/** A row a defect; no package is in both splits. */
export const defectRows = () => ({ train: defects.train.map(rowOf), eval: defects.eval.map(rowOf) });

const rowOf = (defect: Defect) => ({
  id: defect.id,
  package: defect.package,
  version: defect.from,
  issue: defect.issue,
  sources: sourcesOf(versionFolder(defect, defect.from)).join('\n'),
  seal: sealOf(defect.id),
});
