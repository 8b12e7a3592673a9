// OkHttp: one client shared by as many threads as requests in flight; `tuned` keeps a connection for each.

import java.io.IOException;
import java.net.Proxy;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import okhttp3.ConnectionPool;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.internal.http.HttpMethod;

final class OkHttp {
  public static void main(String[] arguments) throws Exception {
    Kit.run(arguments, Map.of("name", "okhttp", "version", okhttp3.OkHttp.VERSION, "engine", "okio"), OkHttp::open, new Calls("method body fields timeout redirects gzip userinfo raw-url raw-method", OkHttp::caller));
  }

  private static Calls.Caller caller(boolean tuned) {
    var client = new OkHttpClient.Builder().connectionPool(tuned ? new ConnectionPool(100, 5, TimeUnit.MINUTES) : new ConnectionPool()).build();
    return call -> {
      var body = call.body() == null && !HttpMethod.requiresRequestBody(call.method()) ? null : RequestBody.create(call.content());
      var request = new Request.Builder().url(call.url()).method(call.method(), body);
      call.each(request::addHeader);
      var limited = client.newBuilder().followRedirects(call.follows(true)).callTimeout(call.timeoutMs(), TimeUnit.MILLISECONDS);
      return sent(limited.build(), request);
    };
  }

  private static Client open(Job job) throws Exception {
    var pool = job.tuned() ? new ConnectionPool(job.concurrency(), 5, TimeUnit.MINUTES) : new ConnectionPool(); // of 5
    var builder = new OkHttpClient.Builder().connectionPool(pool).proxy(Proxy.NO_PROXY).retryOnConnectionFailure(false);
    var trust = Trust.in(job.ca());
    builder.sslSocketFactory(trust.context().getSocketFactory(), trust.manager()).protocols(List.of(Protocol.HTTP_1_1));
    var client = builder.callTimeout(job.timeoutMs(), TimeUnit.MILLISECONDS).build();
    return Client.of(pool::evictAll, url -> {
      var request = new Request.Builder().url(url).method(job.method(), null).header("Accept", job.accept());
      if (!job.keepalive()) request.header("Connection", "close");
      return sent(client, request);
    });
  }

  private static Client.Response sent(OkHttpClient client, Request.Builder request) throws IOException {
    try (var response = client.newCall(request.build()).execute()) {
      return new Client.Response(response.code(), response.body().bytes());
    }
  }
}
