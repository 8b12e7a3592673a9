// One `go`: hands out requests, verifies and counts responses.
#pragma once
#include "kit.h"

void round_begin(const struct job *job, uint64_t first, uint64_t count, uint64_t lat_every);
// Writes the members of the response to stdout.
void round_reply(void);
