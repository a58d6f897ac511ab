/* A layer under the files of one folder, loaded with LD_PRELOAD.

   SOAK_DISK_FOLDER   the folder
   SOAK_DISK_JOURNAL  a file that takes note of all that happens to its files: what a power cut may undo
   SOAK_DISK_FAULT    a file of one byte that says what fails now: 0 nothing, 'f' the disk is full, 'r' it is
                          read-only, 'w' writes fail, 's' syncs fail, 'a' all of these and reads fail

   A line of the journal is a header and data. Lines are written with one call each to a file opened for appending, so
   that those of threads do not mix, and they outlive the process. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FILES 1024

struct header {
    uint64_t nanoseconds;
    uint64_t offset;
    uint32_t kind; /* 'o' made, 'w' write, 't' truncate, 's' sync, 'u' unlink, 'd' sync of the folder */
    uint32_t name, data; /* lengths of what follows */
};

static char names[FILES][64];
static int journal = -1;
static const char *folder;
static volatile char *fault;

static int (*next_open)(const char *, int, ...);
static int (*next_close)(int);
static int (*next_unlink)(const char *);
static ssize_t (*next_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*next_pread)(int, void *, size_t, off_t);
static int (*next_ftruncate)(int, off_t);
static int (*next_fsync)(int);

__attribute__((constructor)) static void start(void) {
    next_open = dlsym(RTLD_NEXT, "open64");
    next_close = dlsym(RTLD_NEXT, "close");
    next_unlink = dlsym(RTLD_NEXT, "unlink");
    next_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    next_pread = dlsym(RTLD_NEXT, "pread64");
    next_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    next_fsync = dlsym(RTLD_NEXT, "fsync");
    folder = getenv("SOAK_DISK_FOLDER");
    const char *path = getenv("SOAK_DISK_JOURNAL");
    if (path) journal = next_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    path = getenv("SOAK_DISK_FAULT");
    if (path) {
        int file = next_open(path, O_RDONLY);
        void *shared = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
        if (shared != MAP_FAILED) fault = shared;
        next_close(file);
    }
}

static const char *inside(const char *path) {
    size_t length = folder ? strlen(folder) : 0;
    if (!length || strncmp(path, folder, length) || (path[length] != '/' && path[length])) return NULL;
    return path[length] ? path + length + 1 : ".";
}

static const char *name_of(int file) { return file >= 0 && file < FILES && names[file][0] ? names[file] : NULL; }

static int failing(const char *kinds) { return fault && *fault && strchr(kinds, *fault); }

static int why(void) { return *fault == 'f' ? ENOSPC : *fault == 'r' ? EROFS : EIO; }

static void note(char kind, const char *name, uint64_t offset, const void *data, size_t size) {
    if (journal < 0) return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct header head = {now.tv_sec * 1000000000ull + now.tv_nsec, offset, kind, strlen(name), size};
    struct iovec parts[3] = {{&head, sizeof head}, {(void *)name, head.name}, {(void *)data, size}};
    int kept = errno;
    if (writev(journal, parts, 3) < 0) abort();
    errno = kept;
}

static int opened(const char *path, int flags, mode_t mode) {
    const char *name = inside(path);
    if (name && (flags & (O_CREAT | O_WRONLY | O_RDWR)) && failing("r")) {
        errno = EROFS;
        return -1;
    }
    int new = name && (flags & O_CREAT) && access(path, F_OK);
    int file = next_open(path, flags, mode);
    if (file < 0 || file >= FILES) return file;
    names[file][0] = 0;
    if (name && strlen(name) < sizeof names[0]) strcpy(names[file], name);
    if (new) note('o', name, 0, NULL, 0);
    return file;
}

#define OPEN(symbol)                                  \
    int symbol(const char *path, int flags, ...) {    \
        mode_t mode = 0;                              \
        if (flags & (O_CREAT | O_TMPFILE)) {          \
            va_list rest;                             \
            va_start(rest, flags);                    \
            mode = va_arg(rest, int);                 \
            va_end(rest);                             \
        }                                             \
        return opened(path, flags, mode);             \
    }
OPEN(open)
OPEN(open64)

int close(int file) {
    if (file >= 0 && file < FILES) names[file][0] = 0;
    return next_close(file);
}

int unlink(const char *path) {
    const char *name = inside(path);
    int out = next_unlink(path);
    if (name && !out) note('u', name, 0, NULL, 0);
    return out;
}

ssize_t pwrite64(int file, const void *data, size_t size, off_t offset) {
    const char *name = name_of(file);
    if (name && failing("frwa")) {
        errno = why();
        return -1;
    }
    ssize_t out = next_pwrite(file, data, size, offset);
    if (name && out > 0) note('w', name, offset, data, out);
    return out;
}
ssize_t pwrite(int file, const void *data, size_t size, off_t offset) { return pwrite64(file, data, size, offset); }

ssize_t pread64(int file, void *data, size_t size, off_t offset) {
    if (name_of(file) && failing("a")) {
        errno = EIO;
        return -1;
    }
    return next_pread(file, data, size, offset);
}
ssize_t pread(int file, void *data, size_t size, off_t offset) { return pread64(file, data, size, offset); }

int ftruncate64(int file, off_t size) {
    const char *name = name_of(file);
    if (name && failing("frwa")) {
        errno = why();
        return -1;
    }
    int out = next_ftruncate(file, size);
    if (name && !out) note('t', name, size, NULL, 0);
    return out;
}
int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

/* What is noted before the real call would count as synced too early; after it, the call is done. */
static int synced(int file) {
    const char *name = name_of(file);
    if (name && failing("sa")) {
        errno = EIO;
        return -1;
    }
    int out = next_fsync(file);
    if (name && !out) note(strcmp(name, ".") ? 's' : 'd', name, 0, NULL, 0);
    return out;
}
int fsync(int file) { return synced(file); }
int fdatasync(int file) { return synced(file); }
