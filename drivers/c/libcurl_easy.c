// libcurl's easy interface: as many threads as requests in flight, each with a handle and so a connection of its own.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "easy.h"

struct worker {
    pthread_t thread;
    struct request request;
    sem_t begin;
};

static struct worker *workers;
static long concurrency;
static bool over;
static sem_t ended;

static void *work(void *own) {
    struct worker *worker = own;
    struct request *request = &worker->request;
    for (;;) {
        sem_wait(&worker->begin);
        if (over) return NULL;
        while (kit_take(&request->ticket)) {
            request_aim(request);
            request_ended(request, curl_easy_perform(request->handle));
        }
        sem_post(&ended);
    }
}

static void prepare(const struct job *job) {
    over = false;
    concurrency = job->concurrency;
    workers = calloc((size_t)concurrency, sizeof *workers);
    sem_init(&ended, 0, 0);
    for (long i = 0; i < concurrency; i++) {
        request_open(&workers[i].request, job);
        sem_init(&workers[i].begin, 0, 0);
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
}

static void go(void) {
    for (long i = 0; i < concurrency; i++) sem_post(&workers[i].begin);
    for (long i = 0; i < concurrency; i++) sem_wait(&ended);
}

static void close_all(void) {
    over = true;
    for (long i = 0; i < concurrency; i++) sem_post(&workers[i].begin);
    for (long i = 0; i < concurrency; i++) {
        pthread_join(workers[i].thread, NULL);
        request_close(&workers[i].request);
    }
    free(workers);
}

int main(int argc, char **argv) {
    (void)argv;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    const struct driver driver = {
        curl_version_info(CURLVERSION_NOW)->version,
        "\"name\":\"libcurl-easy\",\"engine\":\"libcurl\",\"models\":[\"threads\"],\"retries\":\"fixed:5\",\"max_concurrency\":512",
        prepare, go, close_all};
    return kit_run(argc, &driver);
}
