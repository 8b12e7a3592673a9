// OkHttp: one client shared by as many threads as requests in flight; `tuned` keeps a connection for each.

import java.net.Proxy;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import okhttp3.ConnectionPool;
import okhttp3.OkHttpClient;
import okhttp3.Request;

final class OkHttp {
  private static boolean tuned;

  public static void main(String[] arguments) throws Exception {
    tuned = arguments.length > 0 && arguments[0].equals("tuned");
    String name = tuned ? "okhttp-tuned" : "okhttp";
    Kit.run(arguments, Map.of("name", name, "version", okhttp3.OkHttp.VERSION, "engine", "okio"), OkHttp::open);
  }

  private static Kit.Client open(Kit.Job job) {
    var pool = tuned ? new ConnectionPool(job.concurrency(), 5, TimeUnit.MINUTES) : new ConnectionPool(); // keeps 5 when idle
    var builder = new OkHttpClient.Builder().connectionPool(pool).proxy(Proxy.NO_PROXY).retryOnConnectionFailure(false);
    var client = builder.callTimeout(job.timeoutMs(), TimeUnit.MILLISECONDS).build();
    return new Kit.Client() {
      @Override public Kit.Answer send(String url) throws Exception {
        var request = new Request.Builder().url(url).method(job.method(), null).header("Accept", job.accept());
        if (!job.keepalive()) request.header("Connection", "close");
        try (var answer = client.newCall(request.build()).execute()) {
          return new Kit.Answer(answer.code(), answer.body().bytes());
        }
      }

      @Override public void close() { pool.evictAll(); }
    };
  }
}
