import { z } from 'zod';
import { type Account, listAccounts } from '../../../accounts/accounts.ts';
import type { OperatorDependencies } from '../../../operators/dependencies.ts';
import { Filters, TextField } from '../../fields.tsx';
import { number } from '../../formats.ts';
import { Link, Moment, Table } from '../../parts.tsx';
import { type OperatorPage, operatorPageWithQuery } from '../acting.ts';
import { Empty } from '../words.tsx';

/** Most accounts that are read, and most that are shown. */
const maxAccounts = 5_000;
const maxShown = 200;

const query = z.strictObject({ nombre: z.string().max(100).optional() });

/** `/clientes`: accounts with their plan and contract. */
export function makeCustomersPage({ pool }: Pick<OperatorDependencies, 'pool'>): OperatorPage {
  return operatorPageWithQuery({
    query,
    async show({ query: { values, ...filled } }) {
      const wanted = values?.nombre?.toLocaleLowerCase('es') ?? '';
      const all = await listAccounts(pool, maxAccounts);
      const accounts = all.filter(({ name }) => name.toLocaleLowerCase('es').includes(wanted));
      return {
        title: 'Clientes',
        body: (
          <>
            <h1>Clientes</h1>
            <Filters filled={filled}>
              <TextField name="nombre" label="Nombre" type="search" />
              <button type="submit">Buscar</button>
            </Filters>
            <Accounts accounts={accounts.slice(0, maxShown)} />
            {accounts.length > maxShown && (
              <Empty>Y {number(accounts.length - maxShown)} más: busque por una parte del nombre.</Empty>
            )}
          </>
        ),
      };
    },
  });
}

function Accounts({ accounts }: { accounts: readonly Account[] }) {
  if (accounts.length === 0) return <Empty>Ninguno.</Empty>;
  return (
    <Table
      label="Clientes"
      columns={[
        { name: 'Cliente' },
        { name: 'Número', isNumber: true },
        { name: 'Plan' },
        { name: 'Contrato' },
        { name: 'Desde' },
      ]}
      stacked
    >
      {accounts.map(({ id, name, plan, contract, created_at }) => (
        <tr key={id}>
          <td class="first wraps">
            <Link to={`/clientes/${id}`}>{name}</Link>
          </td>
          <td class="number">
            <span class="label">Número </span>
            {number(id)}
          </td>
          <td class="aside">
            <code>{plan}</code>
          </td>
          <td class="wraps">
            <span class="label">Contrato </span>
            {contract?.reference ?? '—'}
          </td>
          <td>
            <span class="label">Desde </span>
            <Moment at={created_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
