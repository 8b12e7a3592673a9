// As many threads as requests in flight, started before the clock runs.
#include "threads.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>

struct thread {
    pthread_t id;
    sem_t begin;
};

static struct thread *threads;
static long count;
static void (*work)(long index);
static bool over;
static sem_t ended;

static void *serve(void *own) {
    struct thread *thread = own;
    for (;;) {
        sem_wait(&thread->begin);
        if (over) return NULL;
        work(thread - threads);
        sem_post(&ended);
    }
}

void threads_open(long number, void (*function)(long index)) {
    over = false;
    count = number, work = function;
    threads = calloc((size_t)count, sizeof *threads);
    sem_init(&ended, 0, 0);
    for (long i = 0; i < count; i++) {
        sem_init(&threads[i].begin, 0, 0);
        pthread_create(&threads[i].id, NULL, serve, &threads[i]);
    }
}

void threads_go(void) {
    for (long i = 0; i < count; i++) sem_post(&threads[i].begin);
    for (long i = 0; i < count; i++) sem_wait(&ended);
}

void threads_close(void) {
    over = true;
    for (long i = 0; i < count; i++) sem_post(&threads[i].begin);
    for (long i = 0; i < count; i++) pthread_join(threads[i].id, NULL);
    free(threads);
}
