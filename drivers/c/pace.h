// When the requests of a `go` at a rate are due.
#pragma once
#include <stdint.h>

int64_t pace_clock(int clock);
// A rate of 0 is none. `start_us` is on the clock of the day; `path` is a file with an offset in microseconds for each request, or "".
void pace_begin(double rate, uint64_t start_us, uint64_t first_id, const char *path);
// When the request with this id is due, in nanoseconds; 0 without a rate.
int64_t pace_due(uint64_t id);
// Nanoseconds until then; 0 when it is over, and without a rate.
int64_t pace_left(int64_t due);
// Waits until then, if there is a rate.
void pace_wait(int64_t due);
