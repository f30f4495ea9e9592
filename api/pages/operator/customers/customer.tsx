import { listWebhooks, type Webhook } from '../../../../pipelines/webhooks/webhooks.ts';
import { type Account, planNames, readAccount } from '../../../accounts/accounts.ts';
import { type Contract, listContracts } from '../../../accounts/contracts.ts';
import { listTokens, type TokenSummary } from '../../../accounts/tokens.ts';
import { readUse, type Use } from '../../../metering/ledger.ts';
import { monthOf } from '../../../metering/minute-limits.ts';
import { listActs } from '../../../operators/audit.ts';
import { accountSubject } from '../../../operators/customers.ts';
import type { OperatorDependencies } from '../../../operators/dependencies.ts';
import { notFound } from '../../../problems.ts';
import { Form, Select, TextField } from '../../fields.tsx';
import { longDay, number, share } from '../../formats.ts';
import { Facts, Link, Moment, Table } from '../../parts.tsx';
import { mayDecide, numberIn, type OperatorPage } from '../acting.ts';
import { Acts } from '../audit.tsx';
import { WebhookLink, WebhookState } from '../deliveries/backlog.tsx';
import { maxReason } from '../register.tsx';
import { Empty, Status } from '../words.tsx';
import { customerDone, makeCustomerForms } from './forms.tsx';

const maxRows = 200;
const maxActs = 20;

/** `/clientes/{id}`: plan, use, tokens, contracts and webhooks of one customer, as in `padron accounts show`. */
export function makeCustomerPage(dependencies: Pick<OperatorDependencies, 'pool' | 'now'>): OperatorPage {
  const { pool, now } = dependencies;
  return {
    forms: makeCustomerForms(dependencies),
    done: customerDone,
    async show(request) {
      const id = numberIn(request.params.id, 'El cliente');
      const account = await readAccount(pool, id);
      const use = await readUse(pool, id, monthOf(now().getTime()).firstDay);
      if (account === null || use === null) throw notFound('El cliente');
      const [plans, tokens, contracts, webhooks, acts] = await Promise.all([
        planNames(pool),
        listTokens(pool, id, maxRows),
        listContracts(pool, id, maxRows),
        listWebhooks(pool, id),
        listActs(pool, { subject: accountSubject(id), before: null }, maxActs),
      ]);
      const isOpen = mayDecide(request);
      return {
        title: account.name,
        body: (
          <>
            <p class="path">
              <Link to="/clientes">Clientes</Link>
            </p>
            <h1>{account.name}</h1>
            <AccountFacts account={account} use={use} />
            {isOpen && (
              <>
                <h2>Cambiar</h2>
                <Change account={account} plans={plans} />
              </>
            )}
            <h2>Tokens</h2>
            <Tokens tokens={tokens} isOpen={isOpen} />
            <h2>Contratos de datos</h2>
            <Contracts contracts={contracts} isOpen={isOpen} />
            <h2>Webhooks</h2>
            <Webhooks webhooks={webhooks} />
            <h2>Qué se hizo</h2>
            <Acts acts={acts} />
          </>
        ),
      };
    },
  };
}

function AccountFacts({ account, use }: { account: Account; use: Use }) {
  const { id, plan, email, contract, created_at } = account;
  return (
    <Facts
      facts={[
        ['Número', number(id)],
        ['Plan', <code key="plan">{plan}</code>],
        [
          'Consultas de este mes',
          <span key="use" class="tabular">
            {number(use.used)} de {number(use.limit)} ({share(use.used, use.limit)})
          </span>,
        ],
        ['Saldo prepago', number(use.prepaid)],
        ['Correo', email ?? 'ninguno'],
        ['Contrato vigente', contract?.reference ?? 'ninguno: solo empresas'],
        ['Cliente desde', <Moment key="since" at={created_at} />],
      ]}
    />
  );
}

function Reason({ label = 'Motivo' }: { label?: string }) {
  return <TextField name="motivo" label={label} maxLength={maxReason} isRequired />;
}

