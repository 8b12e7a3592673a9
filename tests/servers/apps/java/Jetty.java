// Jetty with HTTP/1.1 and HTTP/2; see ../../lib/listeners.rb for its responses. Arguments: PORT:KIND:STREAMS:IDLE with
// kind http, h2c or h2, and a key store (PKCS #12, password "secret") as the last.
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.ssl.SslContextFactory;

public class Jetty extends Handler.Abstract {
  public static void main(String[] arguments) throws Exception {
    Server server = new Server();
    String store = arguments[arguments.length - 1];
    for (int at = 0; at < arguments.length - 1; at++) {
      String[] parts = arguments[at].split(":");
      ServerConnector connector = new ServerConnector(server, factories(parts[1], Integer.parseInt(parts[2]), store));
      connector.setHost("127.0.0.1");
      connector.setPort(Integer.parseInt(parts[0]));
      connector.setIdleTimeout(Long.parseLong(parts[3]) * 1000);
      server.addConnector(connector);
    }
    server.setHandler(new Jetty());
    server.start();
    server.join();
  }

  static ConnectionFactory[] factories(String kind, int streams, String store) {
    HttpConfiguration settings = new HttpConfiguration();
    HttpConnectionFactory http = new HttpConnectionFactory(settings);
    if (kind.equals("http")) return new ConnectionFactory[] {http};
    if (kind.equals("h2c")) {
      HTTP2CServerConnectionFactory http2 = new HTTP2CServerConnectionFactory(settings);
      http2.setMaxConcurrentStreams(streams);
      return new ConnectionFactory[] {http, http2};
    }
    settings.addCustomizer(new SecureRequestCustomizer(false));
    HTTP2ServerConnectionFactory http2 = new HTTP2ServerConnectionFactory(settings);
    http2.setMaxConcurrentStreams(streams);
    ALPNServerConnectionFactory alpn = new ALPNServerConnectionFactory();
    alpn.setDefaultProtocol(http.getProtocol());
    SslContextFactory.Server tls = new SslContextFactory.Server();
    tls.setKeyStorePath(store);
    tls.setKeyStorePassword("secret");
    tls.setSniRequired(false);
    return new ConnectionFactory[] {new SslConnectionFactory(tls, alpn.getProtocol()), alpn, http2, http};
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    String path = request.getHttpURI().getPathQuery();
    if (path.equals("/early")) {
      response.setStatus(413);
      callback.succeeded();
    } else if (path.equals("/upload")) {
      CRC32 sum = new CRC32();
      long bytes = 0;
      var body = Content.Source.asInputStream(request);
      byte[] piece = new byte[65536];
      for (int read; (read = body.read(piece)) >= 0; bytes += read) sum.update(piece, 0, read);
      write(response, callback, "{\"method\":\"" + request.getMethod() + "\",\"bytes\":" + bytes + ",\"crc32\":" + sum.getValue() + "}");
    } else if (path.startsWith("/bytes/")) {
      byte[] all = new byte[Integer.parseInt(path.substring(7))];
      for (int at = 0; at < all.length; at++) all[at] = (byte) ('a' + at % 26);
      response.write(true, ByteBuffer.wrap(all), callback);
    } else {
      write(response, callback, "{\"method\":\"" + request.getMethod() + "\",\"path\":\"" + path + "\"}");
    }
    return true;
  }

  static void write(Response response, Callback callback, String json) {
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, "application/json");
    response.write(true, ByteBuffer.wrap(json.getBytes()), callback);
  }
}
