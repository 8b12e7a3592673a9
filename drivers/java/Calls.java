// The command `call`: makes one call for an audit, with the client's own defaults, and reports its outcome.

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/** Which calls an audit may make: the words, and how a client is made that makes them. */
record Calls(String words, Opening opening) {
  interface Opening { Caller open(boolean tuned) throws Exception; }

  /** A client with a pool of its own; it may be AutoCloseable. */
  interface Caller { Client.Response call(Call call) throws Exception; }

  /** The call to make. `body` is null if there is none. */
  record Call(String method, String url, List<String[]> fields, byte[] body, int timeoutMs, Boolean follow) {
    boolean follows(boolean usual) { return follow == null ? usual : follow; }
    void each(BiConsumer<String, String> field) { fields.forEach(pair -> field.accept(pair[0], pair[1])); }
    /** The body; without bytes if there is none. */
    byte[] content() { return body == null ? new byte[0] : body; }
  }

  private static Caller caller;

  Map<String, Object> reply(JsonObject line, boolean tuned) throws Exception {
    for (String word : line.get("needs").getAsString().split(",")) {
      if (!word.isEmpty() && !List.of(words.split(" ")).contains(word)) return refused(word);
    }
    if (line.get("new_client").getAsBoolean() || caller == null) {
      if (caller instanceof AutoCloseable closing) closing.close();
      caller = opening.open(tuned);
    }
    long begun = System.nanoTime();
    Map<String, Object> claim = outcome(call(line));
    claim.put("ms", (System.nanoTime() - begun) / 1_000_000);
    return claim;
  }

  static Map<String, Object> refused(String what) { return Map.of("ok", false, "error", "unsupported", "what", what); }

  private static Map<String, Object> outcome(Call call) {
    try {
      Client.Response response = caller.call(call);
      byte[] hash = MessageDigest.getInstance("SHA-256").digest(response.body());
      return new HashMap<>(Map.of("status", response.status(), "bytes", response.body().length, "sha256", HexFormat.of().formatHex(hash)));
    } catch (Exception error) {
      String text = String.valueOf(error.getMessage()).replaceAll("[^ -~]", "?");
      return new HashMap<>(Map.of("class", error.getClass().getName(), "text", text.substring(0, Math.min(text.length(), 500))));
    }
  }

  private static Call call(JsonObject line) {
    JsonElement body = line.get("body"), follow = line.get("follow");
    List<String[]> fields = Arrays.stream(line.get("fields").getAsString().split("&")).filter(pair -> !pair.isEmpty())
        .map(pair -> Arrays.stream(pair.split("=", 2)).map(Calls::plain).toArray(String[]::new)).toList();
    return new Call(line.get("method").getAsString(), line.get("url").getAsString(), fields,
        body == null ? null : plain(body.getAsString()).getBytes(StandardCharsets.UTF_8), line.get("timeout_ms").getAsInt(),
        follow == null ? null : follow.getAsBoolean());
  }

  private static String plain(String text) { return URLDecoder.decode(text, StandardCharsets.UTF_8); }
}
