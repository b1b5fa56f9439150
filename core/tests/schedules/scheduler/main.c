/* SPDX-License-Identifier: Apache-2.0
 *
 *     schedules --list                              the scenarios
 *     schedules NAME [options]                      0: kept; 1: broken, and the run is printed; 2: the search is at its limits
 *         --preemptions P --stale S --deaths D      all runs within these instead of the scenario's own bounds
 *         --random RUNS --seed N                    then so many at random
 *         --seconds T                               not longer than that
 *         --replay LIST                             one run, by its decisions
 * In the variant `defects` of tools/build-core.sh SLIPRING_DEFECT=NAME chooses a planted defect, here and to replay.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "explore.h"
#include "memory.h"

char schedules_bus[64], schedules_words[128];

static void remove_bus(void) {
    DIR *directory = opendir(schedules_bus);
    for (struct dirent *entry; directory && (entry = readdir(directory));) unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory) closedir(directory);
    rmdir(schedules_bus);
}

static void read_options(char **words, struct plan *plan) {
    for (; words[0] && words[1]; words += 2) {
        const char *name = words[0], *value = words[1];
        bool bound = true;
        if (strcmp(name, "--preemptions") == 0) plan->bounds.preemptions = atoi(value);
        else if (strcmp(name, "--stale") == 0) plan->bounds.stale = atoi(value);
        else if (strcmp(name, "--deaths") == 0) plan->bounds.crashes = atoi(value);
        else bound = false;
        plan->one_bound |= bound;
        if (strcmp(name, "--random") == 0) plan->random_runs = strtoull(value, NULL, 10);
        else if (strcmp(name, "--seed") == 0) plan->seed = strtoull(value, NULL, 10);
        else if (strcmp(name, "--seconds") == 0) plan->seconds = atof(value);
        else if (strcmp(name, "--replay") == 0) plan->replay = value;
        else if (!bound) fprintf(stderr, "no option %s\n", name), exit(2);
    }
}

static const struct scenario *scenario_of(const char *name) {
    for (int i = 0; scenarios[i]; i++)
        if (strcmp(scenarios[i]->name, name) == 0) return scenarios[i];
    fprintf(stderr, "no scenario '%s'\n", name);
    exit(2);
}

static int in_child(const struct scenario *scenario, const struct plan *plan) {
    pid_t child = fork();
    int status;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing is left behind by who stops us */
        schedules_init();
        memory_init();
        kernel_init();
        explore(scenario, plan);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    printf("BROKEN %s: ended by signal %d\n", scenario->name, WTERMSIG(status));
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--list") == 0) {
        for (int i = 0; scenarios[i]; i++) printf("%s\n", scenarios[i]->name);
        return argc < 2 ? 2 : 0;
    }
    struct plan plan = {.seconds = 1e9, .seed = 1};
    const struct scenario *scenario = scenario_of(argv[1]);
    read_options(argv + 2, &plan);
    snprintf(schedules_words, sizeof schedules_words, "%s", scenario->name);
    strcpy(schedules_bus, "/dev/shm/slipring-schedules-XXXXXX");
    if (!mkdtemp(schedules_bus)) return 2;
    int code = in_child(scenario, &plan);
    remove_bus();
    return code;
}
