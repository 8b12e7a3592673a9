// One `go`: hands out requests, verifies and counts answers; threads take turns.

import com.google.gson.JsonParser;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;

final class Round {
  private final Job job;
  private final long first, count, every;
  private final AtomicLong taken = new AtomicLong();
  private final Map<String, Long> errors = new TreeMap<>();
  private final List<Long> latencies = new ArrayList<>();
  private long done, bytes, sum;

  Round(Job job, long first, long count, long every) {
    this.job = job;
    this.first = first;
    this.count = count;
    this.every = every;
  }

  /** Sends one request after the other until none is left. */
  void work(Client client) {
    for (long n = taken.getAndIncrement(); n < count; n = taken.getAndIncrement()) {
      String url = job.appendId() ? job.url() + (first + n) : job.url();
      long start = System.nanoTime();
      try {
        Client.Answer answer = client.send(url);
        if (answer.status() / 100 != 2) throw new IllegalStateException("status " + answer.status());
        done(answer.body().length, token(answer.body()), n % every == 0 ? start : 0);
      } catch (IllegalStateException status) {
        failed(status.getMessage());
      } catch (Exception error) {
        failed(error.getClass().getName());
      }
    }
  }

  private long token(byte[] body) {
    return switch (job.verify()) {
      case "none" -> 0;
      case "json" -> {
        String text = new String(body, StandardCharsets.UTF_8);
        yield Long.parseLong(JsonParser.parseString(text).getAsJsonObject().get("token").getAsString(), 16);
      }
      default -> Long.parseLong(new String(body, body.length - 8, 8, StandardCharsets.ISO_8859_1), 16);
    };
  }

  private synchronized void done(int length, long token, long start) {
    done += 1;
    bytes += length;
    sum += token;
    if (start != 0) latencies.add((System.nanoTime() - start) / 1000);
  }

  private synchronized void failed(String kind) { errors.merge(kind, 1L, Long::sum); }

  synchronized Map<String, Object> answer() {
    return Map.of("done", done, "errors", count - done, "errors_by", errors, "bytes", bytes, "sum", sum & 0xffffffffL,
        "lat_us", latencies);
  }
}
