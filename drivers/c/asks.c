// The command `ask`: makes one call for an audit, with libcurl's own defaults, and reports its outcome.
#include "asks.h"
#include "easy.h"
#include "sha256.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char WORDS[] = ",method,body,fields,timeout,redirects,cookies,gzip,userinfo,raw-url,raw-method,";
static CURL *handle; // libcurl's documentation recommends one handle for all calls of a thread
static CURLM *multi; // its connections belong to it, if it makes the calls
static struct body received;

static const char *text(const cJSON *line, const char *key) {
    const char *found = cJSON_GetStringValue(cJSON_GetObjectItem(line, key));
    return found ? found : "";
}

// The first word of `needs` that libcurl does not know, in `word`; false if it knows all.
static bool refused(const char *needs, char *word, size_t size) {
    for (; *needs; needs += strspn(needs, ",")) {
        size_t length = strcspn(needs, ",");
        char quoted[64];
        snprintf(quoted, sizeof quoted, ",%.*s,", (int)length, needs);
        snprintf(word, size, "%.*s", (int)length, needs);
        if (!strstr(WORDS, quoted)) return true;
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

static void set_up(const cJSON *line, const struct curl_slist *fields, char *problem) {
    curl_easy_reset(handle); // connections and cookies stay
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_COOKIEFILE, "");
    curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, problem);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, kit_write);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &received);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, fields);
    curl_easy_setopt(handle, CURLOPT_URL, text(line, "url"));
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, cJSON_IsTrue(cJSON_GetObjectItem(line, "follow")) ? 1L : 0L);
    const cJSON *limit = cJSON_GetObjectItem(line, "timeout_ms");
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, limit ? (long)limit->valuedouble : 0L);
}

static void print_escaped(const char *bytes) {
    for (; *bytes; bytes++) {
        if (*bytes < ' ' || *bytes > '~' || strchr("\"\\", *bytes)) printf("\\u%04x", (unsigned char)*bytes);
        else putchar(*bytes);
    }
}

static void print_outcome(CURLcode code, const char *problem) {
    if (code != CURLE_OK) {
        printf("\"class\":\"curl %d: %s\",\"text\":\"", (int)code, curl_easy_strerror(code));
        print_escaped(problem);
        printf("\"");
        return;
    }
    long status = 0;
    char digits[65];
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    sha256(received.bytes, received.length, digits);
    printf("\"status\":%ld,\"bytes\":%zu,\"sha256\":\"%s\"", status, received.length, digits);
}

static CURLcode perform_multi(CURL *easy) {
    int left = 1;
    curl_multi_add_handle(multi, easy);
    while (curl_multi_perform(multi, &left) == CURLM_OK && left) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    CURLcode code = curl_multi_info_read(multi, &left)->data.result;
    curl_multi_remove_handle(multi, easy);
    return code;
}

static void make(const cJSON *line, CURLcode (*perform)(CURL *)) {
    if (cJSON_IsTrue(cJSON_GetObjectItem(line, "fresh")) || !handle) {
        curl_easy_cleanup(handle);
        curl_multi_cleanup(multi);
        handle = curl_easy_init();
        multi = curl_multi_init();
    }
    char problem[CURL_ERROR_SIZE] = "";
    const char *form = text(line, "body");
    int length = 0;
    char *body = decoded(&form, "", &length);
    FILE *file = length ? fmemopen(body, (size_t)length, "r") : NULL;
    struct curl_slist *fields = fields_of(text(line, "fields"));
    received.length = 0;
    set_up(line, fields, problem);
    set_method(text(line, "method"), body, length, file);
    CURLcode code = perform(handle);
    double seconds = 0;
    curl_easy_getinfo(handle, CURLINFO_TOTAL_TIME, &seconds);
    printf("\"ok\":true,\"ms\":%ld,", (long)(seconds * 1000));
    print_outcome(code, problem);
    curl_slist_free_all(fields);
    if (file) fclose(file);
    curl_free(body);
}

static void reply(const char *text_of_line, CURLcode (*perform)(CURL *)) {
    cJSON *line = cJSON_Parse(text_of_line);
    char word[64];
    if (refused(text(line, "needs"), word, sizeof word)) {
        printf("\"ok\":false,\"error\":\"unsupported\",\"what\":\"%s\"", word);
    } else {
        make(line, perform);
    }
    cJSON_Delete(line);
}

void asks_easy(const char *line) { reply(line, curl_easy_perform); }
void asks_multi(const char *line) { reply(line, perform_multi); }
