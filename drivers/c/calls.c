// The command `call`: makes one call for an audit, with libcurl's own defaults, and reports its outcome.
#include "calls.h"
#include "easy.h"
#include "sha256.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static CURL *handle; // libcurl's documentation recommends one handle for all calls of a thread
static CURLM *multi; // its connections belong to it, if it makes the calls
static struct body received;

static const char *text(const cJSON *line, const char *key) {
    const char *found = cJSON_GetStringValue(cJSON_GetObjectItem(line, key));
    return found ? found : "";
}

static long number(const cJSON *line, const char *key) {
    const cJSON *found = cJSON_GetObjectItem(line, key);
    return found ? (long)found->valuedouble : 0;
}

// The first word of `needs` that libcurl does not know, in `word`; false if it knows all.
static bool refused(const char *needs, bool is_multi, char *word, size_t size) {
    for (; *needs; needs += strspn(needs, ",")) {
        size_t length = strcspn(needs, ",");
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%.*s\"", (int)length, needs);
        snprintf(word, size, "%.*s", (int)length, needs);
        if (!strstr(is_multi ? CALLS_OF_MULTI : CALLS, quoted)) return true;
        needs += length;
    }
    return false;
}

// What stands before `end` in percent-encoding; the caller frees it. Moves `from` behind it.
static char *decoded(const char **from, const char *end, int *length) {
    size_t coded = strcspn(*from, end);
    char *plain = curl_easy_unescape(handle, *from, (int)coded, length);
    *from += coded;
    return plain;
}

static struct curl_slist *fields_of(const char *form) {
    struct curl_slist *fields = NULL;
    for (; *form; form += *form == '&') {
        char *name = decoded(&form, "=&", NULL);
        form += *form == '=';
        char *value = decoded(&form, "&", NULL);
        size_t size = strlen(name) + strlen(value) + 3;
        char *field = malloc(size);
        snprintf(field, size, *value ? "%s: %s" : "%s;%s", name, value); // `;` sends a field without a value
        fields = curl_slist_append(fields, field);
        free(field), curl_free(name), curl_free(value);
    }
    return fields;
}

// Each method by the option that libcurl's documentation gives for it. `file` has the body, so that it can be sent again.
static void set_method(const char *method, const char *body, int length, FILE *file) {
    if (!strcmp(method, "HEAD")) {
        curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
    } else if (!strcmp(method, "POST")) {
        curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, (long)length);
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body);
    } else if (!strcmp(method, "PUT") && file) {
        curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(handle, CURLOPT_READDATA, file);
        curl_easy_setopt(handle, CURLOPT_INFILESIZE, (long)length);
    } else if (strcmp(method, "GET")) {
        curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, method);
        if (length) curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, (long)length), curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body);
    }
}

// The addresses of the URL's host, in the form of CURLOPT_RESOLVE; NULL for none.
static struct curl_slist *addresses_of(const cJSON *line) {
    const char *url = text(line, "url"), *hosts = text(line, "hosts"), *start = strstr(url, "://");
    if (!*hosts || !start) return NULL;
    int length = (int)strcspn(start + 3, "/?#");
    char entry[512]; // host:port:address,address
    snprintf(entry, sizeof entry, "%.*s:%s", length, start + 3, hosts);
    return curl_slist_append(NULL, entry);
}

// Sets variables that stand as in a form.
static void set_environment(const char *form) {
    for (; *form; form += *form == '&') {
        char *name = decoded(&form, "=&", NULL);
        form += *form == '=';
        char *value = decoded(&form, "&", NULL);
        setenv(name, value, 1);
        curl_free(name), curl_free(value);
    }
}

// How it connects.
static void set_route(const cJSON *line, const struct curl_slist *addresses) {
    const char *ca = text(line, "ca");
    if (!cJSON_HasObjectItem(line, "environment")) {
        curl_easy_setopt(handle, CURLOPT_PROXY, text(line, "proxy"));
        curl_easy_setopt(handle, CURLOPT_NOPROXY, ""); // else exceptions of the environment count here too
    }
    set_environment(text(line, "environment"));
    curl_easy_setopt(handle, CURLOPT_RESOLVE, addresses);
    if (*ca) curl_easy_setopt(handle, CURLOPT_CAINFO, ca);
    if (cJSON_IsFalse(cJSON_GetObjectItem(line, "verify"))) {
        curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (number(line, "idle_ms")) curl_easy_setopt(handle, CURLOPT_MAXAGE_CONN, number(line, "idle_ms") / 1000);
}

static void set_up(const cJSON *line, const struct curl_slist *fields, char *problem) {
    curl_easy_reset(handle); // connections and cookies stay
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_COOKIEFILE, "");
    curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, problem);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, kit_write);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &received);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, fields);
    curl_easy_setopt(handle, CURLOPT_URL, text(line, "url"));
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, cJSON_IsTrue(cJSON_GetObjectItem(line, "follow")) ? 1L : 0L);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, number(line, "timeout_ms"));
}

