import { describe, expect, it } from 'vitest';
import { registerModules } from '../../../../pipelines/registers/modules.ts';
import { sourceBlock, sourcesOf } from '../../../../pipelines/registers/settings.ts';
import { parseConfiguration } from '../../../../pipelines/runtime/config.ts';
import { registerNames } from '../../../../schemas/registers.ts';

describe('the settings of the sources', () => {
  it('are the official addresses where an installation says nothing', () => {
    const sources = sourcesOf(parseConfiguration(sourceBlock, {}));
    for (const register of registerNames) expect(sources[register]).toEqual(registerModules[register].source);
    expect(sources.padron_mensual.url).toContain('PadronRUC_{AAAAMM}.zip');
  });

  it('replace each address by one pattern of names', () => {
    const sources = sourcesOf(
      parseConfiguration(sourceBlock, {
        SOURCE_SANCIONADOS_URL: 'https://conosce.example/assets/0badcafe/sancionados.csv',
        SOURCE_BUENOS_CONTRIBUYENTES_PAGE_URL: 'http://mirror.example/BueCont0.html',
        SOURCE_PADRON_MENSUAL_URL: 'https://mirror.example/PadronRUC_{AAAAMM}.zip',
      }),
    );
    expect(sources.sancionados).toMatchObject({ url: expect.stringContaining('0badcafe'), pageUrl: null });
    expect(sources.buenos_contribuyentes.pageUrl).toBe('http://mirror.example/BueCont0.html');
    expect(sources.padron_mensual.url).toBe('https://mirror.example/PadronRUC_{AAAAMM}.zip');
  });

  it('say all that is wrong at once, by name', () => {
    const wrong = {
      SOURCE_SANCIONADOS_URL: 'ftp://a',
      SOURCE_AGENTES_RETENCION_PAGE_URL: 'x',
      SOURCE_USER_AGENT: 'a\nb',
    };
    expect(() => parseConfiguration(sourceBlock, wrong)).toThrow(
      /SOURCE_AGENTES_RETENCION_PAGE_URL.*SOURCE_SANCIONADOS_URL.*SOURCE_USER_AGENT/s,
    );
  });
});

describe('the modules', () => {
  it.each(registerNames)('%s stands under its own name', (register) => {
    expect(registerModules[register].register).toBe(register);
  });
});
