// When the requests of a `go` at a rate are due, on the clock that times them.

import com.google.gson.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** `offsets` is null when the rate is constant. */
record Pace(long start, double rate, List<String> offsets) {
  /** Null where each request follows the end of another. */
  static Pace of(JsonObject command) throws Exception {
    if (!command.has("rate")) return null;
    // `start` is on the clock of the day.
    long left = command.get("start").getAsLong() - ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    List<String> offsets = command.has("due") ? Files.readAllLines(Path.of(command.get("due").getAsString())) : null;
    return new Pace(System.nanoTime() + left * 1000, command.get("rate").getAsDouble(), offsets);
  }

  /** Waits until the request at this position is due, and returns when that was. */
  long await(long position) {
    long due = start + (offsets == null ? (long) (position * 1e9 / rate) : Long.parseLong(offsets.get((int) position)) * 1000);
    try {
      TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
    } catch (InterruptedException none) {
      Thread.currentThread().interrupt();
    }
    return due;
  }
}