static void print_escaped(const char *bytes) {
    for (; *bytes; bytes++) {
        if (*bytes < ' ' || *bytes > '~' || strchr("\"\\", *bytes)) printf("\\u%04x", (unsigned char)*bytes);
        else putchar(*bytes);
    }
}

static void print_error(CURLcode code, const char *problem) {
    printf("\"class\":\"curl %d: %s\",\"text\":\"", (int)code, curl_easy_strerror(code));
    print_escaped(problem);
    printf("\"");
}

static void print_outcome(CURLcode code, const char *problem) {
    if (code != CURLE_OK) {
        print_error(code, problem);
        return;
    }
    long status = 0;
    char digits[65];
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    sha256(received.bytes, received.length, digits);
    printf("\"status\":%ld,\"bytes\":%zu,\"sha256\":\"%s\"", status, received.length, digits);
}

static void run_multi(void) {
    int left = 1;
    while (curl_multi_perform(multi, &left) == CURLM_OK && left) curl_multi_poll(multi, NULL, 0, 1000, NULL);
}

static CURLcode perform_multi(CURL *easy) {
    int left;
    curl_multi_add_handle(multi, easy);
    run_multi();
    CURLcode code = curl_multi_info_read(multi, &left)->data.result;
    curl_multi_remove_handle(multi, easy);
    return code;
}

// Equal calls at once, each on a copy of the handle.
static void at_once(long count, const char *problem) {
    CURL **calls = calloc((size_t)count, sizeof *calls);
    struct body *bodies = calloc((size_t)count, sizeof *bodies);
    for (long i = 0; i < count; i++) {
        calls[i] = curl_easy_duphandle(handle);
        curl_easy_setopt(calls[i], CURLOPT_WRITEDATA, &bodies[i]);
        curl_multi_add_handle(multi, calls[i]);
    }
    run_multi();
    int left;
    long errors = 0;
    CURLcode last = CURLE_OK;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
        if (message->data.result != CURLE_OK) errors++, last = message->data.result;
    }
    printf("\"responses\":%ld,\"errors\":%ld", count - errors, errors);
    if (errors) printf(","), print_error(last, problem);
    for (long i = 0; i < count; i++) {
        curl_multi_remove_handle(multi, calls[i]);
        curl_easy_cleanup(calls[i]);
        free(bodies[i].bytes);
    }
    free(calls), free(bodies);
}

// Makes the call and prints its outcome, with the milliseconds that it took.
static void call(const cJSON *line, CURLcode (*perform)(CURL *), const char *problem) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (number(line, "parallel")) at_once(number(line, "parallel"), problem);
    else print_outcome(perform(handle), problem);
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf(",\"ms\":%ld", (long)(to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000);
}

// The call from a child, which prints its outcome in place of its parent.
static void call_of_child(const cJSON *line, CURLcode (*perform)(CURL *), const char *problem) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        call(line, perform, problem);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void close_client(void) {
    curl_easy_cleanup(handle);
    curl_multi_cleanup(multi);
    handle = NULL, multi = NULL;
}

static void make(const cJSON *line, CURLcode (*perform)(CURL *)) {
    bool closes = !strcmp(text(line, "by"), "close");
    if (closes || cJSON_IsTrue(cJSON_GetObjectItem(line, "new_client"))) close_client();
    printf("\"ok\":true,");
    if (closes) {
        printf("\"responses\":0,\"errors\":0,\"ms\":0");
        return;
    }
    if (!handle) {
        handle = curl_easy_init();
        multi = curl_multi_init();
        curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, number(line, "pool_size"));
    }
    char problem[CURL_ERROR_SIZE] = "";
    const char *form = text(line, "body");
    int length = 0;
    char *body = decoded(&form, "", &length);
    FILE *file = length ? fmemopen(body, (size_t)length, "r") : NULL;
    struct curl_slist *fields = fields_of(text(line, "fields")), *addresses = addresses_of(line);
    received.length = 0;
    set_up(line, fields, problem);
    set_route(line, addresses);
    set_method(text(line, "method"), body, length, file);
    if (!strcmp(text(line, "by"), "fork")) call_of_child(line, perform, problem);
    else call(line, perform, problem);
    curl_slist_free_all(fields);
    curl_slist_free_all(addresses);
    if (file) fclose(file);
    curl_free(body);
}

static void reply(const char *text_of_line, CURLcode (*perform)(CURL *)) {
    cJSON *line = cJSON_Parse(text_of_line);
    char word[64];
    if (refused(text(line, "needs"), perform == perform_multi, word, sizeof word)) {
        printf("\"ok\":false,\"error\":\"unsupported\",\"what\":\"%s\"", word);
    } else {
        make(line, perform);
    }
    cJSON_Delete(line);
}

void call_easy(const char *line) { reply(line, curl_easy_perform); }
void call_multi(const char *line) { reply(line, perform_multi); }
