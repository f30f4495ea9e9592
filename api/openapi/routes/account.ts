import { accountAnswer } from '../../../schemas/http/account.ts';
import type { Operation } from '../operation.ts';

export const accountOperations = {
  verCuenta: {
    method: 'get',
    path: '/id/v1/cuenta',
    tag: 'Cuenta',
    summary: 'Plan, cuota usada, saldo y límites de la cuenta',
    access: 'free',
    status: 200,
    schema: accountAnswer,
    keeping: 'never',
  },
} as const satisfies Readonly<Record<string, Operation>>;
