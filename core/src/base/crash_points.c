/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of the test build only (-DSLR_CRASH_POINTS).
 */
#include "base/crash_points.h"

#ifdef SLR_CRASH_POINTS
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const char *armed;
static int remaining;
static void (*watcher)(const char *name);

void slr_crash_point_arm(const char *name, int hits) {
    armed = name;
    remaining = hits;
}

void slr_crash_point_watch(void (*callback)(const char *name)) { watcher = callback; }

void slr_crash_point_reached(const char *name) {
    if (watcher) watcher(name);
    if (armed && strcmp(armed, name) == 0 && --remaining == 0) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
}
#else
typedef int slr_crash_points_compiled_out;
#endif
