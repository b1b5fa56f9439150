/* SPDX-License-Identifier: Apache-2.0
 *
 * Every operation of the core, with every one of its system calls failing in turn, in every way it may. Each time: an
 * error that names the cause (or success, where the call is made again or could be done without), no descriptor, mapping,
 * file or table entry more than before, and the same operation works as soon as the fault is gone.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "operations.h"

#define MOST_CALLS 400

struct state {
    int descriptors, mappings, entries;
    char files[512];
};

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static int count_descriptors(void) {
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    CHECK(all);
    while (readdir(all)) count++;
    closedir(all);
    return count;
}

static int count_mappings(void) {
    char line[512];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps)) count += strstr(line, bus) != NULL;
    fclose(maps);
    return count;
}

static void list_files(char out[512]) {
    char names[16][32];
    int count = 0;
    const struct dirent *entry;
    DIR *all = opendir(bus);
    CHECK(all);
    while ((entry = readdir(all)))
        if (entry->d_name[0] != '.' && count < 16) snprintf(names[count++], sizeof names[0], "%.31s", entry->d_name);
    closedir(all);
    qsort(names, (size_t)count, sizeof names[0], by_name);
    out[0] = 0;
    for (int i = 0; i < count; i++) strcat(strcat(out, names[i]), " ");
}

/* Entries in use on topic t, of live and of crashed processes. */
static int count_entries(void) {
    slipring_inspector *inspector;
    slipring_writer_info writer;
    slipring_reader_info reader;
    int count = 0;
    if (slipring_inspector_open(bus, "t", &inspector)) return 0;
    for (uint32_t e = 0; slipring_inspector_writer(inspector, e, &writer) == SLIPRING_OK; e++) count += writer.used;
    for (uint32_t e = 0; slipring_inspector_reader(inspector, e, &reader) == SLIPRING_OK; e++) count += reader.used;
    slipring_inspector_close(inspector);
    return count;
}

static struct state state_now(void) {
    struct state now = {.descriptors = count_descriptors(), .mappings = count_mappings(), .entries = count_entries()};
    list_files(now.files);
    return now;
}

static void check_same(const struct state *before, const char *name, struct fault fault) {
    struct state now = state_now();
    if (now.descriptors != before->descriptors || now.mappings != before->mappings || now.entries != before->entries ||
        strcmp(now.files, before->files))
        FAIL("%s, after %s failed (%s), left %d descriptors, %d mappings, %d entries and files '%s'; before: %d, %d, %d, '%s'",
             name, fault.call, strerror(fault.error), now.descriptors, now.mappings, now.entries, now.files,
             before->descriptors, before->mappings, before->entries, before->files);
}

/* Success is right where the call is made again, and where its answer was not needed. */
static void check_answer(const struct operation *op, int code, struct fault fault) {
    const slipring_error *last = slipring_last_error();
    bool interrupted = fault.error == EINTR;
    if (code == SLIPRING_OK && (interrupted || may_do_without(fault.call, fault.error))) return;
    if (interrupted && op->kind == WAITS && code == SLIPRING_INTERRUPTED) return;
    if (interrupted) FAIL("%s gives %s (%s) when a signal interrupts %s", op->name, code_name(code), last->message, fault.call);
    if (code == SLIPRING_OK) FAIL("%s succeeds although %s failed (%s)", op->name, fault.call, strerror(fault.error));
    if (fault.error == EACCES && code == SLIPRING_DENIED && last->code == code) return; /* and its words say of what */
    if (code == SLIPRING_BUSY && may_do_without(fault.call, fault.error)) return; /* taken to be alive, for want of an answer */
    if (last->code != code || last->system_errno != fault.error || !strstr(last->message, strerror(fault.error)))
        FAIL("%s gives %s, '%s', but the cause was %s: %s", op->name, code_name(code), last->message, fault.call,
             strerror(fault.error));
}

/* Whether there was an n-th call. */
static bool trial(const struct operation *op, unsigned n, unsigned k, bool *more) {
    if (op->prepare) op->prepare();
    struct state before = state_now();
    fault_arm(n, k);
    int code = op->perform();
    struct fault fault = fault_disarm();
    if (!fault.call) {
        if (code) FAIL("%s without a fault gives %s", op->name, code_name(code));
    } else {
        check_answer(op, code, fault);
    }
    if (code == SLIPRING_OK && op->undo) op->undo();
    if (fault.call) {
        if (op->kind != IN_PARTS || code == SLIPRING_OK) check_same(&before, op->name, fault);
        int again = op->perform();
        bool was_done = op->kind == IN_PARTS && again == SLIPRING_NOT_FOUND; /* nothing was left to do */
        if (again && !was_done) FAIL("%s does not work any more after %s failed (%s): %s", op->name, fault.call, strerror(fault.error), code_name(again));
        if (op->undo) op->undo();
        check_same(&before, op->name, fault);
    }
    if (op->finish) op->finish();
    *more = fault.more;
    return fault.call != NULL;
}

static void run(void) {
    unsigned trials = 0, calls = 0;
    for (const struct operation *op = operations; op->name; op++) {
        unsigned n = 0;
        bool there = true, more;
        for (; there && n < MOST_CALLS; n += there) {
            for (unsigned k = 0, again = 1; again; again = there && more, k++) {
                there = trial(op, n, k, &more);
                trials += there;
            }
        }
        CHECK(n < MOST_CALLS);
        calls += n;
        printf("%s: %u system calls\n", op->name, n);
    }
    printf("%u faults in %u system calls of every operation: each named, nothing left\n", trials, calls);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
