/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "states.h"

struct journal *journal;
struct verdict *verdict;
uint32_t source;

/* Not fork(): its handlers would close the handles of the explorer in the child. */
pid_t fork_quietly(void) {
    pid_t pid = (pid_t)syscall(SYS_fork);
    CHECK(pid >= 0);
    if (pid == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

static struct snapshots *filling;
static uint32_t *steps_made; /* told by the child */

static void keep(void) { snapshots_keep(filling); }
static void count_only(void) {}

static _Noreturn void be_victim(const struct operation *operation, uint32_t as, struct snapshots *snapshots) {
    alarm(60);
    source = as;
    if (operation->prepare) operation->prepare();
    filling = snapshots;
    if (snapshots) snapshots_keep(snapshots);
    stepping.at_step = snapshots ? keep : count_only;
    operation->act();
    stepping.at_step = NULL;
    stepping.count++; /* a last step: it has returned */
    if (snapshots) snapshots_keep(snapshots);
    *steps_made = stepping.count;
    if (stepping.kill_at > stepping.count) FAIL("%s has %u steps, not %u", operation->name, stepping.count, stepping.kill_at);
    _exit(0);
}

uint32_t run_operation(const struct operation *operation, uint32_t as, uint32_t race_at, uint32_t kill_at,
                       struct snapshots *snapshots) {
    int status;
    if (!steps_made) steps_made = shared_memory(sizeof *steps_made);
    if (snapshots) snapshots_clear(snapshots);
    fflush(NULL);
    pid_t pid = fork_quietly();
    if (pid == 0) {
        stepping.count = 0;
        stepping.kill_at = kill_at;
        stepping.race_at = race_at;
        stepping.race = operation->race;
        be_victim(operation, as, snapshots);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (killed ? !kill_at : status != 0) FAIL("%s ended with status %#x", operation->name, (unsigned)status);
    return killed ? kill_at : *steps_made;
}
