"""Looks a RUC up, reads a 404 and a batch, with the client that openapi-python-client makes."""

import os
import sys

from padron_client import AuthenticatedClient
from padron_client.api.contribuyentes import consultar_lote, consultar_ruc
from padron_client.models import ConsultarLoteBody

company, unknown, wrong = sys.argv[1:]
client = AuthenticatedClient(base_url=os.environ["PADRON_URL"], token=os.environ["PADRON_TOKEN"])

answer = consultar_ruc.sync(company, client=client)
print(answer.data.ruc, answer.data.estado, answer.meta.fecha_dato)
missing = consultar_ruc.sync_detailed(unknown, client=client)
print(missing.status_code.value, missing.parsed.code.value)
batch = consultar_lote.sync(client=client, body=ConsultarLoteBody(rucs=[company, unknown, wrong]))
words = {True: "true", False: "false", None: "null"}
print(*(words[entry.encontrado] for entry in batch.data))
