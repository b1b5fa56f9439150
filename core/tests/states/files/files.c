/* SPDX-License-Identifier: Apache-2.0
 *
 * The crash states of operations that create, replace and remove files. The set of files changes, so a real
 * SIGKILL makes each state. The setup is built, the victim is killed after its n-th step, and the recoverer
 * after its m-th. The next process then finds all or nothing (I11), and can work. Equal directories are
 * judged once.
 *
 *   every_crash_state_of_files_is_survived [operation=… step=n [second=m]]
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

#define MOST_STEPS 512

static const struct files_case *now_case;
static struct {
    char operation[40];
    uint32_t step, second;
} *at; /* for the report; in memory shared with it */
static uint64_t states, pairs, steps_made, made;

static uint64_t hash(uint64_t key, const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) key = (key ^ bytes[i]) * UINT64_C(0x100000001b3);
    return key;
}

static uint64_t key_of_file(const char *name) {
    static uint8_t bytes[1 << 17];
    char path[400];
    snprintf(path, sizeof path, "%s/%s", bus, name);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    ssize_t size = pread(fd, bytes, sizeof bytes, 0);
    CHECK(size >= 0);
    close(fd);
    return hash(hash(1, (const uint8_t *)name, strlen(name)), bytes, (size_t)size);
}

/* Whatever the order in which they are found. */
static uint64_t key_of_directory(void) {
    DIR *directory = opendir(bus);
    struct dirent *entry;
    uint64_t key = 1;
    while ((entry = readdir(directory)))
        if (entry->d_name[0] != '.') key += key_of_file(entry->d_name);
    closedir(directory);
    return hash(key, (const uint8_t *)journal, sizeof *journal);
}

static void start_afresh(void) {
    DIR *directory = opendir(bus);
    struct dirent *entry;
    while ((entry = readdir(directory)))
        if (entry->d_name[0] != '.') unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
    memset(journal, 0, sizeof *journal);
    journal->clock_ns = INT64_C(1700000000000000000);
    source = 0;
    now_case->begin();
}

/* The steps it made; at is where it dies. */
static uint32_t die(uint32_t step, uint32_t second) {
    snprintf(at->operation, sizeof at->operation, "%s", now_case->operation.name);
    at->step = step;
    at->second = second;
    start_afresh();
    uint32_t count = run_operation(&now_case->operation, 1, 0, step, NULL);
    if (second != UINT32_MAX) count = run_operation(&now_case->recoverer, 2, 0, second, NULL);
    return count;
}

static bool judge_if_new(void) {
    bool is_new;
    known_state(key_of_directory(), &is_new);
    if (is_new) {
        alarm(30);
        source = 0;
        now_case->judge();
    }
    now_case->end();
    made++;
    return is_new;
}

static void recover_after(uint32_t step) {
    uint32_t seconds = die(step, 0);
    pairs += judge_if_new();
    steps_made += seconds;
    for (uint32_t second = 1; second < seconds; second++) {
        die(step, second);
        pairs += judge_if_new();
    }
}

static void explore_case(void) {
    bool is_new[MOST_STEPS];
    known_forget();
    uint32_t count = die(0, UINT32_MAX);
    CHECK(count <= MOST_STEPS);
    states += judge_if_new();
    steps_made += count;
    for (uint32_t step = 1; step < count; step++) {
        die(step, UINT32_MAX);
        is_new[step] = judge_if_new();
        states += is_new[step];
    }
    for (uint32_t step = 1; step < count; step++)
        if (is_new[step]) recover_after(step);
}

static void explore_cases(void) {
    step_wakes = journal->wakes;
    step_clock_ns = &journal->clock_ns;
    step_random = &journal->value[7];
    for (size_t i = 0; i < files_case_count; i++) {
        now_case = &files_cases[i];
        if (!asked("operation", now_case->operation.name)) continue;
        if (option("step")) {
            known_forget();
            die(option_number("step"), option("second") ? option_number("second") : UINT32_MAX);
            judge_if_new();
        } else
            explore_case();
    }
    if (!made) FAIL("no operation is named so");
    printf("%lu states of files survived: %zu operations, %lu steps\n", states, files_case_count, steps_made);
    printf("%lu pairs of files survived: %lu runs, nearly all ended by SIGKILL\n", pairs, made);
}

static void run(void) {
    int status;
    journal = shared_memory(sizeof *journal);
    verdict = shared_memory(sizeof *verdict);
    at = shared_memory(sizeof *at);
    pid_t pid = fork_quietly();
    if (pid == 0) {
        explore_cases();
        exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    if (!status) exit(0);
    fprintf(stderr, "to see it again: every_crash_state_of_files_is_survived 'operation=%s' step=%u", at->operation,
            at->step);
    if (at->second != UINT32_MAX) fprintf(stderr, " second=%u", at->second);
    fputc('\n', stderr);
    exit(1);
}

int main(int argc, char **argv) {
    harness_watchdog_s = 900;
    return harness_main(argc, argv, run);
}
