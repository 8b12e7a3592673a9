// One `go`: hands out requests, verifies and counts responses; threads take turns.

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;

final class Round {
  private final Job job;
  private final long first, count, every;
  private final Pace pace;
  private final AtomicLong taken = new AtomicLong();
  private final Map<String, Long> errors = new TreeMap<>();
  private final Map<Long, Long> latencies = new HashMap<>();
  private long done, bytes, sum;
  private String firstError = "";

  Round(Job job, long first, long count, long every, Pace pace) {
    this.job = job;
    this.pace = pace;
    this.first = first;
    this.count = count;
    this.every = every;
  }

  /** Sends one request after the other until none is left. */
  void work(Client client) {
    for (long n = taken.getAndIncrement(); n < count; n = taken.getAndIncrement()) {
      String url = job.appendId() ? job.url() + (first + n) : job.url();
      long start = pace == null ? System.nanoTime() : pace.await(n);
      try {
        Client.Response response = client.send(url);
        if (response.status() / 100 != 2) throw new IllegalStateException("status " + response.status());
        done(response.body().length, checkValue(response.body()), n % every == 0 ? start : 0);
      } catch (IllegalStateException status) {
        failed(status.getMessage(), status.getMessage());
      } catch (Exception error) {
        failed(error.getClass().getName(), error.toString());
      }
    }
  }

  /** The check value at the end of a body. For a document, the numbers of all its records are added. */
  private long checkValue(byte[] body) {
    return switch (job.verify()) {
      case "none" -> 0;
      case "json" -> {
        String text = new String(body, StandardCharsets.UTF_8);
        JsonObject page = JsonParser.parseString(text).getAsJsonObject();
        long sum = Long.parseLong(page.get("token").getAsString(), 16);
        for (JsonElement record : page.getAsJsonArray("records")) sum += record.getAsJsonObject().get("numbers").getAsLong();
        yield sum;
      }
      default -> Long.parseLong(new String(body, body.length - 8, 8, StandardCharsets.ISO_8859_1), 16);
    };
  }

  private synchronized void done(int length, long checkValue, long start) {
    done += 1;
    bytes += length;
    sum += checkValue;
    if (start != 0) latencies.merge(bucket((System.nanoTime() - start) / 1000), 1L, Long::sum);
  }

  /** Microseconds to eight significant bits, rounded down. */
  private static long bucket(long us) {
    int shift = Math.max(56 - Long.numberOfLeadingZeros(us), 0);
    return us >> shift << shift;
  }

  private synchronized void failed(String kind, String message) {
    if (errors.isEmpty()) firstError = message;
    errors.merge(kind, 1L, Long::sum);
  }

  synchronized Map<String, Object> reply() {
    return Map.of("done", done, "errors", count - done, "errors_by", errors, "first_error", firstError, "bytes", bytes, "sum", sum & 0xffffffffL,
        "lat_us", latencies.entrySet().stream().map(time -> List.of(time.getKey(), time.getValue())).toList());
  }
}
