// Looks a RUC up, reads a 404 and a batch, with the client that oapi-codegen makes.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"example.pe/padron"
)

func main() {
	company, unknown, wrong := os.Args[1], os.Args[2], os.Args[3]
	ctx := context.Background()
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("PADRON_TOKEN"))
		return nil
	}
	client, err := padron.NewClientWithResponses(os.Getenv("PADRON_URL"), padron.WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}

	answer, err := client.ConsultarRucWithResponse(ctx, company, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.JSON200.Data.Ruc, *answer.JSON200.Data.Estado, answer.JSON200.Meta.FechaDato)

	missing, err := client.ConsultarRucWithResponse(ctx, unknown, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(missing.StatusCode(), missing.ApplicationproblemJSON404.Code)

	body := padron.ConsultarLoteJSONRequestBody{Rucs: []string{company, unknown, wrong}}
	batch, err := client.ConsultarLoteWithResponse(ctx, nil, body)
	if err != nil {
		log.Fatal(err)
	}
	words := make([]any, 0, len(batch.JSON200.Data))
	for _, entry := range batch.JSON200.Data {
		if entry.Encontrado == nil {
			words = append(words, "null")
		} else {
			words = append(words, fmt.Sprint(*entry.Encontrado))
		}
	}
	fmt.Println(words...)
}
