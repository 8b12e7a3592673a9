// java.net.http: the client of the JDK since Java 11, one shared by as many threads as requests in flight.

import java.net.CookieManager;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Map;

final class JavaNetHttp {
  public static void main(String[] arguments) throws Exception {
    // It re-sends a GET whose reused connection turned out to be closed, and nothing switches that off; nor does
    // anything switch off that it keeps connections.
    Kit.run(arguments, Map.of("name", "java-net-http", "version", Runtime.version().toString(), "engine", "pure java",
        "retries", "unknown", "keepalive", List.of(true)), JavaNetHttp::open, new Calls("method body fields timeout redirects cookies userinfo raw-url raw-method", JavaNetHttp::caller));
  }

  private static Calls.Caller caller(boolean tuned) {
    var cookies = new CookieManager();
    var clients = Map.of(false, HttpClient.newBuilder().cookieHandler(cookies).build(),
        true, HttpClient.newBuilder().cookieHandler(cookies).followRedirects(HttpClient.Redirect.NORMAL).build());
    return call -> {
      var request = HttpRequest.newBuilder(URI.create(call.url())).timeout(Duration.ofMillis(call.timeoutMs()));
      call.each(request::header);
      if (call.body() != null) request.method(call.method(), BodyPublishers.ofByteArray(call.body()));
      else if (!call.method().equals("GET")) request.method(call.method(), BodyPublishers.noBody()); // it would send a length
      return sent(clients.get(call.follows(false)), request);
    };
  }

  private static Client open(Job job) throws Exception {
    Duration timeout = Duration.ofMillis(job.timeoutMs());
    var builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(timeout);
    HttpClient client = builder.sslContext(Trust.in(job.ca()).context()).build();
    return url -> {
      var request = HttpRequest.newBuilder(URI.create(url)).timeout(timeout).header("Accept", job.accept());
      return sent(client, request.method(job.method(), BodyPublishers.noBody()));
    };
  }

  private static Client.Response sent(HttpClient client, HttpRequest.Builder request) throws Exception {
    var response = client.send(request.build(), BodyHandlers.ofByteArray());
    return new Client.Response(response.statusCode(), response.body());
  }
}
