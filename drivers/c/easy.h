// Handles of libcurl's easy interface as all drivers in C set them up, each with the body that it collects.
#pragma once
#include <curl/curl.h>

#include "kit.h"

struct request {
    CURL *handle;
    struct ticket ticket;
    struct body body;
};

// As many as requests in flight.
extern struct request *requests;
extern long requests_count;

void requests_open(const struct job *job);
void requests_close(void);
// Takes the next request, if there is one, and points the handle at its URL; the rest stays, and so does its connection.
bool request_next(struct request *request);
// The request of a handle.
struct request *request_of(CURL *handle);
// Counts what became of it.
void request_ended(struct request *request, CURLcode code);

// Replies to commands until `bye`, with a driver's description and its four functions: `call` prints the members of a reply.
int easy_run(int argc, const char *hello, void (*prepare)(const struct job *), void (*go)(void), void (*close)(void), void (*call)(const char *));
// What it says, but for its name, its model and the most requests that it keeps in flight. libcurl re-sends what a reused
// connection lost without a response.
#define HELLO(name, model, most) \
    "\"name\":\"" name "\",\"engine\":\"libcurl\",\"models\":[\"" model "\"],\"retries\":\"fixed:5\",\"max_concurrency\":" most
