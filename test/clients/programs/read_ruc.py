"""Looks a RUC up, reads a 404 and a batch, with the client that openapi-generator makes."""

import os
import sys

from padron_client import ApiClient, ApiException, Configuration, ConsultarLoteRequest, ContribuyentesApi

company, unknown, wrong = sys.argv[1:]
configuration = Configuration(host=os.environ["PADRON_URL"], access_token=os.environ["PADRON_TOKEN"])

with ApiClient(configuration) as client:
    api = ContribuyentesApi(client)
    answer = api.consultar_ruc(company)
    print(answer.data.ruc, answer.data.estado, answer.meta.fecha_dato)
    try:
        api.consultar_ruc(unknown)
    except ApiException as error:
        print(error.status, error.data.code)
    batch = api.consultar_lote(ConsultarLoteRequest(rucs=[company, unknown, wrong]))
    words = {True: "true", False: "false", None: "null"}
    print(*(words[entry.encontrado] for entry in batch.data))
