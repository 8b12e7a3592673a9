// libcurl's multi interface: as many handles as requests in flight, each used again as soon as it has ended.
#include "calls.h"
#include "easy.h"
#include "pace.h"

#include <stdlib.h>

static CURLM *multi;
static struct request **idle, *waiting; // the one that is taken and not yet due
static long idle_count;

static void prepare(const struct job *job) {
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, job->concurrency);
    requests_open(job);
    idle = calloc((size_t)requests_count, sizeof *idle);
    for (idle_count = 0; idle_count < requests_count; idle_count++) idle[idle_count] = &requests[idle_count];
}

static bool take(void) {
    if (!waiting && idle_count && request_next(idle[idle_count - 1])) waiting = idle[--idle_count];
    return waiting;
}

// Starts what is due, as far as handles are idle; returns how many.
static int start(void) {
    int started = 0;
    while (take() && pace_left(waiting->ticket.taken) == 0) {
        started += curl_multi_add_handle(multi, waiting->handle) == CURLM_OK;
        waiting = NULL;
    }
    return started;
}

static void go(void) {
    int left;
    for (int running = start(); running > 0 || waiting;) {
        if (!running) pace_wait(waiting->ticket.taken);
        curl_multi_perform(multi, &left);
        int ended = 0;
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)); ended++) {
            struct request *request = request_of(message->easy_handle);
            request_ended(request, message->data.result);
            curl_multi_remove_handle(multi, request->handle);
            idle[idle_count++] = request;
        }
        int started = start();
        running += started - ended;
        int64_t until = waiting ? pace_left(waiting->ticket.taken) / 1000000 + 1 : 1000; // milliseconds
        if (running && !ended && !started) curl_multi_poll(multi, NULL, 0, until < 1000 ? (int)until : 1000, NULL);
    }
}

static void close_all(void) {
    requests_close();
    free(idle);
    curl_multi_cleanup(multi);
}

int main(int argc, char **argv) {
    (void)argv;
    return easy_run(argc, HELLO("libcurl-multi", "events", "10000") ",\"paces\":[\"rate\"],\"calls\":[" CALLS_OF_MULTI "]", prepare, go, close_all, call_multi);
}
