/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

unsigned harness_watchdog_s = 120;

char bus[64];
char **harness_arguments;

#define NAME(code, number) \
    case code: return #code;
const char *code_name(int code) {
    switch (code) {
        SLIPRING_CODES(NAME)
        default: return "an unknown code";
    }
}

void harness_fail(const char *file, int line, const char *format, ...) {
    const slipring_error *last = slipring_last_error();
    va_list arguments;
    va_start(arguments, format);
    flockfile(stderr);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    if (last->code) fprintf(stderr, "\n  last error: %s: %s", code_name(last->code), last->message);
    fputc('\n', stderr);
    fflush(stderr);
    va_end(arguments);
    _exit(1);
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *place) {
    (void)status, (void)flag, (void)place;
    return remove(path);
}

static volatile sig_atomic_t told_to_end;
static void on_end(int signal_number) { told_to_end = signal_number; }

/* The guardian outlives the test: it enforces the time limit and clears up, however the test ends. */
static int guard(pid_t test) {
    sigset_t chld;
    unsigned longest_s = harness_watchdog_s > scaled(harness_watchdog_s) ? harness_watchdog_s : (unsigned)scaled(harness_watchdog_s);
    struct timespec limit = {.tv_sec = longest_s};
    int status = -1;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    struct sigaction action = {.sa_handler = on_end};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    while (waitpid(test, &status, WNOHANG) == 0) {
        if (sigtimedwait(&chld, NULL, &limit) >= 0 || (errno == EINTR && !told_to_end)) continue;
        fprintf(stderr, "the test did not end within %u s\n", longest_s);
        kill(-test, SIGKILL);
        waitpid(test, &status, 0);
        break;
    }
    kill(-test, SIGKILL); /* what it may have left */
    nftw(bus, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    fprintf(stderr, "the test was ended by signal %d\n", WTERMSIG(status));
    return 1;
}

int harness_main(int argc, char **argv, void (*run)(void)) {
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, NULL);
    (void)argc;
    harness_arguments = argv + 1;
    snprintf(bus, sizeof bus, "/dev/shm/slipring-core-XXXXXX");
    if (!mkdtemp(bus)) FAIL("cannot make %s: %s", bus, strerror(errno));
    pid_t test = fork();
    if (test < 0) FAIL("cannot fork: %s", strerror(errno));
    if (test) return guard(test);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_UNBLOCK, &chld, NULL);
    run();
    fflush(NULL);
    exit(0);
}

bool harness_argument(const char *name) {
    for (char **argument = harness_arguments; *argument; argument++)
        if (strcmp(*argument, name) == 0) return true;
    return false;
}

uint64_t scaled(uint64_t count) {
    const char *text = getenv("SLIPRING_TEST_SCALE");
    double scale = text ? strtod(text, NULL) : 1.0;
    double result = (double)count * (scale > 0 ? scale : 1.0);
    return result < 1 ? 1 : (uint64_t)result;
}

pid_t child_start(void (*fn)(void *), void *argument) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) FAIL("cannot fork: %s", strerror(errno));
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fn(argument);
    fflush(NULL);
    _exit(0);
}

static int await(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) FAIL("cannot wait for %d: %s", (int)pid, strerror(errno));
    return status;
}

void child_join(pid_t pid) {
    int status = await(pid);
    if (status) FAIL("a child ended with status %#x", (unsigned)status);
}

bool child_killed(pid_t pid) {
    int status = await(pid);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
    if (status) FAIL("a child ended with status %#x", (unsigned)status);
    return false;
}

void child_kill(pid_t pid) {
    kill(pid, SIGKILL);
    await(pid);
}

void *shared_memory(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) FAIL("no shared memory");
    return memory;
}

bool asleep(pid_t id) {
    char path[40], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)id);
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[size] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[2] == 'S';
}

void pause_us(unsigned us) {
    struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    while (nanosleep(&time, &time) && errno == EINTR) continue;
}
