// A client that is ready: how it sends one request, and how it is let go.

interface Client extends AutoCloseable {
  record Response(int status, byte[] body) {}

  interface Sending { Response send(String url) throws Exception; }

  /** Many threads call it at once. */
  Response send(String url) throws Exception;

  @Override default void close() throws Exception {}

  static Client of(AutoCloseable closing, Sending sending) {
    return new Client() {
      @Override public Response send(String url) throws Exception { return sending.send(url); }
      @Override public void close() throws Exception { closing.close(); }
    };
  }
}
