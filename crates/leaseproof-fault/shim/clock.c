/*
 * The clock shim: steps the wall clock of one process tree.
 *
 * Preloaded, it answers clock_gettime (CLOCK_REALTIME and its COARSE kin), gettimeofday, time and
 * timespec_get with the kernel's reading plus an offset, and counts those reads. The offset and the
 * counter live in a page that is mapped from the file which LEASEPROOF_CLOCK_FILE names, so that
 * the clock steps while the program runs.
 *
 * No allocation, no lock, no library call: a program's allocator or its own start-up may read the
 * clock. CLOCK_MONOTONIC and CLOCK_BOOTTIME stay the kernel's. Deadlines that a program gives the
 * kernel by the wall clock are not shifted.
 */

#include <stddef.h>
#include <stdint.h>

struct span { int64_t seconds; int64_t fraction; };

/* The same layout is written down in src/shim/page.rs. */
struct page {
    uint64_t magic;
    int64_t offset_ns;
    uint64_t reads;
    uint64_t processes;
};

#define MAGIC 0x31304b434f4c4350ull
#define PUBLIC __attribute__((visibility("default")))

extern char **environ __attribute__((weak));
extern int *__errno_location(void) __attribute__((weak));

static struct page *page;

#if defined(__x86_64__)
enum { SYS_close = 3, SYS_mmap = 9, SYS_clock_gettime = 228, SYS_openat = 257 };

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
enum { SYS_close = 57, SYS_mmap = 222, SYS_clock_gettime = 113, SYS_openat = 56 };

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}
#else
#error "the clock shim knows no system calls of this machine"
#endif

enum { WALL = 0, WALL_COARSE = 5, NANOS = 1000000000, AT_FDCWD = -100, O_RDWR_CLOEXEC = 02000002 };

static int failed(long error)
{
    if (__errno_location)
        *__errno_location() = (int)-error;
    return -1;
}

static const char *value_of(const char *name)
{
    if (!&environ || !environ)
        return NULL;
    for (char **entry = environ; *entry; entry++) {
        size_t i = 0;
        while (name[i] && (*entry)[i] == name[i])
            i++;
        if (!name[i] && (*entry)[i] == '=')
            return *entry + i + 1;
    }
    return NULL;
}

__attribute__((constructor)) static void attach(void)
{
    const char *file = value_of("LEASEPROOF_CLOCK_FILE");
    if (!file)
        return;
    long fd = call(SYS_openat, AT_FDCWD, (long)file, O_RDWR_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return;
    /* 3: readable and writable. 1: shared. */
    long at = call(SYS_mmap, 0, 4096, 3, 1, fd, 0);
    call(SYS_close, fd, 0, 0, 0, 0, 0);
    if (at < 0 && at > -4096)
        return;
    struct page *mapped = (struct page *)at;
    if (mapped->magic != MAGIC)
        return;
    __atomic_fetch_add(&mapped->processes, 1, __ATOMIC_RELAXED);
    page = mapped;
}

/*
 * Moves a reading of the wall clock by the offset in force, and counts it. Counted first: so a read
 * that was counted after a step has seen that step.
 */
static void step(struct span *at)
{
    struct page *mapped = page;
    if (!mapped)
        return;
    __atomic_fetch_add(&mapped->reads, 1, __ATOMIC_SEQ_CST);
    int64_t offset = __atomic_load_n(&mapped->offset_ns, __ATOMIC_SEQ_CST);
    at->seconds += offset / NANOS;
    at->fraction += offset % NANOS;
    if (at->fraction >= NANOS) {
        at->fraction -= NANOS;
        at->seconds++;
    } else if (at->fraction < 0) {
        at->fraction += NANOS;
        at->seconds--;
    }
}

static long wall(struct span *at)
{
    long result = call(SYS_clock_gettime, WALL, (long)at, 0, 0, 0, 0);
    if (result == 0)
        step(at);
    return result;
}

PUBLIC int clock_gettime(int clock, struct span *at)
{
    long result = call(SYS_clock_gettime, clock, (long)at, 0, 0, 0, 0);
    if (result < 0)
        return failed(result);
    if (clock == WALL || clock == WALL_COARSE)
        step(at);
    return 0;
}

PUBLIC int gettimeofday(struct span *at, void *zone)
{
    struct span now;
    if (zone) {
        ((int *)zone)[0] = 0;
        ((int *)zone)[1] = 0;
    }
    if (!at)
        return 0;
    long result = wall(&now);
    if (result < 0)
        return failed(result);
    at->seconds = now.seconds;
    at->fraction = now.fraction / 1000;
    return 0;
}

PUBLIC int64_t time(int64_t *at)
{
    struct span now;
    long result = wall(&now);
    if (result < 0)
        return failed(result);
    if (at)
        *at = now.seconds;
    return now.seconds;
}

/* C11; base 1 is TIME_UTC, the only one that every library knows. */
PUBLIC int timespec_get(struct span *at, int base)
{
    return base == 1 && wall(at) == 0 ? base : 0;
}
