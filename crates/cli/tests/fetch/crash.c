// A library for LD_PRELOAD that kills its process at one of its file operations below a folder.
//
// CRASH_FOLDER names the folder, CRASH_AT the operation, from 1. A write is cut in half before the kill. Without CRASH_AT the
// process lives, and the number of its operations is written into the file CRASH_COUNT when it exits.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES 65536

static const char *folder;
static long at;
static atomic_long count;
static atomic_uchar below[FILES];

__attribute__((constructor)) static void begin(void) {
    folder = getenv("CRASH_FOLDER");
    const char *text = getenv("CRASH_AT");
    at = text ? atol(text) : 0;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("CRASH_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld", atomic_load(&count));
        fclose(file);
    }
}

static int is_below(const char *path) { return folder && path && !strncmp(path, folder, strlen(folder)); }

static int is_ours(int fd) { return fd >= 0 && fd < FILES && atomic_load(&below[fd]); }

static int is_at(int fd, const char *path) { return path && path[0] == '/' ? is_below(path) : is_ours(fd); }

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

// Counts an operation; true if the process is to end at it.
static int counted(int is_here) { return is_here && atomic_fetch_add(&count, 1) + 1 == at; }

static void point(int is_here) {
    if (counted(is_here)) die();
}

static int opened(int fd, int is_here) {
    if (fd >= 0 && fd < FILES) atomic_store(&below[fd], is_here);
    return fd;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

#define MODE \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        MODE REAL(int, name, const char *, int, mode_t); \
        int is_here = is_below(path); \
        point(is_here && (flags & (O_CREAT | O_TRUNC))); \
        return opened(real(path, flags, mode), is_here); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int parent, const char *path, int flags, ...) { \
        MODE REAL(int, name, int, const char *, int, mode_t); \
        int is_here = is_at(parent, path); \
        point(is_here && (flags & (O_CREAT | O_TRUNC))); \
        return opened(real(parent, path, flags, mode), is_here); \
    }
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
    REAL(int, close, int);
    if (fd >= 0 && fd < FILES) atomic_store(&below[fd], 0);
    return real(fd);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    REAL(ssize_t, write, int, const void *, size_t);
    if (counted(is_ours(fd))) {
        real(fd, bytes, length / 2);
        die();
    }
    return real(fd, bytes, length);
}

#define PWRITE(name, type) \
    ssize_t name(int fd, const void *bytes, size_t length, type at) { \
        REAL(ssize_t, name, int, const void *, size_t, type); \
        if (counted(is_ours(fd))) { \
            real(fd, bytes, length / 2, at); \
            die(); \
        } \
        return real(fd, bytes, length, at); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *pieces, int number) {
    REAL(ssize_t, writev, int, const struct iovec *, int);
    point(is_ours(fd));
    return real(fd, pieces, number);
}

#define FD(type, name) \
    int name(int fd) { \
        REAL(int, name, int); \
        point(is_ours(fd)); \
        return real(fd); \
    }
FD(int, fsync)
FD(int, fdatasync)
FD(int, syncfs)

#define TRUNCATE(name, type) \
    int name(int fd, type length) { \
        REAL(int, name, int, type); \
        point(is_ours(fd)); \
        return real(fd, length); \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define PATH(name) \
    int name(const char *path) { \
        REAL(int, name, const char *); \
        point(is_below(path)); \
        return real(path); \
    }
PATH(unlink)
PATH(rmdir)

int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    point(is_below(path));
    return real(path, mode);
}

int unlinkat(int parent, const char *path, int flags) {
    REAL(int, unlinkat, int, const char *, int);
    point(is_at(parent, path));
    return real(parent, path, flags);
}

int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    point(is_below(to));
    return real(from, to);
}

int linkat(int old, const char *from, int new, const char *to, int flags) {
    REAL(int, linkat, int, const char *, int, const char *, int);
    point(is_below(to));
    return real(old, from, new, to, flags);
}

int link(const char *from, const char *to) {
    REAL(int, link, const char *, const char *);
    point(is_below(to));
    return real(from, to);
}
