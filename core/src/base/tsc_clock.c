/* SPDX-License-Identifier: Apache-2.0
 *
 * The real clock is read once in a millisecond. In between, time advances with the counter of the processor, at the rate
 * measured between the last two readings. A rate that differs from the previous one by more than a thousandth is not used: the
 * clock was stepped, or the machine was paused or moved. So the error is at most one microsecond.
 */
#include "base/tsc_clock.h"

#include "base/clock.h"

#define LOOK_EVERY_NS 1000000

#if defined(__x86_64__)
#include <cpuid.h>

static bool steady(void) { /* the counter runs at one rate in all states of the processor */
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
}

/* Return the rate with 32 fractional bits; 0 if the interval is too short or too long. */
static uint64_t rate(uint64_t ticks, int64_t ns) {
    if (ns < LOOK_EVERY_NS / 2 || ns > 1000 * (int64_t)LOOK_EVERY_NS || ticks == 0) return 0;
    return (uint64_t)(((unsigned __int128)(uint64_t)ns << 32) / ticks);
}

static bool close_to(uint64_t a, uint64_t b) { return a > b ? a - b < b / 1000 : b - a < a / 1000; }

int64_t slr_tsc_clock_calibrate(struct slr_tsc_clock *t) {
    static _Thread_local int known; /* 0 unknown, 1 steady, 2 not steady */
    int64_t ns = slr_clock_realtime_ns();
    uint64_t ticks = __builtin_ia32_rdtsc();
    if (!known) known = steady() ? 1 : 2;
    if (known == 2) return ns;
    if (t->ticks == 0) {
        *t = (struct slr_tsc_clock){.ticks = ticks, .ns = ns};
        return ns;
    }
    if (t->good_for == 0 && ns - t->ns < LOOK_EVERY_NS && ns >= t->ns) return ns; /* still measuring */
    uint64_t measured = rate(ticks - t->ticks, ns - t->ns);
    bool trusted = measured && (t->ns_per_tick == 0 || close_to(measured, t->ns_per_tick));
    *t = (struct slr_tsc_clock){.ticks = ticks, .ns = ns, .ns_per_tick = measured};
    if (trusted) t->good_for = ((uint64_t)LOOK_EVERY_NS << 32) / measured;
    return ns;
}
#else
int64_t slr_tsc_clock_calibrate(struct slr_tsc_clock *t) {
    (void)t;
    return slr_clock_realtime_ns();
}
#endif
