import type { Change } from '../../../pipelines/changes/record.ts';
import type { EditionChange } from '../../../schemas/http/editions.ts';
import { limaTime } from '../../../schemas/lima-time.ts';
import { padronReducido } from '../../../schemas/registers.ts';
import { historyOf, makeTestArchive, type TestArchive } from '../registers/archived-editions.ts';
import type { State } from '../registers/change-files.ts';
import { rucOf } from '../registers/companies.ts';
import { insertEdition, untilCatalogueIsRead } from '../registers/served-register.ts';
import { makeCaller, type TestCaller } from './process.ts';
import { type Surroundings, startSurroundings } from './surroundings.ts';

const register = 'padron_reducido';
const days = [1, 2, 3, 4];
const taxpayers = 20_000;
const dateOf = (edition: number) => `2026-11-2${edition}`;

/** Half of the taxpayers are persons. Each day changes one in a hundred and one, and removes one in a thousand and one. */
function stateOn(day: number): State {
  const state: State = new Map();
  for (let number = 0; number < taxpayers; number += 1) {
    if (day > 1 && number % 1_001 === day) continue;
    const estado = day > 1 && number % 101 === day ? 'BAJA DE OFICIO' : 'ACTIVO';
    const kind = number % 2 === 0 ? '20' : ['10', '15', '16', '17'][(number % 8) >> 1]!;
    const nombre = kind === '20' ? `EMPRESA "Ñ" ${number} S.A.C.` : `PERSONA PLANTADA ${number}`;
    state.set(rucOf(number, kind), [nombre, estado, 'HABIDO', ...padronReducido.columns.slice(3).map(() => '-')]);
  }
  return state;
}

/** The running API with an invented register of four served editions in its archive, and a fifth that is on its way. */
export class DeltaScene {
  readonly archive: TestArchive;
  readonly around: Surroundings;
  readonly editions = historyOf(register, days.map(stateOn));
  readonly files: { sha256: string; changes: number }[] = [];
  /** Accounts of plan empresa, without a contract and with one. */
  enterprise!: TestCaller;
  contracted!: TestCaller;

  private constructor(archive: TestArchive, around: Surroundings) {
    this.archive = archive;
    this.around = around;
  }

  static async start(): Promise<DeltaScene> {
    const archive = makeTestArchive();
    const scene = new DeltaScene(archive, await startSurroundings(archive.environment));
    for (const [at, changes] of scene.editions.entries()) await scene.addEdition(at + 1, changes);
    await insertEdition(scene.around.pool, { number: 5, fechaDato: dateOf(5), materialisedAt: null });
    scene.enterprise = await scene.makeAccount();
    scene.contracted = await scene.makeAccount('CTD-1');
    await untilCatalogueIsRead();
    return scene;
  }

  /** @param counted the number of changes that the catalogue counted, if it is not the file's */
  async addEdition(number: number, changes: readonly Change[], counted = changes.length): Promise<void> {
    const changeFile = await this.archive.put(register, number, changes);
    this.files.push(changeFile);
    const fact = { ...changeFile, changes: counted };
    await insertEdition(this.around.pool, { number, fechaDato: dateOf(number), changeFile: fact });
  }

  makeAccount(reference?: string): Promise<TestCaller> {
    const contract = reference === undefined ? null : { reference, from: '2020-01-01', until: null };
    return makeCaller(this.around.pool, this.around.api.url, { plan: 'empresa', contract });
  }

  /** The true changes of an edition, in the words of the API. */
  expected(edition: number, isSeen: (ruc: string) => boolean): EditionChange[] {
    const words = { r: 'base', c: 'alta', u: 'cambio', d: 'baja' } as const;
    const seen = this.editions[edition - 1]!.filter(({ ruc }) => isSeen(ruc));
    return seen.map(({ op, ruc, before, after, detectedAt }) => ({
      ...{ edicion: edition, operacion: words[op], ruc, fecha_dato: dateOf(edition) },
      ...{ detectada_en: limaTime(detectedAt), corrige: null, antes: before, despues: after },
    }));
  }

  async stop(): Promise<void> {
    await this.around.stop();
    this.archive.remove();
  }
}
