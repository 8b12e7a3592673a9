// One `go`: hands out requests, verifies and counts responses; threads take turns.
#include "round.h"
#include "pace.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_KINDS = 16, BUCKETS = 256 + 128 * 24 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct job *job;
static uint64_t next_id, end_id, every, untimed, done, failed, bytes;
static uint32_t sum;
static uint64_t latencies[BUCKETS];
static struct { char name[80]; uint64_t count; } kinds[MOST_KINDS];

static int64_t now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000 + at.tv_nsec;
}

void round_begin(const struct job *of, uint64_t first, uint64_t count, uint64_t lat_every) {
    job = of, next_id = first, end_id = first + count, every = lat_every;
    untimed = done = failed = bytes = sum = 0;
    memset(kinds, 0, sizeof kinds);
    memset(latencies, 0, sizeof latencies);
}

// Buckets of microseconds, which keep eight significant bits: exact below 256, then 128 for each doubling.
static unsigned bucket_of(uint64_t us) {
    unsigned shift = 0;
    if (us > UINT32_MAX) us = UINT32_MAX;
    while (us >> shift > 255) shift++;
    return shift ? 256 + (shift - 1) * 128 + (unsigned)(us >> shift) - 128 : (unsigned)us;
}

static unsigned long long begin_of(unsigned bucket) {
    if (bucket < 256) return bucket;
    return ((bucket - 256) % 128 + 128ull) << ((bucket - 256) / 128 + 1);
}

bool kit_take(struct ticket *ticket) {
    pthread_mutex_lock(&lock);
    bool any = next_id < end_id;
    if (any) {
        int64_t due = pace_due(next_id);
        ticket->taken = due ? due : untimed ? 0 : now_ns();
        untimed = (untimed ? untimed : every) - 1;
        snprintf(ticket->url, sizeof ticket->url, job->append_id ? "%s%llu" : "%s", job->url, (unsigned long long)next_id++);
    }
    pthread_mutex_unlock(&lock);
    return any;
}

// Reads eight hexadecimal digits, and of a document adds the numbers of all its records; false when there are none.
static bool check_value_of(struct body *body, uint32_t *check_value) {
    if (!strcmp(job->verify, "none")) return true;
    char digits[9] = "", *end;
    uint32_t numbers = 0;
    if (!strcmp(job->verify, "json")) {
        cJSON *page = cJSON_ParseWithLength(body->bytes, body->length);
        const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(page, "token"));
        const cJSON *record;
        cJSON_ArrayForEach(record, cJSON_GetObjectItemCaseSensitive(page, "records"))
            numbers += (uint32_t)cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(record, "numbers"));
        snprintf(digits, sizeof digits, "%s", text ? text : "");
        cJSON_Delete(page);
    } else if (body->length >= 8) {
        memcpy(digits, body->bytes + body->length - 8, 8);
    }
    *check_value = (uint32_t)strtoul(digits, &end, 16) + numbers;
    return end == digits + 8;
}

void kit_done(long status, struct body *body, const struct ticket *ticket) {
    char kind[32] = "check value";
    uint32_t check_value = 0;
    if (status / 100 != 2) snprintf(kind, sizeof kind, "status %ld", status);
    size_t length = body->length;
    bool good = status / 100 == 2 && check_value_of(body, &check_value);
    body->length = 0;
    if (!good) { kit_failed(kind); return; }
    pthread_mutex_lock(&lock);
    done++, bytes += length, sum += check_value;
    if (ticket->taken) latencies[bucket_of((uint64_t)((now_ns() - ticket->taken) / 1000))]++;
    pthread_mutex_unlock(&lock);
}

void kit_failed(const char *kind) {
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < MOST_KINDS - 1 && kinds[i].count && strcmp(kinds[i].name, kind)) i++;
    snprintf(kinds[i].name, sizeof kinds[i].name, "%s", kind);
    kinds[i].count++, failed++;
    pthread_mutex_unlock(&lock);
}

size_t kit_write(char *from, size_t size, size_t count, void *into) {
    struct body *body = into;
    size_t more = size * count;
    if (body->length + more > body->capacity) {
        char *grown = realloc(body->bytes, body->capacity = 2 * (body->length + more));
        if (!grown) return 0;
        body->bytes = grown;
    }
    memcpy(body->bytes + body->length, from, more);
    body->length += more;
    return more;
}

void round_reply(void) {
    printf("\"ok\":true,\"done\":%llu,\"errors\":%llu,\"errors_by\":{", (unsigned long long)done, (unsigned long long)failed);
    for (int i = 0; i < MOST_KINDS && kinds[i].count; i++)
        printf("%s\"%s\":%llu", i ? "," : "", kinds[i].name, (unsigned long long)kinds[i].count);
    printf("},\"bytes\":%llu,\"sum\":%u,\"lat_us\":[", (unsigned long long)bytes, sum);
    for (unsigned i = 0, any = 0; i < BUCKETS; i++)
        if (latencies[i]) printf("%s[%llu,%llu]", any++ ? "," : "", begin_of(i), (unsigned long long)latencies[i]);
    printf("]");
}
