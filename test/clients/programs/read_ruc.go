// Looks a RUC up, reads a 404 and a batch, with the client that openapi-generator makes.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	padron "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func main() {
	company, unknown, wrong := os.Args[1], os.Args[2], os.Args[3]
	configuration := padron.NewConfiguration()
	configuration.Servers = padron.ServerConfigurations{{URL: os.Getenv("PADRON_URL")}}
	api := padron.NewAPIClient(configuration).ContribuyentesAPI
	ctx := context.WithValue(context.Background(), padron.ContextAccessToken, os.Getenv("PADRON_TOKEN"))

	answer, _, err := api.ConsultarRuc(ctx, company).Execute()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Data.Ruc, answer.Data.GetEstado(), answer.Meta.FechaDato)

	_, response, err := api.ConsultarRuc(ctx, unknown).Execute()
	var failure *padron.GenericOpenAPIError
	if !errors.As(err, &failure) {
		log.Fatal(err)
	}
	fmt.Println(response.StatusCode, failure.Model().(padron.Problema).Code)

	request := padron.NewConsultarLoteRequest([]string{company, unknown, wrong})
	batch, _, err := api.ConsultarLote(ctx).ConsultarLoteRequest(*request).Execute()
	if err != nil {
		log.Fatal(err)
	}
	words := make([]any, 0, len(batch.Data))
	for _, entry := range batch.Data {
		if found := entry.Encontrado.Get(); found == nil {
			words = append(words, "null")
		} else {
			words = append(words, fmt.Sprint(*found))
		}
	}
	fmt.Println(words...)
}
