// libcurl's multi interface: as many handles as requests in flight, each used again as soon as it has ended.
#include "easy.h"

static CURLM *multi;

static void prepare(const struct job *job) {
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, job->concurrency);
    requests_open(job);
}

static int start(struct request *request) {
    return request_next(request) && curl_multi_add_handle(multi, request->handle) == CURLM_OK;
}

static void go(void) {
    int running = 0, left;
    for (long i = 0; i < requests_count; i++) running += start(&requests[i]);
    while (running > 0) {
        curl_multi_perform(multi, &left);
        int ended = 0;
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)); ended++) {
            struct request *request = request_of(message->easy_handle);
            request_ended(request, message->data.result);
            curl_multi_remove_handle(multi, request->handle);
            running += start(request) - 1;
        }
        if (!ended) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
}

static void close_all(void) {
    requests_close();
    curl_multi_cleanup(multi);
}

int main(int argc, char **argv) {
    (void)argv;
    return easy_run(argc, HELLO("libcurl-multi", "events", "10000"), prepare, go, close_all);
}
