// HttpURLConnection: the JDK's first client, an object a request; the JDK keeps the connections by itself.

import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URI;
import java.util.List;
import java.util.Map;

final class UrlConnection {
  public static void main(String[] arguments) throws Exception {
    // It re-sends a GET whose reused connection turned out to be closed, and nothing switches that off. Whether
    // connections are reused is decided for the whole process when it starts.
    Kit.run(arguments, Map.of("name", "http-url-connection", "version", Runtime.version().toString(), "engine", "pure java",
        "retries", "fixed:1", "keepalive", List.of(true), "tls", false), UrlConnection::open);
  }

  private static Client open(Job job) {
    return url -> {
      var connection = (HttpURLConnection) URI.create(url).toURL().openConnection(Proxy.NO_PROXY);
      connection.setRequestMethod(job.method());
      connection.setConnectTimeout(job.timeoutMs());
      connection.setReadTimeout(job.timeoutMs());
      connection.setRequestProperty("Accept", job.accept());
      int status = connection.getResponseCode();
      // Only what has been read to its end and closed is used again.
      try (InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
        return new Client.Response(status, body == null ? new byte[0] : body.readAllBytes());
      }
    };
  }
}
