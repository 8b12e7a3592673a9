// The settings of `prepare`, for drivers in Java.

import com.google.gson.JsonObject;

/** `ca` is null when the certificates of the JDK are to be trusted. */
record Job(String method, String url, boolean appendId, int concurrency, boolean keepalive, String verify, int timeoutMs,
    String ca, boolean tuned) {
  static Job of(JsonObject ask, boolean tuned) {
    return new Job(ask.get("method").getAsString(), ask.get("url").getAsString(), ask.get("append_id").getAsBoolean(),
        ask.get("concurrency").getAsInt(), ask.get("keepalive").getAsBoolean(), ask.get("verify").getAsString(),
        ask.get("timeout_ms").getAsInt(), ask.has("ca") ? ask.get("ca").getAsString() : null, tuned);
  }

  String accept() { return verify.equals("json") ? "application/json" : "*/*"; }
}
