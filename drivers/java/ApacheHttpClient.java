// Apache HttpClient 5: one client shared by as many threads as requests in flight; `tuned` gives each a connection.

import java.util.Map;
import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.hc.core5.http.io.entity.EntityUtils;
import org.apache.hc.core5.util.Timeout;
import org.apache.hc.core5.util.VersionInfo;

final class ApacheHttpClient {
  private static boolean tuned;

  public static void main(String[] arguments) throws Exception {
    tuned = arguments.length > 0 && arguments[0].equals("tuned");
    String version = VersionInfo.loadVersionInfo("org.apache.hc.client5", null).getRelease();
    String name = tuned ? "apache-httpclient-tuned" : "apache-httpclient";
    Kit.run(arguments, Map.of("name", name, "version", version, "engine", "pure java"), ApacheHttpClient::open);
  }

  private static Kit.Client open(Kit.Job job) {
    var timeout = Timeout.ofMilliseconds(job.timeoutMs());
    var config = RequestConfig.custom().setResponseTimeout(timeout).setConnectionRequestTimeout(timeout).build();
    var pool = PoolingHttpClientConnectionManagerBuilder.create();
    if (tuned) pool.setMaxConnPerRoute(job.concurrency()).setMaxConnTotal(job.concurrency());
    var builder = HttpClients.custom().setConnectionManager(pool.build()).setDefaultRequestConfig(config).disableAutomaticRetries();
    var client = (job.keepalive() ? builder : builder.setConnectionReuseStrategy((request, answer, context) -> false)).build();
    return new Kit.Client() {
      @Override public Kit.Answer send(String url) throws Exception {
        var request = new HttpUriRequestBase(job.method(), java.net.URI.create(url));
        request.setHeader("Accept", job.accept());
        return client.execute(request, answer -> {
          byte[] body = answer.getEntity() == null ? new byte[0] : EntityUtils.toByteArray(answer.getEntity());
          return new Kit.Answer(answer.getCode(), body);
        });
      }

      @Override public void close() throws Exception { client.close(); }
    };
  }
}
