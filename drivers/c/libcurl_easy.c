// libcurl's easy interface: as many threads as requests in flight, each with a handle and so a connection of its own.
#include "calls.h"
#include "easy.h"
#include "pace.h"
#include "threads.h"

static void work(long index) {
    struct request *request = &requests[index];
    while (request_next(request)) {
        pace_wait(request->ticket.taken);
        request_ended(request, curl_easy_perform(request->handle));
    }
}

static void prepare(const struct job *job) {
    requests_open(job);
    threads_open(requests_count, work);
}

static void close_all(void) {
    threads_close();
    requests_close();
}

int main(int argc, char **argv) {
    (void)argv;
    return easy_run(argc, HELLO("libcurl-easy", "threads", "512") ",\"paces\":[\"rate\"],\"calls\":[" CALLS "]", prepare, threads_go, close_all, call_easy);
}
