// When the requests of a `go` at a rate are due, on the clock that times them.
#include "pace.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double per_second;
static int64_t start_ns;
static uint64_t first, listed, room;
static int64_t *offsets_us;

int64_t pace_clock(int clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec * 1000000000 + at.tv_nsec;
}

static void read_offsets(const char *path) {
    long long offset;
    FILE *file = *path ? fopen(path, "r") : NULL;
    for (listed = 0; file && fscanf(file, "%lld", &offset) == 1; offsets_us[listed++] = offset) {
        if (listed < room) continue;
        offsets_us = realloc(offsets_us, (room = 2 * room + 1024) * sizeof *offsets_us);
    }
    if (file) fclose(file);
}

void pace_begin(double rate, uint64_t start_us, uint64_t first_id, const char *path) {
    per_second = rate, first = first_id;
    start_ns = pace_clock(CLOCK_MONOTONIC) + (int64_t)start_us * 1000 - pace_clock(CLOCK_REALTIME);
    read_offsets(path);
}

int64_t pace_due(uint64_t id) {
    uint64_t place = id - first;
    if (per_second <= 0) return 0;
    return start_ns + (place < listed ? offsets_us[place] * 1000 : (int64_t)((double)place * 1e9 / per_second));
}

int64_t pace_left(int64_t due) {
    int64_t left = per_second > 0 ? due - pace_clock(CLOCK_MONOTONIC) : 0;
    return left > 0 ? left : 0;
}

void pace_wait(int64_t due) {
    struct timespec until = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000};
    if (per_second > 0) while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
}
