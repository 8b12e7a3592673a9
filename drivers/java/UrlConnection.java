// HttpURLConnection: the JDK's first client, an object a request; the JDK keeps the connections by itself.

import java.io.IOException;
import java.io.InputStream;
import java.net.CookieHandler;
import java.net.CookieManager;
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
        "retries", "fixed:1", "keepalive", List.of(true), "tls", false), UrlConnection::open, new Calls("method body fields timeout redirects cookies userinfo raw-url raw-method", UrlConnection::caller));
  }

  private static Calls.Caller caller(boolean tuned) {
    CookieHandler.setDefault(new CookieManager());
    return call -> {
      var connection = connection(call.url(), call.method(), call.timeoutMs());
      connection.setInstanceFollowRedirects(call.follows(true));
      call.each(connection::addRequestProperty);
      if (call.body() != null) connection.setDoOutput(true);
      if (call.body() != null) connection.getOutputStream().write(call.body());
      return response(connection);
    };
  }

  private static Client open(Job job) {
    return url -> {
      var connection = connection(url, job.method(), job.timeoutMs());
      connection.setRequestProperty("Accept", job.accept());
      return response(connection);
    };
  }

  private static HttpURLConnection connection(String url, String method, int timeoutMs) throws IOException {
    var connection = (HttpURLConnection) URI.create(url).toURL().openConnection(Proxy.NO_PROXY);
    connection.setRequestMethod(method);
    connection.setConnectTimeout(timeoutMs);
    connection.setReadTimeout(timeoutMs);
    return connection;
  }

  private static Client.Response response(HttpURLConnection connection) throws IOException {
    int status = connection.getResponseCode();
    // Only what has been read to its end and closed is used again.
    try (InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
      return new Client.Response(status, body == null ? new byte[0] : body.readAllBytes());
    }
  }
}
