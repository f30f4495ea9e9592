import java.util.List;
import java.util.stream.Collectors;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.Configuration;
import org.openapitools.client.api.ContribuyentesApi;
import org.openapitools.client.model.ConsultarLoteRequest;
import org.openapitools.client.model.Problema;

/** Looks a RUC up, reads a 404 and a batch, with the client that openapi-generator makes. */
public class ReadRuc {
  public static void main(String[] arguments) throws Exception {
    String company = arguments[0];
    String unknown = arguments[1];
    String wrong = arguments[2];
    ApiClient client = Configuration.getDefaultApiClient();
    client.setBasePath(System.getenv("PADRON_URL"));
    client.setBearerToken(System.getenv("PADRON_TOKEN"));
    ContribuyentesApi api = new ContribuyentesApi(client);

    var answer = api.consultarRuc(company, null);
    System.out.println(
        answer.getData().getRuc() + " " + answer.getData().getEstado() + " " + answer.getMeta().getFechaDato());

    try {
      api.consultarRuc(unknown, null);
    } catch (ApiException error) {
      System.out.println(error.getCode() + " " + Problema.fromJson(error.getResponseBody()).getCode());
    }

    var batch = api.consultarLote(new ConsultarLoteRequest().rucs(List.of(company, unknown, wrong)), null);
    System.out.println(
        batch.getData().stream().map(entry -> String.valueOf(entry.getEncontrado())).collect(Collectors.joining(" ")));
  }
}
