import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TokenError, TokenSource } from '../../../../../pipelines/runtime/kafka/tokens.ts';

let server: Server;
let asked: { headers: IncomingHttpHeaders; body: string }[];
let answer: { status: number; body: unknown };
const login = () => ({
  mechanism: 'oauthbearer' as const,
  tokenUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/realms/padron/token?tenant=secreto`,
  clientId: 'pad rón',
  clientSecret: 'cla:ve',
});

beforeEach(async () => {
  asked = [];
  answer = { status: 200, body: { access_token: 'uno', expires_in: 100 } };
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    asked.push({ headers: request.headers, body });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  vi.useRealTimers();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test('a token is asked for by client credentials, once for all connections that open together', async () => {
  const tokens = new TokenSource({ ...login(), scope: 'kafka lectura' });
  expect(await Promise.all([tokens.current(), tokens.current()])).toEqual(['uno', 'uno']);
  expect(await tokens.current()).toBe('uno');
  expect(asked).toHaveLength(1);
  expect(asked[0]!.body).toBe('grant_type=client_credentials&scope=kafka+lectura');
  const { authorization, 'content-type': type } = asked[0]!.headers;
  expect(Buffer.from(authorization!.slice('Basic '.length), 'base64').toString()).toBe('pad+r%C3%B3n:cla%3Ave');
  expect(type).toMatch('application/x-www-form-urlencoded');
});

test('a token is renewed after half of its lifetime, and a short one before the client logs in again', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const tokens = new TokenSource(login());
  await tokens.current();
  vi.advanceTimersByTime(49_000);
  await tokens.current();
  expect(asked).toHaveLength(1);
  answer.body = { access_token: 'dos', expires_in: 20 };
  vi.advanceTimersByTime(2_000);
  expect(await tokens.current()).toBe('dos');
  // The client uses the first 10 of the 20 s. Then it logs in again, which must not meet the same token.
  vi.advanceTimersByTime(6_000);
  await tokens.current();
  expect(asked).toHaveLength(3);
});

test.each([
  [401, { error: 'invalid_client', error_description: 'cla:ve' }, /answered 401$/],
  [200, { token: 'uno' }, /answered without a token$/],
  [200, null, /answered without a token$/],
])('an answer %i %j fails with the address of the service and without secrets', async (status, body, message) => {
  answer = { status, body };
  const failure = await new TokenSource(login()).current().catch((error: unknown) => error as Error);
  expect(failure).toBeInstanceOf(TokenError);
  expect((failure as Error).message).toMatch(/^the token service at http:\/\/127\.0\.0\.1:\d+\/realms\/padron\/token /);
  expect((failure as Error).message).toMatch(message);
  expect((failure as Error).message).not.toMatch(/secreto|cla/);
});

test('a service that nobody runs is named, and the next call asks it again', async () => {
  const tokens = new TokenSource(login());
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  await expect(tokens.current()).rejects.toThrow(/padron\/token cannot be reached \(ECONNREFUSED\)$/);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  expect(await tokens.current()).toBe('uno');
});
