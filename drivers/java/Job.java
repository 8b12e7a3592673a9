// The settings of `prepare`, for drivers in Java.

import com.google.gson.JsonObject;

/** `ca` is null when the certificates of the JDK are to be trusted. */
record Job(String method, String url, boolean appendId, int concurrency, boolean keepalive, String verify, int timeoutMs,
    String ca, boolean tuned) {
  static Job of(JsonObject command, boolean tuned) {
    return new Job(command.get("method").getAsString(), command.get("url").getAsString(), command.get("append_id").getAsBoolean(),
        command.get("concurrency").getAsInt(), command.get("keepalive").getAsBoolean(), command.get("verify").getAsString(),
        command.get("timeout_ms").getAsInt(), command.has("ca") ? command.get("ca").getAsString() : null, tuned);
  }

  String accept() { return verify.equals("json") ? "application/json" : "*/*"; }
}
