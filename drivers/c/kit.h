// The harness's side of every driver in C: replies to commands, hands out requests, verifies and counts responses.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The settings of `prepare`.
struct job {
    char method[16], url[512], verify[8], ca[512];
    bool append_id, keepalive;
    long concurrency, timeout_ms;
};

// A request that was taken: its URL, and when it was taken if it is to be timed (else 0).
struct ticket {
    char url[544];
    int64_t taken;
};

// The body of a response, in a buffer that grows.
struct body {
    char *bytes;
    size_t length, capacity;
};

// The next request; false when all are taken. These three may be called by several threads.
bool kit_take(struct ticket *ticket);
// Counts a response whose body has been read, and empties the body for the next.
void kit_done(long status, struct body *body, const struct ticket *ticket);
void kit_failed(const char *kind);
// Collects a body, as libcurl's CURLOPT_WRITEFUNCTION.
size_t kit_write(char *bytes, size_t size, size_t count, void *body);

// Replies to commands until `bye`, or prints the version when there is an argument. `hello` is what else the driver
// says of itself: members of a JSON object.
struct driver {
    const char *version, *hello;
    void (*prepare)(const struct job *);
    void (*go)(void);
    void (*close)(void);
    void (*call)(const char *line); // prints the members of the reply
};
int kit_run(int argc, const struct driver *driver);
