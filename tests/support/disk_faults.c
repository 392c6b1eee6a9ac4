/* One system call on a file of the ledger fails, once: LD_PRELOAD, then fail_call(n, errno).

   Counted are reads, writes, syncs, truncations, openings, removals and locks on files whose path
   holds the text in TACIT_FAULTS. While there is a file named by TACIT_OUTAGE, all writes to them
   fail with the errno that it holds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

static long calls = 0, failing = -1;
static int reason = 0;
static char name[32];

void fail_call(long number, int error) { calls = 0; failing = number; reason = error; name[0] = 0; }
const char *failed_call(void) { return name; }

static int counts(const char *path) {
    const char *wanted = getenv("TACIT_FAULTS");
    return wanted != NULL && path != NULL && strstr(path, wanted) != NULL;
}

static int outage(const char *call) {
    const char *file = getenv("TACIT_OUTAGE");
    char text[8] = "";
    if (file == NULL || strstr(call, "write") == NULL) return 0;
    int fd = syscall(SYS_openat, AT_FDCWD, file, O_RDONLY);
    if (fd < 0) return 0;
    long length = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    return length > 0 ? atoi(text) : 0;
}

static int fails(const char *call, const char *path) {
    if (!counts(path)) return 0;
    if ((errno = outage(call)) != 0) return 1;
    if (calls++ != failing) return 0;
    snprintf(name, sizeof name, "%s", call);
    errno = reason;
    return 1;
}

static int fails_on(const char *call, int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(call, path);
}

#define REAL(call) ((__typeof__(&call))dlsym(RTLD_NEXT, #call))
#define ON_FILE(type, call, takes, gives) \
    type call takes { return fails_on(#call, fd) ? -1 : REAL(call) gives; }

ON_FILE(ssize_t, read, (int fd, void *b, size_t n), (fd, b, n))
ON_FILE(ssize_t, pread, (int fd, void *b, size_t n, off_t o), (fd, b, n, o))
ON_FILE(ssize_t, pread64, (int fd, void *b, size_t n, off64_t o), (fd, b, n, o))
ON_FILE(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n))
ON_FILE(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o))
ON_FILE(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t o), (fd, b, n, o))
ON_FILE(int, fsync, (int fd), (fd))
ON_FILE(int, fdatasync, (int fd), (fd))
ON_FILE(int, ftruncate, (int fd, off_t n), (fd, n))
ON_FILE(int, ftruncate64, (int fd, off64_t n), (fd, n))
ON_FILE(int, flock, (int fd, int how), (fd, how))

int unlink(const char *path) { return fails("unlink", path) ? -1 : REAL(unlink)(path); }

#define OPENING(call) \
    int call(const char *path, int flags, ...) { \
        va_list more; va_start(more, flags); \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0; \
        va_end(more); \
        return fails(#call, path) ? -1 : REAL(call)(path, flags, mode); \
    }
OPENING(open)
OPENING(open64)

#define CONTROLLING(call) \
    int call(int fd, int what, ...) { \
        va_list more; va_start(more, what); \
        void *given = va_arg(more, void *); \
        va_end(more); \
        int locks = what == F_SETLK || what == F_GETLK || what == F_SETLKW; \
        return locks && fails_on(#call, fd) ? -1 : REAL(call)(fd, what, given); \
    }
CONTROLLING(fcntl)
CONTROLLING(fcntl64)
