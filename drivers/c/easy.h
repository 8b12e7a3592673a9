// A handle of libcurl's easy interface as all drivers in C set it up, with the body that it collects.
#pragma once
#include <curl/curl.h>

#include "kit.h"

struct request {
    CURL *handle;
    struct ticket ticket;
    struct body body;
};

void request_open(struct request *request, const struct job *job);
// Points the handle at the ticket's URL; what it was set up with stays, and so does its connection.
void request_aim(struct request *request);
// Counts what became of it.
void request_ended(struct request *request, CURLcode code);
void request_close(struct request *request);
