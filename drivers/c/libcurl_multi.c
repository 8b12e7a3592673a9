// libcurl's multi interface: as many handles as requests in flight, each used again as soon as it has ended.
#include <stdlib.h>

#include "easy.h"

static CURLM *multi;
static struct request *requests;
static long concurrency;

static void prepare(const struct job *job) {
    multi = curl_multi_init();
    concurrency = job->concurrency;
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, concurrency);
    requests = calloc((size_t)concurrency, sizeof *requests);
    for (long i = 0; i < concurrency; i++) request_open(&requests[i], job);
}

static int start(struct request *request) {
    if (!kit_take(&request->ticket)) return 0;
    request_aim(request);
    return curl_multi_add_handle(multi, request->handle) == CURLM_OK;
}

static void go(void) {
    int running = 0, left;
    for (long i = 0; i < concurrency; i++) running += start(&requests[i]);
    while (running > 0) {
        curl_multi_perform(multi, &left);
        int ended = 0;
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)); ended++) {
            struct request *request;
            CURLcode code = message->data.result;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request);
            curl_multi_remove_handle(multi, request->handle);
            request_ended(request, code);
            running += start(request) - 1;
        }
        if (!ended) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
}

static void close_all(void) {
    for (long i = 0; i < concurrency; i++) request_close(&requests[i]);
    free(requests);
    curl_multi_cleanup(multi);
}

int main(int argc, char **argv) {
    (void)argv;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    const struct driver driver = {
        curl_version_info(CURLVERSION_NOW)->version,
        "\"name\":\"libcurl-multi\",\"engine\":\"libcurl\",\"models\":[\"events\"],\"retries\":\"fixed:5\",\"max_concurrency\":10000",
        prepare, go, close_all};
    return kit_run(argc, &driver);
}
