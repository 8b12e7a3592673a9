// The JDK's own com.sun.net.httpserver; see ../../lib/listeners.rb for its responses. Arguments: ports.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.zip.CRC32;

public class Jdk {
  public static void main(String[] ports) throws IOException {
    for (String port : ports) {
      HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(port)), 200);
      server.createContext("/", Jdk::respond);
      server.setExecutor(Executors.newFixedThreadPool(64));
      server.start();
    }
  }

  static void respond(HttpExchange exchange) throws IOException {
    String method = exchange.getRequestMethod();
    String path = exchange.getRequestURI().toString();
    if (path.equals("/early")) {
      exchange.sendResponseHeaders(413, -1);
    } else if (path.startsWith("/early/")) {
      byte[] why = "x".repeat(Integer.parseInt(path.substring(7))).getBytes();
      exchange.sendResponseHeaders(413, why.length);
      exchange.getResponseBody().write(why);
    } else if (path.equals("/upload")) {
      CRC32 sum = new CRC32();
      long bytes = 0;
      byte[] piece = new byte[65536];
      InputStream body = exchange.getRequestBody();
      for (int read; (read = body.read(piece)) > 0; bytes += read) sum.update(piece, 0, read);
      write(exchange, "{\"method\":\"" + method + "\",\"bytes\":" + bytes + ",\"crc32\":" + sum.getValue() + "}");
    } else if (path.startsWith("/bytes/")) {
      byte[] all = new byte[Integer.parseInt(path.substring(7))];
      for (int at = 0; at < all.length; at++) all[at] = (byte) ('a' + at % 26);
      send(exchange, all);
    } else {
      write(exchange, "{\"method\":\"" + method + "\",\"path\":\"" + path + "\"}");
    }
    exchange.close();
  }

  static void write(HttpExchange exchange, String json) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    send(exchange, json.getBytes());
  }

  static void send(HttpExchange exchange, byte[] body) throws IOException {
    boolean isHead = exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(200, isHead ? -1 : body.length);
    if (!isHead) exchange.getResponseBody().write(body);
  }
}
