import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { makeWebhookSecret } from '../../../../pipelines/runtime/secrets.ts';
import { deliveryHeaders, sign } from '../../../../workflows/delivery/signature.ts';

// The test vector that the Standard Webhooks reference libraries share.
const vector = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestampSeconds: 1_614_265_330,
  body: '{"test": 2432232314}',
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};

describe('the signature', () => {
  it('is that of the Standard Webhooks test vector', () => {
    expect(sign([vector.secret], vector.id, vector.timestampSeconds, vector.body)).toBe(vector.signature);
  });

  it('is verified by the public library for bodies of every kind', () => {
    for (const body of [
      '{}',
      '{"nombre":"ÑANDÚ & CÍA. S.A.C."}',
      '{"a":"\\u2028 \ud83d\ude00"}',
      '{"n":12345678901234567890}',
    ]) {
      const secret = makeWebhookSecret();
      const timestampSeconds = Math.floor(Date.now() / 1_000);
      const delivery = { id: 'en_abc-_1', event: 'ping', payload: body };
      const headers = deliveryHeaders(delivery, [secret], timestampSeconds, '1.2.3');
      expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
      expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
      expect(() => new Webhook(makeWebhookSecret()).verify(body, headers)).toThrow();
      expect(headers['x-service-signature']).toBe(headers['webhook-signature']);
      expect(headers['x-service-delivery']).toBe(headers['webhook-id']);
      expect(headers['x-service-timestamp']).toBe(headers['webhook-timestamp']);
      expect(headers['user-agent']).toBe('Padron-Webhooks/1.2.3');
    }
  });

  it('comes from every live secret during a rotation, newest first, and each verifies alone', () => {
    const [newest, older] = [makeWebhookSecret(), makeWebhookSecret()];
    const timestampSeconds = Math.floor(Date.now() / 1_000);
    const signature = sign([newest, older], 'en_1', timestampSeconds, '{}');
    expect(signature.split(' ')[0]).toBe(sign([newest], 'en_1', timestampSeconds, '{}'));
    const headers = {
      'webhook-id': 'en_1',
      'webhook-timestamp': String(timestampSeconds),
      'webhook-signature': signature,
    };
    for (const secret of [newest, older]) expect(() => new Webhook(secret).verify('{}', headers)).not.toThrow();
  });

  it('is refused for ids that would make signed contents ambiguous, and for secrets that are no base64', () => {
    expect(() => sign([vector.secret], 'msg.1', 1, '{}')).toThrow(RangeError);
    expect(() => sign([], 'msg', 1, '{}')).toThrow(RangeError);
    expect(() => sign(['not-a-secret'], 'msg', 1, '{}')).toThrow(RangeError);
  });
});
