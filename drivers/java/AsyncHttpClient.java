// AsyncHttpClient, a client on Netty: one shared by as many threads as requests in flight, which wait for their responses.

import io.netty.handler.ssl.SslContextBuilder;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.asynchttpclient.DefaultAsyncHttpClientConfig;
import org.asynchttpclient.Dsl;
import org.asynchttpclient.RequestBuilder;

final class AsyncHttpClient {
  public static void main(String[] arguments) throws Exception {
    Kit.run(arguments, Map.of("name", "async-http-client", "version", version(), "engine", "netty"), AsyncHttpClient::open,
        new Calls("method body fields timeout redirects gzip userinfo raw-url raw-method", AsyncHttpClient::caller));
  }

  /** As its package says; the constant that should say it has a placeholder. */
  private static String version() throws Exception {
    var properties = new Properties();
    try (var file = org.asynchttpclient.AsyncHttpClient.class.getResourceAsStream("/META-INF/maven/org.asynchttpclient/async-http-client/pom.properties")) {
      properties.load(file);
    }
    return properties.getProperty("version");
  }

  private static Calls.Caller caller(boolean tuned) {
    var client = Dsl.asyncHttpClient();
    return call -> {
      var request = new RequestBuilder(call.method()).setUrl(call.url()).setRequestTimeout(Duration.ofMillis(call.timeoutMs()));
      call.each(request::addHeader);
      if (call.body() != null) request.setBody(call.body());
      if (call.follow() != null) request.setFollowRedirect(call.follow());
      return sent(client, request);
    };
  }

  private static Client open(Job job) throws Exception {
    var config = new DefaultAsyncHttpClientConfig.Builder().setKeepAlive(job.keepalive()).setMaxRequestRetry(0)
        .setRequestTimeout(Duration.ofMillis(job.timeoutMs()));
    if (job.ca() != null) config.setSslContext(SslContextBuilder.forClient().trustManager(Trust.in(job.ca()).manager()).build());
    var client = Dsl.asyncHttpClient(config);
    return Client.of(client, url -> sent(client, new RequestBuilder(job.method()).setUrl(url).setHeader("Accept", job.accept())));
  }

  private static Client.Response sent(org.asynchttpclient.AsyncHttpClient client, RequestBuilder request) throws Exception {
    var response = client.executeRequest(request).get();
    return new Client.Response(response.getStatusCode(), response.getResponseBodyAsBytes());
  }
}
