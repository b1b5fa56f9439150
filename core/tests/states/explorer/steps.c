/* SPDX-License-Identifier: Apache-2.0 */
#include "steps.h"

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

struct stepping stepping;

pid_t __real_getpid(void);

void step_before(void) {
    if (!stepping.at_step || !stepping.race_at || stepping.count + 1 != stepping.race_at) return;
    stepping.race_at = 0;
    stepping.race();
}

void step_after(void) {
    if (!stepping.at_step) return;
    if (++stepping.count == stepping.kill_at) {
        kill(__real_getpid(), SIGKILL);
        for (;;) pause();
    }
    stepping.at_step();
}
