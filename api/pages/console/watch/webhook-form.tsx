import { z } from 'zod';
import { pageLists, type WatchList } from '../../../../pipelines/watch/lists.ts';
import { newWebhook } from '../../../../schemas/http/webhooks.ts';
import { eventKinds } from '../../../../schemas/registers.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { fieldProblem } from '../../../problems.ts';
import { makeWebhookHandlers, requireWebhook } from '../../../routes/webhooks.ts';
import { Checks, Form, TextField } from '../../fields.tsx';
import { type AccountRequest, form, type Page } from '../../page.ts';
import { Link } from '../../parts.tsx';
import { eventKindTexts } from '../words.ts';
import { secretView } from './webhooks.tsx';

// What a webhook is made of: a form that makes one, and a form that changes one.

const oneOrMore = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(schema)).optional();

const { url, descripcion } = newWebhook.shape;
const eventos = oneOrMore(z.enum(eventKinds));
const listId = z.string().regex(/^[0-9]{1,15}$/);
const newFields = z.strictObject({ url, descripcion, eventos, listas: oneOrMore(listId.transform(Number)) });

/** An account has no more lists than this. */
const maxLists = 1_000;

/** `/consola/webhooks/nuevo`: makes a webhook and shows its secret, this once. */
export function makeNewWebhookPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { crearWebhook } = makeWebhookHandlers(dependencies);
  return {
    forms: {
      crear: form(newFields, async (values, { context }: AccountRequest) => {
        const { data } = await crearWebhook({ params: {}, query: undefined, body: values }, context);
        return secretView(data.id, data.secreto, 'El webhook está creado');
      }),
    },
    async show({ session }) {
      const lists = await pageLists(dependencies.pool, session.caller.accountId, 0, maxLists);
      return {
        title: 'Crear un webhook',
        body: (
          <>
            <h1>Crear un webhook</h1>
            <Form name="crear">
              <TargetFields />
              {lists.length > 0 && (
                <Checks
                  name="listas"
                  label="Listas"
                  hint="Sin marcar ninguna, todas, también las que se creen después."
                  options={listOptions(lists)}
                />
              )}
              <button type="submit">Crear y ver el secreto</button>
            </Form>
          </>
        ),
      };
    },
  };
}

const every = 'todas';
const limit = (most: number) => z.coerce.number().int().min(1).max(most).optional();
const changedFields = z.strictObject({
  url,
  descripcion,
  eventos,
  listas: oneOrMore(z.union([z.literal(every), listId.transform(Number)])),
  limite_por_segundo: limit(200),
  en_vuelo: limit(50),
});

/** `/consola/webhooks/{webhook}/cambiar`: changes what a webhook receives and where. */
export function makeChangeWebhookPage(dependencies: ApiDependencies): Page<AccountRequest> {
  const { pool } = dependencies;
  const { cambiarWebhook } = makeWebhookHandlers(dependencies);
  return {
    forms: {
      cambiar: form(changedFields, async (values, { context, params }: AccountRequest) => {
        const { eventos: kinds = null, descripcion: text = null, listas: marked, ...others } = values;
        const body = { ...others, eventos: kinds, descripcion: text, listas: chosenLists(marked) };
        const webhook = params.webhook ?? '';
        await cambiarWebhook({ params: { webhook }, query: undefined, body }, context);
        return { to: `/consola/webhooks/${webhook}?hecho=cambiado` };
      }),
    },
    async show({ context, params, session }) {
      const webhook = await requireWebhook(pool, context, params.webhook ?? '');
      const lists = await pageLists(pool, session.caller.accountId, 0, maxLists);
      return {
        title: 'Cambiar el webhook',
        body: (
          <>
            <p class="path">
              <Link to={`/consola/webhooks/${webhook.id}`}>{webhook.descripcion ?? webhook.url}</Link>
            </p>
            <h1>Cambiar el webhook</h1>
            <Form name="cambiar">
              <TargetFields webhook={webhook} />
              <Checks
                name="listas"
                label="Listas"
                values={(webhook.listas ?? [every]).map(String)}
                options={[{ value: every, label: 'Todas, también las que se creen después' }, ...listOptions(lists)]}
              />
              <TextField
                name="limite_por_segundo"
                label="Avisos por segundo, a lo más"
                hint="De 1 a 200."
                inputMode="numeric"
                size={6}
                value={String(webhook.limite_por_segundo)}
              />
              <TextField
                name="en_vuelo"
                label="Avisos a la vez, a lo más"
                hint="De 1 a 50: los que esperan la respuesta de su servidor."
                inputMode="numeric"
                size={6}
                value={String(webhook.en_vuelo)}
              />
              <p class="quiet">
                Lo que está por enviar va a la dirección nueva, con las mismas clases y listas de antes.
              </p>
              <button type="submit">Guardar</button>
            </Form>
          </>
        ),
      };
    },
  };
}

/**
 * Returns the lists for the API, where null means all. Nothing marked is refused: it could mean none or all, as after the
 * deletion of all lists of a webhook.
 * @throws ApiProblem parametro_invalido
 */
function chosenLists(marked: readonly (number | typeof every)[] = []): number[] | null {
  const chosen = marked.filter((each) => each !== every);
  if (marked.length === 0) throw fieldProblem('parametro_invalido', 'listas', 'marque al menos una, o «Todas»');
  if (chosen.length < marked.length && chosen.length > 0)
    throw fieldProblem('parametro_invalido', 'listas', 'marque «Todas» o algunas, no ambas');
  return chosen.length === 0 ? null : chosen;
}

interface Target {
  url: string;
  descripcion: string | null;
  eventos: readonly string[] | null;
}

function TargetFields({ webhook }: { webhook?: Target }) {
  return (
    <>
      <TextField
        name="url"
        label="Dirección"
        type="url"
        hint="Empieza con https:// y lleva a un servidor público."
        autocomplete="off"
        value={webhook?.url}
        isRequired
      />
      <TextField
        name="descripcion"
        label="Descripción (opcional)"
        autocomplete="off"
        maxLength={200}
        value={webhook?.descripcion ?? undefined}
      />
      <Checks
        name="eventos"
        label="Clases de evento"
        hint="Sin marcar ninguna, todas."
        values={webhook?.eventos ?? []}
        options={eventKinds.map((kind) => ({ value: kind, label: eventKindTexts[kind] }))}
      />
    </>
  );
}

function listOptions(lists: readonly WatchList[]) {
  return lists.map(({ id, nombre }) => ({ value: String(id), label: nombre }));
}
