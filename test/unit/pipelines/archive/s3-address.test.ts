import { expect, it } from 'vitest';
import { s3AddressOf } from '../../../../pipelines/archive/s3.ts';

it('reads the bucket, the prefix and the address of the store', () => {
  expect(s3AddressOf('s3://padron-archive')).toEqual({
    bucket: 'padron-archive',
    prefix: '',
    region: 'us-east-1',
    endpoint: null,
    pathStyle: false,
  });
  expect(s3AddressOf('s3://b/one/two/?region=sa-east-1&path_style=1&endpoint=http%3A%2F%2F127.0.0.1%3A9000')).toEqual({
    bucket: 'b',
    prefix: 'one/two/',
    region: 'sa-east-1',
    endpoint: 'http://127.0.0.1:9000',
    pathStyle: true,
  });
});

it.each([
  ['s3:///prefix', /is not s3:/],
  ['https://b/prefix', /is not s3:/],
  ['s3://key:secret@b/prefix', /holds credentials/],
  ['s3://b/prefix?regoin=x', /a parameter other than/],
  ['s3://b/prefix?endpoint=ftp://x', /an endpoint that is not/],
])('refuses %s and does not print its credentials', (address, text) => {
  expect(() => s3AddressOf(address)).toThrow(text);
  expect(() => s3AddressOf(address)).not.toThrow(/secret/);
});
