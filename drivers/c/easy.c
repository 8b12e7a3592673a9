// Handles of libcurl's easy interface as all drivers in C set them up, each with the body that it collects.
#include "easy.h"

#include <stdlib.h>
#include <string.h>

struct request *requests;
long requests_count;

static void request_open(struct request *request, const struct job *job) {
    static struct curl_slist json = {"Accept: application/json", NULL};
    CURL *handle = request->handle = curl_easy_init();
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, job->timeout_ms);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, kit_write);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &request->body);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, request);
    curl_easy_setopt(handle, CURLOPT_FORBID_REUSE, job->keepalive ? 0L : 1L);
    curl_easy_setopt(handle, CURLOPT_NOBODY, strcmp(job->method, "HEAD") ? 0L : 1L);
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, job->method);
    if (!strcmp(job->verify, "json")) curl_easy_setopt(handle, CURLOPT_HTTPHEADER, &json);
    if (*job->ca) curl_easy_setopt(handle, CURLOPT_CAINFO, job->ca);
}

bool request_next(struct request *request) {
    return kit_take(&request->ticket) && curl_easy_setopt(request->handle, CURLOPT_URL, request->ticket.url) == CURLE_OK;
}

struct request *request_of(CURL *handle) {
    struct request *request;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &request);
    return request;
}

void request_ended(struct request *request, CURLcode code) {
    long status = 0;
    curl_easy_getinfo(request->handle, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK) {
        kit_done(status, &request->body, &request->ticket);
    } else {
        request->body.length = 0;
        kit_failed(curl_easy_strerror(code));
    }
}

void requests_open(const struct job *job) {
    requests_count = job->concurrency;
    requests = calloc((size_t)requests_count, sizeof *requests);
    for (long i = 0; i < requests_count; i++) request_open(&requests[i], job);
}

void requests_close(void) {
    for (long i = 0; i < requests_count; i++) {
        curl_easy_cleanup(requests[i].handle);
        free(requests[i].body.bytes);
    }
    free(requests);
}

int easy_run(int argc, const char *hello, void (*prepare)(const struct job *), void (*go)(void), void (*close)(void), void (*call)(const char *)) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    const struct driver driver = {curl_version_info(CURLVERSION_NOW)->version, hello, prepare, go, close, call};
    return kit_run(argc, &driver);
}
