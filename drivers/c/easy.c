// A handle of libcurl's easy interface as all drivers in C set it up, with the body that it collects.
#include "easy.h"

#include <stdlib.h>
#include <string.h>

void request_open(struct request *request, const struct job *job) {
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

void request_aim(struct request *request) { curl_easy_setopt(request->handle, CURLOPT_URL, request->ticket.url); }

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

void request_close(struct request *request) {
    curl_easy_cleanup(request->handle);
    free(request->body.bytes);
}
