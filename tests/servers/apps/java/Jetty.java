// Jetty with HTTP/1.1, HTTP/2 and HTTP/3; see ../../lib/listeners.rb for its responses. Arguments: PORT:KIND:STREAMS:IDLE
// with kind http, h2c, h2 or h3, and a key store (PKCS #12, password "secret") as the last.
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.zip.CRC32;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http3.server.HTTP3ServerConnectionFactory;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.quic.server.QuicServerConnector;
import org.eclipse.jetty.quic.server.ServerQuicConfiguration;
import org.eclipse.jetty.server.AbstractNetworkConnector;
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
      int streams = Integer.parseInt(parts[2]);
      AbstractNetworkConnector connector =
          parts[1].equals("h3") ? http3(server, streams, store) : new ServerConnector(server, factories(parts[1], streams, store));
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
    return new ConnectionFactory[] {new SslConnectionFactory(tls(store), alpn.getProtocol()), alpn, http2, http};
  }

  // quiche reads keys from files, which Jetty writes beside the key store.
  static AbstractNetworkConnector http3(Server server, int streams, String store) {
    ServerQuicConfiguration quic = new ServerQuicConfiguration(tls(store), Path.of(store).getParent());
    quic.setMaxBidirectionalRemoteStreams(streams);
    HttpConfiguration settings = new HttpConfiguration();
    settings.addCustomizer(new SecureRequestCustomizer(false));
    return new QuicServerConnector(server, quic, new HTTP3ServerConnectionFactory(quic, settings));
  }

  static SslContextFactory.Server tls(String store) {
    SslContextFactory.Server tls = new SslContextFactory.Server();
    tls.setKeyStorePath(store);
    tls.setKeyStorePassword("secret");
    tls.setSniRequired(false);
    return tls;
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
