// Apache HttpClient 5: one client shared by as many threads as requests in flight; `tuned` gives each a connection.

import java.io.IOException;
import java.net.URI;
import java.util.Map;
import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.hc.client5.http.ssl.DefaultClientTlsStrategy;
import org.apache.hc.core5.http.io.entity.ByteArrayEntity;
import org.apache.hc.core5.http.io.entity.EntityUtils;
import org.apache.hc.core5.util.Timeout;
import org.apache.hc.core5.util.VersionInfo;

final class ApacheHttpClient {
  public static void main(String[] arguments) throws Exception {
    String version = VersionInfo.loadVersionInfo("org.apache.hc.client5", null).getRelease();
    var about = Map.<String, Object>of("name", "apache-httpclient", "version", version, "engine", "pure java");
    Kit.run(arguments, about, ApacheHttpClient::open, new Calls("method body fields timeout redirects cookies gzip userinfo raw-url raw-method", ApacheHttpClient::caller));
  }

  private static Calls.Caller caller(boolean tuned) {
    var pool = PoolingHttpClientConnectionManagerBuilder.create();
    var client = HttpClients.custom().setConnectionManager((tuned ? pool.setMaxConnPerRoute(100).setMaxConnTotal(100) : pool).build()).build();
    return call -> {
      var timeout = Timeout.ofMilliseconds(call.timeoutMs());
      var request = new HttpUriRequestBase(call.method(), URI.create(call.url()));
      request.setConfig(RequestConfig.custom().setConnectTimeout(timeout).setResponseTimeout(timeout).setRedirectsEnabled(call.follows(true)).build());
      call.each(request::addHeader);
      if (call.body() != null) request.setEntity(new ByteArrayEntity(call.body(), null));
      return sent(client, request);
    };
  }

  private static Client open(Job job) throws Exception {
    var timeout = Timeout.ofMilliseconds(job.timeoutMs());
    var config = RequestConfig.custom().setResponseTimeout(timeout).setConnectionRequestTimeout(timeout).build();
    var pool = PoolingHttpClientConnectionManagerBuilder.create();
    if (job.tuned()) pool.setMaxConnPerRoute(job.concurrency()).setMaxConnTotal(job.concurrency());
    pool.setTlsSocketStrategy(new DefaultClientTlsStrategy(Trust.in(job.ca()).context()));
    var builder = HttpClients.custom().setConnectionManager(pool.build()).setDefaultRequestConfig(config);
    if (!job.keepalive()) builder.setConnectionReuseStrategy((request, response, context) -> false);
    var client = builder.disableAutomaticRetries().build();
    return Client.of(client, url -> {
      var request = new HttpUriRequestBase(job.method(), URI.create(url));
      request.setHeader("Accept", job.accept());
      return sent(client, request);
    });
  }

  private static Client.Response sent(CloseableHttpClient client, HttpUriRequestBase request) throws IOException {
    return client.execute(request, response -> {
      byte[] body = response.getEntity() == null ? new byte[0] : EntityUtils.toByteArray(response.getEntity());
      return new Client.Response(response.getCode(), body);
    });
  }
}
