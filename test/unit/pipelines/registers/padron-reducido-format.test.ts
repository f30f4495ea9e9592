import { describe, expect, it } from 'vitest';
import { header, problemOfHeader } from '../../../../pipelines/registers/padron-reducido.ts';
import { encodeWindows1252 } from '../../../../pipelines/registers/windows-1252.ts';
import { officialExampleLines } from '../../../fixtures/padron-reducido/examples.ts';

describe('the header', () => {
  it('is the known one in Windows-1252 and nothing else', () => {
    expect(problemOfHeader(encodeWindows1252(header))).toBeNull();
    expect(problemOfHeader(Buffer.from(header, 'utf8'))).toMatch(/UTF-8 instead/);
    expect(problemOfHeader(Buffer.concat([Buffer.from('\ufeff'), encodeWindows1252(header)]))).toMatch(/UTF-8 mark/);
    expect(problemOfHeader(encodeWindows1252(header.replace('UBIGEO', 'UBICACION')))).toBe(
      'column 5 is not called UBIGEO',
    );
    expect(problemOfHeader(encodeWindows1252(`${header}CORREO|`))).toBe('it has 16 columns, expected 15');
  });

  it('never quotes a person who stands in its place', () => {
    expect(problemOfHeader(encodeWindows1252(officialExampleLines[0]))).toBe('the first line is a row');
  });
});
