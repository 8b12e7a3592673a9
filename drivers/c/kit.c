// Replies to commands line by line; the harness's lines are flat, without escapes, so looking for keys is enough.
#include "kit.h"
#include "pace.h"
#include "round.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HELLO[] = "\"ok\":true,\"proto\":2,\"runtime\":\"native\",\"http\":[\"1.1\"],\"tls\":true,\"keepalive\":[true,false],"
    "\"cores\":1,\"verify\":[\"tail\",\"json\",\"none\"],\"methods\":[\"GET\",\"HEAD\",\"POST\",\"PUT\",\"PATCH\",\"DELETE\",\"OPTIONS\"]";

// The text behind a key; the empty text when it is absent.
static const char *value(const char *line, const char *key) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *found = strstr(line, quoted);
    return found ? found + strlen(quoted) : "";
}

static void text(const char *line, const char *key, char *into, size_t size) {
    const char *from = value(line, key);
    size_t length = *from == '"' ? strcspn(++from, "\"") : 0;
    snprintf(into, size, "%.*s", (int)length, from);
}

static uint64_t number(const char *line, const char *key) { return strtoull(value(line, key), NULL, 10); }

static struct job read_job(const char *line) {
    struct job job = {.append_id = *value(line, "append_id") == 't', .keepalive = *value(line, "keepalive") == 't',
                      .concurrency = (long)number(line, "concurrency"), .timeout_ms = (long)number(line, "timeout_ms")};
    text(line, "method", job.method, sizeof job.method);
    text(line, "url", job.url, sizeof job.url);
    text(line, "verify", job.verify, sizeof job.verify);
    text(line, "ca", job.ca, sizeof job.ca);
    return job;
}

int kit_run(int argc, const struct driver *driver) {
    if (argc > 1) return puts(driver->version) < 0;
    static struct job job;
    static char line[8 << 20];
    char cmd[16];
    bool ready = false;
    while (fgets(line, sizeof line, stdin)) {
        text(line, "cmd", cmd, sizeof cmd);
        printf("{\"id\":%llu,", (unsigned long long)number(line, "id"));
        if (!strcmp(cmd, "hello")) {
            printf("%s,\"version\":\"%s\",%s", HELLO, driver->version, driver->hello);
        } else if (!strcmp(cmd, "prepare")) {
            if (ready) driver->close();
            job = read_job(line);
            driver->prepare(&job);
            ready = true;
            printf("\"ok\":true");
        } else if (!strcmp(cmd, "go") && ready) {
            char due[512];
            text(line, "due", due, sizeof due);
            pace_begin(strtod(value(line, "rate"), NULL), number(line, "start"), number(line, "first"), due);
            round_begin(&job, number(line, "first"), number(line, "count"), number(line, "lat_every"));
            driver->go();
            round_reply();
        } else if (!strcmp(cmd, "call")) {
            driver->call(line);
        } else if (!strcmp(cmd, "bye")) {
            printf("\"ok\":true");
        } else {
            printf("\"ok\":false,\"error\":\"unsupported\",\"what\":\"%s\"", cmd);
        }
        printf("}\n");
        fflush(stdout);
        if (!strcmp(cmd, "bye")) break;
    }
    return 0;
}
