// The harness's side of every driver in Java: replies to commands, keeps as many threads as requests in flight.

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.stream.IntStream;

final class Kit {
  interface Opening { Client open(Job job) throws Exception; }

  private final Map<String, Object> about;
  private final Opening opening;
  private final Calls calls;
  private final boolean tuned;
  private Job job;
  private Client client;
  private ExecutorService threads;

  private Kit(Map<String, Object> about, Opening opening, Calls calls, boolean tuned) {
    this.about = about;
    this.opening = opening;
    this.calls = calls;
    this.tuned = tuned;
  }

  /** Replies to commands until `bye`, or prints the client's version for `--version`; `tuned` is the other argument. */
  static void run(String[] arguments, Map<String, Object> about, Opening opening, Calls calls) throws Exception {
    if (arguments.length > 0 && arguments[arguments.length - 1].equals("--version")) {
      System.out.println(about.get("version"));
      return;
    }
    Kit kit = new Kit(about, opening, calls, arguments.length > 0 && arguments[0].equals("tuned"));
    PrintStream out = System.out;
    System.setOut(System.err); // what a library prints must not stand between the responses
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonObject command = JsonParser.parseString(line).getAsJsonObject();
      String cmd = command.get("cmd").getAsString();
      Map<String, Object> reply = new TreeMap<>(Map.of("id", command.get("id"), "ok", true));
      try {
        kit.reply(cmd, command, reply);
      } catch (Exception error) {
        reply.putAll(Map.of("ok", false, "error", "failed", "what", error.toString()));
      }
      out.println(new Gson().toJson(reply));
      if (cmd.equals("bye")) break;
    }
    System.exit(0);
  }

  private void reply(String cmd, JsonObject command, Map<String, Object> reply) throws Exception {
    switch (cmd) {
      case "hello" -> {
        reply.putAll(Map.of("proto", 2, "runtime", "java " + Runtime.version(), "http", List.of("1.1"), "tls", true,
            "models", List.of("threads"), "keepalive", List.of(true, false), "retries", "off", "max_concurrency", 512));
        reply.putAll(Map.of("cores", 1, "paces", List.of("rate"), "verify", List.of("tail", "json", "none"),
            "methods", List.of("GET", "HEAD", "DELETE", "OPTIONS"), "calls", List.of(calls.words().split(" "))));
        reply.putAll(about);
        if (tuned) reply.put("name", about.get("name") + "-tuned");
      }
      case "prepare" -> prepare(command);
      case "go" -> reply.putAll(go(command));
      case "call" -> reply.putAll(calls.reply(command, tuned));
      case "bye" -> {}
      default -> reply.putAll(Calls.refused(cmd));
    }
  }

  private void prepare(JsonObject command) throws Exception {
    if (client != null) {
      client.close();
      threads.shutdown();
    }
    job = Job.of(command, tuned);
    client = opening.open(job);
    threads = Executors.newFixedThreadPool(job.concurrency());
    ((ThreadPoolExecutor) threads).prestartAllCoreThreads(); // not while the clock runs
  }

  private Map<String, Object> go(JsonObject command) throws Exception {
    Round round = new Round(job, command.get("first").getAsLong(), command.get("count").getAsLong(), command.get("lat_every").getAsLong(), Pace.of(command));
    List<? extends Future<?>> running =
        IntStream.range(0, job.concurrency()).mapToObj(i -> threads.submit(() -> round.work(client))).toList();
    for (Future<?> one : running) one.get();
    return round.reply();
  }
}