function Change({ account, plans }: { account: Account; plans: readonly string[] }) {
  return (
    <details>
      <summary>Plan, correo o saldo</summary>
      <div class="decisions">
        <section aria-labelledby="plan">
          <h3 id="plan">Plan</h3>
          <Form name="plan">
            <Select
              name="plan"
              label="Plan"
              value={account.plan}
              options={plans.map((plan) => ({ value: plan, label: plan }))}
            />
            <Reason />
            <button type="submit">Cambiar</button>
          </Form>
        </section>
        <section aria-labelledby="correo">
          <h3 id="correo">Correo</h3>
          <Form name="correo">
            <TextField name="correo" label="Correo (vacío: ninguno)" value={account.email ?? ''} />
            <button type="submit">Cambiar</button>
          </Form>
        </section>
        <section aria-labelledby="saldo">
          <h3 id="saldo">Saldo prepago</h3>
          <Form name="saldo">
            <TextField name="unidades" label="Consultas" inputMode="numeric" isRequired />
            <TextField name="referencia" label="Referencia de la compra" hint="Cada una se abona una vez." isRequired />
            <button type="submit">Abonar</button>
          </Form>
        </section>
      </div>
    </details>
  );
}

function Tokens({ tokens, isOpen }: { tokens: readonly TokenSummary[]; isOpen: boolean }) {
  return (
    <>
      {tokens.length === 0 ? (
        <Empty>Ninguno.</Empty>
      ) : (
        <Table
          label="Tokens"
          columns={[{ name: 'Token' }, { name: 'Hecho' }, { name: 'Estado' }, { name: 'Acción' }]}
          stacked
        >
          {tokens.map(({ id, created_at, revoked_at }) => (
            <tr key={id}>
              <td class="first wraps">
                <code>pad_live_{id}_…</code>
              </td>
              <td>
                <span class="label">Hecho </span>
                <Moment at={created_at} />
              </td>
              <td class="aside">
                {revoked_at === null ? <Status tone="good">sirve</Status> : <Status>revocado</Status>}
              </td>
              <td>
                {revoked_at === null && isOpen ? (
                  <details>
                    <summary>Revocar</summary>
                    <Form name="revocar" of={{ name: 'token', value: id }}>
                      <Reason label={`Motivo para revocar ${id}`} />
                      <button type="submit" class="plain small">
                        Revocar
                      </button>
                    </Form>
                  </details>
                ) : (
                  '—'
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {isOpen && (
        <details>
          <summary>Hacer un token</summary>
          <Form name="token">
            <Reason />
            <button type="submit">Hacer un token</button>
          </Form>
        </details>
      )}
    </>
  );
}

function Contracts({ contracts, isOpen }: { contracts: readonly Contract[]; isOpen: boolean }) {
  return (
    <>
      {contracts.length === 0 ? (
        <Empty>Ninguno.</Empty>
      ) : (
        <Table
          label="Contratos de datos"
          columns={[{ name: 'Contrato' }, { name: 'Desde' }, { name: 'Hasta' }, { name: 'Acción' }]}
          stacked
        >
          {contracts.map((contract) => (
            <ContractRow key={contract.id} contract={contract} isOpen={isOpen} />
          ))}
        </Table>
      )}
      {isOpen && (
        <details>
          <summary>Agregar un contrato</summary>
          <Form name="contrato">
            <TextField name="referencia" label="Referencia" isRequired />
            <TextField name="desde" label="Primer día" type="date" isRequired />
            <TextField name="hasta" label="Último día (vacío: sin fin)" type="date" />
            <button type="submit">Agregar</button>
          </Form>
        </details>
      )}
    </>
  );
}

function ContractRow({ contract, isOpen }: { contract: Contract; isOpen: boolean }) {
  const { id, reference, from, until, ended_at } = contract;
  return (
    <tr>
      <td class="first wraps">{reference}</td>
      <td>
        <span class="label">Desde </span>
        <span class="tabular">{longDay(from)}</span>
      </td>
      <td class="aside">
        {ended_at !== null ? <Status>terminado</Status> : until === null ? 'sin fin' : longDay(until)}
      </td>
      <td>
        {ended_at === null && isOpen ? (
          <details>
            <summary>Terminar</summary>
            <Form name="terminar" of={{ name: 'contrato', value: String(id) }}>
              <TextField name="ultimo" label={`Último día de ${reference} (vacío: ahora)`} type="date" />
              <Reason label={`Motivo para terminar ${reference}`} />
              <button type="submit" class="plain small">
                Terminar
              </button>
            </Form>
          </details>
        ) : (
          '—'
        )}
      </td>
    </tr>
  );
}

function Webhooks({ webhooks }: { webhooks: readonly Webhook[] }) {
  if (webhooks.length === 0) return <Empty>Ninguno.</Empty>;
  return (
    <Table label="Webhooks" columns={[{ name: 'Webhook' }, { name: 'Estado' }]}>
      {webhooks.map(({ id, estado }) => (
        <tr key={id}>
          <td class="wraps">
            <WebhookLink id={id} />
          </td>
          <td>
            <WebhookState isPaused={estado === 'pausado'} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
